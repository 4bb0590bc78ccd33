//! The weights of models in an image, as far as their format decides which GPUs they run on.
//!
//! Source: `quantization_config` in the config.json of Hugging Face's transformers, and hf_quant_config.json of NVIDIA's Model Optimizer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::inventory::Inventory;
use imgcheck_base::lexical::directory_of;
use imgcheck_image::Node;

/// A model with quantized weights.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weights {
    /// The file that describes them.
    pub path: String,
    /// Index of the layer that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// How they are quantized: `fp8`, `awq`, `mxfp4`, `modelopt` …
    pub method: String,
    /// For a method with several formats, which: `FP8`, `NVFP4`; otherwise empty.
    pub algorithm: String,
}

/// The file of NVIDIA's Model Optimizer.
const OPTIMIZER: &str = "hf_quant_config.json";
/// The ends of the names of weights.
const WEIGHTS: [&str; 2] = [".safetensors", ".bin"];

/// The quantized models of an image, each directory once.
pub(super) fn all(inventory: &Inventory) -> Vec<Weights> {
    let files = inventory.model_files.iter();
    let mut all: Vec<Weights> = files.filter_map(|it| of_file(*it, inventory)).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
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
    let config = value.get("quantization_config")?;
    let method = text(config, "quant_method")?.to_ascii_lowercase();
    let inner = config.get("quantization").unwrap_or(config);
    Some((method, text(inner, "quant_algo").unwrap_or_default()))
}
