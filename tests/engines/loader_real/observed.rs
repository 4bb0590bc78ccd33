//! The record of a real process, and the same image as imgcheck reads it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use imgcheck::{Checker, Day, ImageReport, ImageRequest, Subject};
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_source::source;
use oci_spec::image::ImageConfiguration;
use serde::Deserialize;
use serde_json::{Value, json};

use testkit::tools::{real_images, real_images_required, skip};

/// What one image was seen to do.
#[derive(Debug, Deserialize)]
pub struct Observed {
    #[serde(flatten)]
    pub import: Run,
    /// The same with libraries in use, where there is such an observation.
    pub first_use: Option<Run>,
    /// The error as it is behind what the program shows.
    pub hidden: Option<Output>,
}

/// One process.
#[derive(Debug, Deserialize)]
pub struct Run {
    #[serde(flatten)]
    pub output: Output,
    pub environment: BTreeMap<String, String>,
    /// What it mapped, in order.
    pub objects: Vec<String>,
    /// What it asked of dlopen, in order.
    pub dlopens: Vec<Request>,
}

/// What a process printed.
#[derive(Debug, Deserialize)]
pub struct Output {
    pub command: Vec<String>,
    pub stdout: String,
    pub stderr: String,
    #[serde(default)]
    pub loader_errors: Vec<String>,
}

/// One call of dlopen.
#[derive(Debug, Deserialize)]
pub struct Request {
    pub name: Option<String>,
    pub caller: Option<String>,
    /// What was found, even if it failed later.
    pub path: Option<String>,
    pub mode: Option<String>,
}

/// The images below a directory of the real material, by name.
pub fn images(directory: &str) -> Vec<PathBuf> {
    let directory = real_images().join(directory);
    let entries = fs::read_dir(&directory).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut images: Vec<PathBuf> = paths
        .filter(|path| path.join("observed.json").exists())
        .collect();
    images.sort();
    if images.is_empty() {
        let message = format!("there is no image in {}", directory.display());
        skip(message, real_images_required());
    }
    images
}

/// The last part of an image's path.
pub fn name(image: &Path) -> &str {
    image.file_name().unwrap().to_str().unwrap()
}

/// What was written down of an image.
pub fn observed(image: &Path) -> Observed {
    serde_json::from_str(&fs::read_to_string(image.join("observed.json")).unwrap()).unwrap()
}

fn root(image: &Path) -> ImageReference {
    ImageReference::Dir(image.join("root"))
}

/// The opened root directory of an image, with the image's configuration.
pub fn open(image: &Path) -> source::Image {
    let mut opened = source::open(&root(image), &source::Request::default())
        .unwrap()
        .remove(0);
    let text = fs::read_to_string(image.join("image.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["rootfs"] = json!({"type": "layers", "diff_ids": []});
    config["history"] = json!([]);
    opened.config = serde_json::from_value::<ImageConfiguration>(config)
        .unwrap()
        .into();
    opened
}

/// The report on an image.
pub fn report(checker: &Checker, image: &Path) -> ImageReport {
    let request = ImageRequest::new(root(image).to_string());
    let facts = checker.facts(&request).unwrap();
    // A root directory has no configuration.
    let mut facts = serde_json::to_value(&facts).unwrap();
    facts["config"] = serde_json::to_value(&*open(image).config).unwrap();
    let facts = serde_json::from_value(facts).unwrap();
    checker
        .report(&facts, &Subject::new("", Day::default()))
        .unwrap()
}
