//! Where a finding is, and what identifies it across runs.

use std::collections::BTreeMap;

use super::super::details::{Unique, layer_text};
use super::super::escape::percent;
use super::super::{ImageReport, Subject, one_line};
use super::model::*;
use imgcheck_base::excerpt::shortened;
use imgcheck_base::lexical;
use imgcheck_base::reference::name::Name;
use imgcheck_model::finding::{self, Finding};

/// How many characters of a build step the name of a layer shows.
const STEP_SHOWN: usize = 200;

/// The id of the base that paths of an image are relative to.
pub(super) fn base_id(index: usize) -> String {
    match index {
        0 => "IMAGE".to_owned(),
        _ => format!("IMAGE{}", index + 1),
    }
}

/// The place in a user's file, the path in the image, or the image itself. GitHub rejects results without an artifact, and a
/// line is required even for a binary.
pub(super) fn location(index: usize, subject: Subject, finding: &Finding) -> Location {
    let inside = finding
        .path
        .as_deref()
        .map(lexical::normalized)
        .filter(|path| !path.is_empty());
    let uri_base_id = inside.as_ref().map(|_| base_id(index));
    let (artifact_location, region) = match &finding.location {
        Some(at) => {
            let uri = file_uri(&at.file);
            (
                ArtifactLocation {
                    uri,
                    uri_base_id: None,
                },
                region(at),
            )
        }
        None => {
            let uri = inside.map_or_else(|| image_uri(subject), |path| percent(&path, "/"));
            (ArtifactLocation { uri, uri_base_id }, first_line())
        }
    };
    let layer = match subject {
        Subject::Image(image) => finding.layer.map(|layer| layer_location(image, layer)),
        Subject::File(_) => None,
    };
    Location {
        physical_location: PhysicalLocation {
            artifact_location,
            region,
        },
        logical_locations: layer.into_iter().collect(),
    }
}

fn first_line() -> Region {
    Region {
        start_line: 1,
        start_column: None,
        end_column: None,
        snippet: None,
    }
}

fn region(at: &finding::Location) -> Region {
    Region {
        start_line: at.line.max(1),
        start_column: Some(at.column.max(1)),
        end_column: Some(at.end_column.max(at.column).max(1)),
        snippet: Some(Text {
            text: one_line(&at.text),
        }),
    }
}

/// The URI of a user's file, relative to the working directory.
fn file_uri(file: &str) -> String {
    let relative = file.strip_prefix("./").unwrap_or(file);
    match relative.as_bytes() {
        [b'/', ..] => format!("file://{}", percent(relative, "/")),
        // A drive of Windows.
        [letter, b':', b'/', ..] if letter.is_ascii_alphabetic() => {
            format!("file:///{}", percent(relative, "/:"))
        }
        _ => percent(relative, "/"),
    }
}

/// The repository without its tag, so that a finding keeps its location across builds.
fn image_uri(subject: Subject) -> String {
    let Subject::Image(ImageReport { facts, .. }) = subject else {
        return file_uri(subject.name());
    };
    repository_uri(facts.reference.as_deref().unwrap_or("image"))
}

/// The repository of a reference, without its tag, as a relative URI.
pub(crate) fn repository_uri(reference: &str) -> String {
    let repository = reference.parse::<Name>().map(|name| match name.registry {
        Some(registry) => format!("{registry}/{}", name.repository),
        None => name.repository,
    });
    let repository = lexical::normalized(repository.as_deref().unwrap_or(reference));
    percent(&repository, "/")
}

fn layer_location(image: &ImageReport, layer: usize) -> LogicalLocation {
    let facts = &image.facts;
    let digest = facts.digest.as_ref().or(facts.config_digest.as_ref());
    let digest = digest.map_or_else(String::new, |digest| format!("@{digest}"));
    let step = layer_text(facts, layer);
    LogicalLocation {
        name: shortened(&one_line(&format!("layer {step}")), STEP_SHOWN),
        fully_qualified_name: one_line(&format!("{}{digest}/layer/{layer}", facts.name())),
        kind: "layer",
    }
}

/// The fingerprints of a finding: our own and, for images, the one that GitHub tracks. For files of the repository GitHub
/// computes its own from the source line.
pub(super) fn fingerprints(
    seen: &mut Unique,
    subject: Subject,
    finding: &Finding,
) -> BTreeMap<&'static str, String> {
    let mut all = BTreeMap::from([("imgcheck/v1", finding.fingerprint.clone())]);
    if let Subject::Image(_) = subject {
        let unique = seen.name(finding.fingerprint.clone(), ":");
        all.insert("primaryLocationLineHash", unique);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_user_has_a_uri() {
        for (file, uri) in [
            ("./a b/Dockerfile", "a%20b/Dockerfile"),
            ("/src/Dockerfile", "file:///src/Dockerfile"),
            ("C:/src/a:b", "file:///C:/src/a:b"),
        ] {
            assert_eq!(file_uri(file), uri);
        }
    }
}
