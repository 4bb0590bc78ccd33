//! The weights of models in an image, as far as their format decides which GPUs they run on.
//!
//! Source: `quantization_config` in the config.json of Hugging Face's transformers, and hf_quant_config.json of NVIDIA's Model Optimizer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::inventory::{Inventory, TextFile};
use imgcheck_base::lexical::{directory_of, name_of};

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

/// The files that describe models.
const CONFIG: &str = "config.json";
const OPTIMIZER: &str = "hf_quant_config.json";
/// Weights that such a file describes.
const WEIGHTS: [&str; 2] = [".safetensors", ".bin"];

/// The quantized models of an image, each directory once.
pub(super) fn all(inventory: &Inventory) -> Vec<Weights> {
    let texts = inventory.texts.iter();
    let described = texts.filter(|it| [CONFIG, OPTIMIZER].contains(&name_of(&it.path)));
    let with_weights = described.filter(|it| has_weights(inventory, directory_of(&it.path)));
    let mut all: Vec<Weights> = with_weights.filter_map(of_file).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|a, b| directory_of(&a.path) == directory_of(&b.path));
    all
}

fn has_weights(inventory: &Inventory, directory: &str) -> bool {
    let directory = inventory.root.resolve(directory).ok();
    let is_weights = |name: &str| WEIGHTS.iter().any(|ending| name.ends_with(ending));
    directory.is_some_and(|it| it.children().any(|file| is_weights(file.name())))
}

fn of_file(file: &TextFile<'_>) -> Option<Weights> {
    let value: Value = serde_json::from_str(file.text).ok()?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let (method, algorithm) = match name_of(&file.path) {
        OPTIMIZER => (
            "modelopt".to_owned(),
            text(value.get("quantization")?, "quant_algo"),
        ),
        _ => {
            let config = value.get("quantization_config")?;
            let inner = config.get("quantization").unwrap_or(config);
            (
                text(config, "quant_method")?.to_ascii_lowercase(),
                text(inner, "quant_algo"),
            )
        }
    };
    Some(Weights {
        path: file.path.clone(),
        layer: file.layer,
        method,
        algorithm: algorithm.unwrap_or_default(),
    })
}
