//! Environment, labels and build steps of an image configuration.
//!
//! [OCI image specification, `config.md`](https://github.com/opencontainers/image-spec/blob/main/config.md).

use std::collections::BTreeMap;

use oci_spec::image::ImageConfiguration;

/// The environment variables. Of a repeated name the last value counts.
pub fn environment(config: &ImageConfiguration) -> BTreeMap<String, String> {
    let config = config.config().as_ref();
    let lines = config.and_then(|config| config.env().as_ref());
    lines
        .into_iter()
        .flatten()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The labels.
pub fn labels(config: &ImageConfiguration) -> BTreeMap<String, String> {
    let config = config.config().as_ref();
    let labels = config.and_then(|config| config.labels().as_ref());
    let labels = labels.into_iter().flatten();
    labels
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The paths that the image expects volumes at.
pub fn volumes(config: &ImageConfiguration) -> &[String] {
    let config = config.config().as_ref();
    let volumes = config.and_then(|config| config.volumes().as_ref());
    volumes.map_or(&[], Vec::as_slice)
}

/// The build step (`history[].created_by`) of each of `layers` layers, lowest first; empty where it is not recorded.
///
/// Steps without a layer (`empty_layer`) are skipped. If the history has fewer steps than layers, the upper layers have none; if it has
/// more, the last steps are ignored.
pub fn build_steps(config: &ImageConfiguration, layers: usize) -> Vec<String> {
    let mut steps: Vec<String> = config
        .history()
        .iter()
        .flatten()
        .filter(|step| step.empty_layer() != Some(true))
        .map(|step| step.created_by().clone().unwrap_or_default())
        .take(layers)
        .collect();
    steps.resize(layers, String::new());
    steps
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn config(history: &[(&str, bool)]) -> ImageConfiguration {
        let history: Vec<_> = history
            .iter()
            .map(|(step, empty)| serde_json::json!({"created_by": step, "empty_layer": empty}))
            .collect();
        serde_json::from_value(serde_json::json!({
            "architecture": "amd64", "os": "linux", "history": history,
            "rootfs": {"type": "layers", "diff_ids": []},
        }))
        .unwrap()
    }

    #[test]
    fn steps_without_a_layer_are_skipped() {
        let config = config(&[
            ("ADD base", false),
            ("ENV A=1", true),
            ("RUN pip install", false),
        ]);
        assert_eq!(build_steps(&config, 2), ["ADD base", "RUN pip install"]);
    }

    #[test]
    fn a_history_may_be_shorter_or_longer() {
        let config = config(&[("ADD base", false), ("RUN a", false)]);
        assert_eq!(build_steps(&config, 3), ["ADD base", "RUN a", ""]);
        assert_eq!(build_steps(&config, 1), ["ADD base"]);
        assert_eq!(build_steps(&ImageConfiguration::default(), 1), [""]);
    }
}
