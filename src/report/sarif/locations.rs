//! Where a finding is, and what makes it the same finding as in the last run.

use std::collections::{BTreeMap, HashMap};

use super::super::details::layer_text;
use super::super::escape::{self, percent};
use super::super::{ImageReport, Subject, one_line};
use super::model::*;
use crate::finding::{self, Finding};
use crate::reference::name::Name;

/// Characters of a build step in the name of a layer.
const STEP_SHOWN: usize = 200;

/// The base that paths of an image are relative to.
pub(super) fn base_id(index: usize) -> String {
    match index {
        0 => "IMAGE".to_owned(),
        _ => format!("IMAGE{}", index + 1),
    }
}

/// The place in a file of the user, or the path in the image, or else the image itself: GitHub refuses a result without an
/// artifact, and a line must be given even of a binary.
pub(super) fn location(index: usize, subject: Subject, finding: &Finding) -> Location {
    let inside = finding
        .path
        .as_deref()
        .map(escape::inside)
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

/// A file as the user named it, relative to where imgcheck was called.
fn file_uri(file: &str) -> String {
    let relative = file.strip_prefix("./").unwrap_or(file);
    match relative.starts_with('/') {
        true => format!("file://{}", percent(relative, "/")),
        false => percent(relative, "/"),
    }
}

/// The repository without its tag, so that the finding is the same one in the next build.
fn image_uri(subject: Subject) -> String {
    let Subject::Image(ImageReport { facts, .. }) = subject else {
        return file_uri(subject.name());
    };
    let reference = facts.reference.as_deref().unwrap_or("image");
    let repository = reference.parse::<Name>().map(|name| match name.registry {
        Some(registry) => format!("{registry}/{}", name.repository),
        None => name.repository,
    });
    let repository = escape::inside(repository.as_deref().unwrap_or(reference));
    percent(&repository, "/")
}

/// The layer as `image@digest/layer/2`, with its build step.
fn layer_location(image: &ImageReport, layer: usize) -> LogicalLocation {
    let facts = &image.facts;
    let digest = facts.digest.as_ref().or(facts.config_digest.as_ref());
    let digest = digest.map_or_else(String::new, |digest| format!("@{digest}"));
    let step = layer_text(facts, layer);
    LogicalLocation {
        name: escape::shortened(&one_line(&format!("layer {step}")), STEP_SHOWN),
        fully_qualified_name: one_line(&format!("{}{digest}/layer/{layer}", facts.name())),
        kind: "layer",
    }
}

/// The fingerprints that are given out.
#[derive(Default)]
pub(super) struct Fingerprints(HashMap<String, usize>);

impl Fingerprints {
    /// Ours, and for images the one by which GitHub knows a finding again. GitHub makes its own for files of the
    /// repository, from their lines; it has none of the lines of an image.
    pub(super) fn of(
        &mut self,
        subject: Subject,
        finding: &Finding,
    ) -> BTreeMap<&'static str, String> {
        let mut all = BTreeMap::from([("imgcheck/v1", finding.fingerprint.clone())]);
        if let Subject::Image(_) = subject {
            all.insert("primaryLocationLineHash", self.unique(&finding.fingerprint));
        }
        all
    }

    /// Numbers the same fault of several images of one repository.
    fn unique(&mut self, fingerprint: &str) -> String {
        let count = self.0.entry(fingerprint.to_owned()).or_insert(0);
        *count += 1;
        match *count {
            1 => fingerprint.to_owned(),
            several => format!("{fingerprint}:{several}"),
        }
    }
}
