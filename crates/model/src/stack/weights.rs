//! The weights of models in an image, as far as their format decides which GPUs they run on.
//!
//! Source: `quantization_config` and `torch_dtype` in the config.json of Hugging Face's transformers, and hf_quant_config.json of NVIDIA's Model Optimizer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::inventory::Inventory;
use imgcheck_base::lexical::directory_of;
use imgcheck_image::Node;

/// A model whose weights need a GPU that knows their format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// The file that describes them.
    pub path: String,
    /// Index of the layer that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// How they are quantized: `fp8`, `awq`, `mxfp4`, `modelopt` …; `bfloat16` if they are not.
    pub method: String,
    /// For a method with several formats, which: `FP8`, `NVFP4`, `pack-quantized`; otherwise empty.
    pub algorithm: String,
}

/// The file of NVIDIA's Model Optimizer.
const OPTIMIZER: &str = "hf_quant_config.json";
/// The method of weights that are not quantized, which older GPUs cannot compute with.
const BFLOAT16: &str = "bfloat16";
/// The ends of the names of weights.
const WEIGHTS: [&str; 2] = [".safetensors", ".bin"];

/// The models of an image whose format decides, each directory once: what says that they are quantized counts first.
pub(super) fn all(inventory: &Inventory) -> Vec<Weights> {
    let files = inventory.model_files.iter();
    let mut all: Vec<Weights> = files.filter_map(|it| of_file(*it, inventory)).collect();
    all.sort_by_cached_key(|it| {
        let directory = directory_of(&it.path).to_owned();
        (directory, it.method == BFLOAT16, it.path.clone())
    });
    all.dedup_by(|a, b| directory_of(&a.path) == directory_of(&b.path));
    all
}

/// What a file says of the weights beside it. Caches of Hugging Face have links to both.
fn of_file(file: Node, inventory: &Inventory) -> Option<Weights> {
    let is_weights = |it: Node| WEIGHTS.iter().any(|end| it.name().ends_with(end));
    file.parent().children().find(|it| is_weights(*it))?;
    let path = file.path();
    let text = inventory.root.resolve(&path).ok()?.text()?;
    let (method, algorithm) = format(file.name(), &serde_json::from_str(text).ok()?)?;
    Some(Weights {
        layer: file.layer(),
        path,
        method,
        algorithm,
    })
}

/// The method and the algorithm that a file names.
fn format(name: &str, value: &Value) -> Option<(String, String)> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    if name == OPTIMIZER {
        let algorithm = text(value.get("quantization")?, "quant_algo")?;
        return Some(("modelopt".to_owned(), algorithm));
    }
    let Some(config) = value.get("quantization_config") else {
        return is_bfloat16(value).then(|| (BFLOAT16.to_owned(), String::new()));
    };
    let method = text(config, "quant_method")?.to_ascii_lowercase();
    let inner = config.get("quantization").unwrap_or(config);
    let algorithm = match method.as_str() {
        "compressed-tensors" => text(config, "format").filter(|it| is_weight_only(config, it)),
        _ => text(inner, "quant_algo"),
    };
    Some((method, algorithm.unwrap_or_default()))
}

/// Whether a format of compressed-tensors alone decides how a layer is computed: packed integers do not where activations are quantized, too.
fn is_weight_only(config: &Value, format: &str) -> bool {
    let groups = config.get("config_groups").and_then(Value::as_object);
    let mut groups = groups.into_iter().flat_map(|it| it.values());
    let is_set = |group: &Value, key: &str| group.get(key).is_some_and(|it| !it.is_null());
    format != "pack-quantized"
        || !groups.any(|it| is_set(it, "input_activations") || is_set(it, "output_activations"))
}

/// Whether the weights of the text model, or of the only one, are bfloat16. transformers 5 calls the key `dtype`.
fn is_bfloat16(value: &Value) -> bool {
    let model = value.get("text_config").unwrap_or(value);
    let mut keys = ["torch_dtype", "dtype"].iter();
    keys.any(|key| model.get(key).and_then(Value::as_str) == Some(BFLOAT16))
}
