//! The data of a difference.

use std::fmt;

use crate::Verdict;
use crate::details::count;
use imgcheck_model::finding::Finding;

/// Everything that differs between two images.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The old image.
    pub from: Side,
    /// The new image.
    pub to: Side,
    /// Shared layers; `None` if one of the images is a directory.
    pub layers: Option<Layers>,
    /// Claims of the reference, labels and environment, by subject.
    pub claims: Vec<Change>,
    /// Loaded components, by name.
    pub stack: Vec<Change>,
    /// Names of the components that have the same version in both.
    pub same: Vec<String>,
    /// Copies of components that are not loaded, by name and path.
    pub copies: Vec<Change>,
    /// Covered GPU architectures: `torch` for PyTorch itself, others by path.
    pub gpu: Vec<Coverage>,
    /// The driver floor: `cuda`, `native`, `compatible`.
    pub driver: Vec<Change>,
    /// Files mapped by the main process, by SONAME.
    pub loader: Vec<Change>,
    /// Changes of the findings.
    pub findings: Findings,
}

/// One of the two images.
#[derive(Debug, Clone)]
pub struct Side {
    /// The image as named on the command line.
    pub image: String,
    /// Its reference; `None` for an image without one.
    pub reference: Option<String>,
    /// `os/architecture`.
    pub platform: String,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
    /// Bytes of all layers as stored.
    pub size: u64,
    /// Whether it passes.
    pub verdict: Verdict,
    /// The verdict as a heading of its findings: a pass by `--fail-on never` does not count its errors.
    pub heading: &'static str,
}

/// How many layers two images share, by diff id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layers {
    /// Layers in both images.
    pub same: usize,
    /// Layers only in the old image.
    pub removed: usize,
    /// Layers only in the new image.
    pub added: usize,
}

/// A value that differs between the images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What the value belongs to.
    pub name: String,
    /// The old value; `None` if there was none.
    pub from: Option<String>,
    /// The new value; `None` if it no longer exists.
    pub to: Option<String>,
}

/// How the GPU code of one file changed; `sm_90` is machine code, `compute_90` PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// `torch`, or the path.
    pub name: String,
    /// Only in the new image.
    pub gained: Vec<String>,
    /// Only in the old image.
    pub lost: Vec<String>,
}

/// How the findings changed. Findings are equal if rule, file and claim are, regardless of the Python version in the path.
#[derive(Debug, Clone)]
pub struct Findings {
    /// Only in the new image.
    pub new: Vec<Finding>,
    /// Only in the old image.
    pub fixed: Vec<Finding>,
    /// How many findings both images have.
    pub same: usize,
}

impl Difference {
    /// The changed values by table, each with its title.
    pub fn sections(&self) -> [(&'static str, &[Change]); 5] {
        [
            ("Claims", &self.claims),
            ("Stack", &self.stack),
            ("Other copies", &self.copies),
            ("Driver floor", &self.driver),
            ("Loaded files", &self.loader),
        ]
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.sections()
            .iter()
            .all(|(_, changes)| changes.is_empty())
            && self.gpu.is_empty()
            && self.findings.new.is_empty()
            && self.findings.fixed.is_empty()
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = count(self.same, "layer");
        let (removed, added) = (self.removed, self.added);
        write!(
            formatter,
            "{same} in both, {removed} only in A, {added} only in B"
        )
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let new = count(self.new.len(), "new finding");
        let (fixed, same) = (self.fixed.len(), self.same);
        write!(formatter, "{new}, {fixed} fixed, {same} unchanged")
    }
}

impl Side {
    /// The name to display: the reference, or what the user typed.
    pub fn name(&self) -> &str {
        self.reference.as_ref().unwrap_or(&self.image)
    }
}
