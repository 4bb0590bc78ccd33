//! The workflow for GitHub.

use std::fs;
use std::path::Path;

use super::draft::{Draft, docker_build, duties, filled, listed};

const WORKFLOW: &str = include_str!("github.yml");

/// The workflow; without a Dockerfile it has a step that fails and says what is missing.
pub fn draft(directory: &Path, dockerfiles: &[String]) -> Draft {
    let build = docker_build(dockerfiles, "$IMAGE");
    let image = format!("registry.example/{}:ci", repository_name(directory));
    let text = filled(
        WORKFLOW,
        &[
            ("{image}", Some(image)),
            ("{lint}", one_a_line(dockerfiles)),
            ("{build}", Some(build)),
            ("{others}", listed(dockerfiles.get(1..).unwrap_or_default())),
        ],
    );
    Draft {
        path: ".github/workflows/imgcheck.yml",
        text,
        next: Some(next(dockerfiles)),
    }
}

fn next(dockerfiles: &[String]) -> String {
    match dockerfiles.split_first() {
        Some((first, others)) => format!(
            "next: in the workflow, name the image as you push it (IMAGE), then commit; {}",
            duties(first, others)
        ),
        None => "next: there is no Dockerfile, so add the step that builds your image (TODO in the workflow), then commit".to_owned(),
    }
}

/// Paths as an input of the action: several as a block of YAML.
fn one_a_line(paths: &[String]) -> Option<String> {
    match paths {
        [] => None,
        [path] => Some(path.clone()),
        paths => Some(format!("|\n            {}", paths.join("\n            "))),
    }
}

/// The name of the directory as a repository may be called.
fn repository_name(directory: &Path) -> String {
    let directory = fs::canonicalize(directory).unwrap_or_default();
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "image".to_owned(),
        false => words.join("-"),
    }
}
