//! The frozen types of `imgcheck/diff/v1`. As in [`super::v1`], each `From` keeps the keys, which are only added.

use serde::Serialize;

use super::v1::Tool;
use crate::Verdict;
use crate::difference as model;
use imgcheck_model::finding::Finding;

/// The difference between two images, as `imgcheck diff --format json` writes it.
#[derive(Serialize)]
pub(super) struct Difference<'d> {
    /// The version of this format.
    schema: &'static str,
    /// The program that wrote the difference.
    tool: Tool,
    /// The old image.
    from: Side<'d>,
    /// The new image.
    to: Side<'d>,
    /// Shared layers; null if one of the images is a root directory.
    layers: Option<Layers>,
    /// Claims of the reference, labels and environment, by subject.
    claims: Vec<Change<'d>>,
    /// Loaded components, by name.
    stack: Vec<Change<'d>>,
    /// Names of the components that have the same version in both.
    same: &'d [String],
    /// Copies of components that are not loaded, by name and path.
    copies: Vec<Change<'d>>,
    /// Covered GPU architectures: `torch` for PyTorch itself, others by path.
    gpu: Vec<Coverage<'d>>,
    /// The driver floor: `cuda`, `native`, `compatible`.
    driver: Vec<Change<'d>>,
    /// Files mapped by the main process, by SONAME.
    loader: Vec<Change<'d>>,
    /// Changes of the findings.
    findings: Findings<'d>,
}

impl<'d> Difference<'d> {
    /// The document of a difference.
    pub fn of(tool: Tool, difference: &'d model::Difference) -> Self {
        let changes = |of: &'d [model::Change]| of.iter().map(Change::from).collect();
        Difference {
            schema: "imgcheck/diff/v1",
            tool,
            from: Side::from(&difference.from),
            to: Side::from(&difference.to),
            layers: difference.layers.map(Layers::from),
            claims: changes(&difference.claims),
            stack: changes(&difference.stack),
            same: &difference.same,
            copies: changes(&difference.copies),
            gpu: difference.gpu.iter().map(Coverage::from).collect(),
            driver: changes(&difference.driver),
            loader: changes(&difference.loader),
            findings: Findings::from(&difference.findings),
        }
    }
}

/// One of the two images.
#[derive(Serialize)]
struct Side<'d> {
    /// The image as named on the command line.
    image: &'d str,
    /// Its reference; null for an image without one.
    reference: Option<&'d str>,
    /// `os/architecture[/variant]`; empty for a root directory.
    platform: &'d str,
    /// Digest of the configuration; null for a root directory.
    config_digest: Option<&'d str>,
    /// Bytes of all layers as stored.
    size: u64,
    /// The result.
    verdict: Verdict,
}

impl<'d> From<&'d model::Side> for Side<'d> {
    fn from(side: &'d model::Side) -> Self {
        Side {
            image: &side.image,
            reference: side.reference.as_deref(),
            platform: &side.platform,
            config_digest: side.config_digest.as_deref(),
            size: side.size,
            verdict: side.verdict,
        }
    }
}

/// How many layers two images share, by diff id.
#[derive(Serialize)]
struct Layers {
    /// Layers in both images.
    same: usize,
    /// Layers only in the old image.
    removed: usize,
    /// Layers only in the new image.
    added: usize,
}

impl From<model::Layers> for Layers {
    fn from(layers: model::Layers) -> Self {
        Layers {
            same: layers.same,
            removed: layers.removed,
            added: layers.added,
        }
    }
}

/// A value that differs between the images.
#[derive(Serialize)]
struct Change<'d> {
    /// What the value belongs to.
    name: &'d str,
    /// The old value; null if there was none.
    from: Option<&'d str>,
    /// The new value; null if it no longer exists.
    to: Option<&'d str>,
}

impl<'d> From<&'d model::Change> for Change<'d> {
    fn from(change: &'d model::Change) -> Self {
        Change {
            name: &change.name,
            from: change.from.as_deref(),
            to: change.to.as_deref(),
        }
    }
}

/// How the GPU code of one file changed; `sm_90` is machine code, `compute_90` PTX.
#[derive(Serialize)]
struct Coverage<'d> {
    /// `torch`, or the path.
    name: &'d str,
    /// Only in the new image.
    gained: &'d [String],
    /// Only in the old image.
    lost: &'d [String],
}

impl<'d> From<&'d model::Coverage> for Coverage<'d> {
    fn from(coverage: &'d model::Coverage) -> Self {
        Coverage {
            name: &coverage.name,
            gained: &coverage.gained,
            lost: &coverage.lost,
        }
    }
}

/// How the findings changed. Findings are equal if rule, file and claim are, regardless of the Python version in the path.
#[derive(Serialize)]
struct Findings<'d> {
    /// Only in the new image.
    new: &'d [Finding],
    /// Only in the old image.
    fixed: &'d [Finding],
    /// How many findings both images have.
    same: usize,
}

impl<'d> From<&'d model::Findings> for Findings<'d> {
    fn from(findings: &'d model::Findings) -> Self {
        Findings {
            new: &findings.new,
            fixed: &findings.fixed,
            same: findings.same,
        }
    }
}
