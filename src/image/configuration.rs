//! What the configuration of an image says of its process, as plain maps.

use std::collections::BTreeMap;

use oci_spec::image::ImageConfiguration;

/// The environment of the configuration; of a name that is set twice, the last value.
pub fn environment(config: &ImageConfiguration) -> BTreeMap<String, String> {
    let lines = config
        .config()
        .as_ref()
        .and_then(|config| config.env().as_ref());
    lines
        .into_iter()
        .flatten()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The labels of the configuration.
pub fn labels(config: &ImageConfiguration) -> BTreeMap<String, String> {
    let labels = config
        .config()
        .as_ref()
        .and_then(|config| config.labels().as_ref());
    labels
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
