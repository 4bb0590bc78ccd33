//! Which build step made which layer.

use oci_spec::image::ImageConfiguration;

/// The build step (`history[].created_by`) of each of the `layers` layers, lowest first; empty where it is not recorded.
///
/// Steps that made no layer (`empty_layer`) are left out, as the OCI image specification, `config.md`, says. A history with
/// fewer steps than layers leaves the upper layers without one; what a longer one has beyond the layers is ignored.
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
    fn steps_without_a_layer_are_passed_over() {
        let config = config(&[
            ("ADD base", false),
            ("ENV A=1", true),
            ("RUN pip install", false),
        ]);
        assert_eq!(build_steps(&config, 2), ["ADD base", "RUN pip install"]);
    }

    #[test]
    fn a_history_of_another_length_is_no_error() {
        let config = config(&[("ADD base", false), ("RUN a", false)]);
        assert_eq!(build_steps(&config, 3), ["ADD base", "RUN a", ""]);
        assert_eq!(build_steps(&config, 1), ["ADD base"]);
        assert_eq!(build_steps(&ImageConfiguration::default(), 1), [""]);
    }
}
