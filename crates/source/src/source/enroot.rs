//! Images of enroot and pyxis: a SquashFS file with the configuration of the container image in `/etc/rc` and `/etc/environment`
//! (enroot, `src/docker.sh`).

use std::collections::HashMap;
use std::path::Path;

use oci_spec::image::{Config, ImageConfiguration};

use super::image::{Image, SourceKind};
use super::request::Request;
use super::squashfs_image::{SquashfsImage, described};
use imgcheck_archive::archive::FileRange;
use imgcheck_base::error::Result;

/// Starts the container, with the shell.
const START: &str = "etc/rc";
const ENVIRONMENT: &str = "etc/environment";

/// Opens a SquashFS file.
///
/// # Errors
/// It is damaged, truncated, or of an unsupported kind.
pub(super) fn open(path: &Path, bytes: FileRange, request: &Request) -> Result<Image> {
    let image = SquashfsImage::open(path.display().to_string(), bytes, request)?;
    let mut configuration = None;
    if let Some(script) = image.text(START)? {
        let mut config = Config::default();
        config.set_entrypoint(Some(vec!["/bin/sh".to_owned(), format!("/{START}")]));
        config.set_labels(Some(labels(&script)));
        let variables = image.text(ENVIRONMENT)?.unwrap_or_default();
        config.set_env(Some(environment(&variables)));
        let configured = configuration.get_or_insert_with(ImageConfiguration::default);
        configured.set_config(Some(config));
    }
    Ok(described(image, path, SourceKind::Squashfs, configuration))
}

/// The comments `# KEY VALUE` at the beginning of the script.
fn labels(script: &str) -> HashMap<String, String> {
    let comments = script.lines().map_while(|line| line.strip_prefix("# "));
    let labels = comments.filter_map(|comment| comment.split_once(' '));
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// The lines `NAME=VALUE`.
fn environment(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let variables = lines.filter(|line| line.contains('='));
    variables.map(str::to_owned).collect()
}
