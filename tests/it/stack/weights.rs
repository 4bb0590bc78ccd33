//! Models in an image, by what describes their weights.

use crate::sample::Image;

/// The path, method and algorithm of each model.
fn models(image: &Image) -> Vec<(String, String, String)> {
    let weights = image.stack().weights.into_iter();
    weights
        .map(|it| (it.path, it.method, it.algorithm))
        .collect()
}

#[test]
fn the_format_is_in_the_file_beside_the_weights() {
    const FP8: &str =
        r#"{"model_type": "llama", "quantization_config": {"quant_method": "FP8", "fmt": "e4m3"}}"#;
    let config = |text: &str| Image::python().text("models/m/config.json", text);
    let with_weights =
        |text: &str| models(&config(text).empty("models/m/model-00001-of-00002.safetensors"));
    let one = |method: &str, algorithm: &str| {
        vec![(
            "/models/m/config.json".to_owned(),
            method.to_owned(),
            algorithm.to_owned(),
        )]
    };
    assert_eq!(with_weights(FP8), one("fp8", ""));
    assert_eq!(models(&config(FP8)), []);
    let optimizer = r#"{"quantization_config": {"quant_method": "modelopt", "quantization": {"quant_algo": "NVFP4"}}}"#;
    assert_eq!(with_weights(optimizer), one("modelopt", "NVFP4"));
    let plain = [
        r#"{"torch_dtype": "bfloat16"}"#,
        r#"{"dtype": "bfloat16"}"#,
        r#"{"dtype": "float32", "text_config": {"dtype": "bfloat16"}}"#,
    ];
    for plain in plain {
        assert_eq!(with_weights(plain), one("bfloat16", ""), "{plain}");
    }
    for other in [
        r#"{"torch_dtype": "float16"}"#,
        r#"{"dtype": "bfloat16", "text_config": {"dtype": "float16"}}"#,
        "",
        "{",
        "[]",
        "null",
        r#"{"quantization_config": null}"#,
        r#"{"quantization_config": {"quant_method": 8}}"#,
        r#"{"model_type": "llama"}"#,
    ] {
        assert_eq!(with_weights(other), [], "{other}");
    }
}

/// As llm-compressor writes it: integers in 4 bits, alone and with activations in 8 bits.
#[test]
fn a_format_of_compressed_tensors_decides_alone_or_not() {
    let found = |format: &str, activations: &str| {
        let config = format!(
            r#"{{"torch_dtype": "bfloat16", "quantization_config": {{"quant_method": "compressed-tensors", "format": "{format}",
                "config_groups": {{"group_0": {{"weights": {{"num_bits": 4}}, "input_activations": {activations}}}}}}}}}"#
        );
        let image = Image::python().text("models/m/config.json", &config);
        models(&image.empty("models/m/model.safetensors"))
            .remove(0)
            .2
    };
    const EIGHT_BITS: &str = r#"{"num_bits": 8}"#;
    assert_eq!(found("pack-quantized", "null"), "pack-quantized");
    assert_eq!(found("pack-quantized", EIGHT_BITS), "");
    assert_eq!(found("float-quantized", EIGHT_BITS), "float-quantized");
}

#[test]
fn a_directory_is_one_model() {
    let image = Image::python()
        .text(
            "models/m/config.json",
            r#"{"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}"#,
        )
        .text(
            "models/m/hf_quant_config.json",
            r#"{"quantization": {"quant_algo": "FP8"}}"#,
        )
        .text("models/n/config.json", r#"{"torch_dtype": "bfloat16"}"#)
        .text(
            "models/n/hf_quant_config.json",
            r#"{"quantization": {"quant_algo": "NVFP4"}}"#,
        )
        .empty("models/m/model.safetensors")
        .empty("models/n/model.safetensors");
    let found = models(&image);
    let paths: Vec<_> = found
        .iter()
        .map(|it| (it.0.as_str(), it.2.as_str()))
        .collect();
    assert_eq!(
        paths,
        [
            ("/models/m/config.json", "FP8"),
            ("/models/n/hf_quant_config.json", "NVFP4")
        ]
    );
}

/// As `huggingface_hub` keeps a model.
#[test]
fn a_cache_has_links_to_both() {
    const MODEL: &str = "root/.cache/huggingface/hub/models--a--b";
    let image = Image::python()
        .text(
            &format!("{MODEL}/blobs/1f"),
            r#"{"quantization_config": {"quant_method": "awq"}}"#,
        )
        .empty(&format!("{MODEL}/blobs/2f"))
        .link(
            &format!("{MODEL}/snapshots/c0/config.json"),
            "../../blobs/1f",
        )
        .link(
            &format!("{MODEL}/snapshots/c0/model.safetensors"),
            "../../blobs/2f",
        );
    let found = models(&image);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, format!("/{MODEL}/snapshots/c0/config.json"));
    assert_eq!(found[0].1, "awq");
}
