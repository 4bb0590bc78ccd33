//! What changed from one image to another: the stack, GPU code, driver floor, loader model and findings.

mod compare;
pub mod text;

use serde::Serialize;

use super::{ImageReport, Verdict};
use crate::finding::Finding;

/// All that differs between two images. The keys are those of `imgcheck/diff/v1`.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// The image before.
    pub from: Side,
    /// The image after.
    pub to: Side,
    /// How many layers they share; `None` if one of them is a directory.
    pub layers: Option<Layers>,
    /// What reference, labels and environment promise, by subject.
    pub claims: Vec<Change>,
    /// The copies that the processes of the images get, by name.
    pub stack: Vec<Change>,
    /// Names of parts of the stack that have the same version in both.
    pub same: Vec<String>,
    /// The copies that they do not get, by name and path.
    pub copies: Vec<Change>,
    /// GPU architectures that code is there for: of PyTorch itself as `torch`, of the others by path.
    pub gpu: Vec<Coverage>,
    /// The driver floor: `cuda`, `native`, `compatible`.
    pub driver: Vec<Change>,
    /// Files that the main process maps, by SONAME.
    pub loader: Vec<Change>,
    /// What the rules found.
    pub findings: Findings,
}

/// One of the two images.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    /// The image as it was named on the command line.
    pub image: String,
    /// Its reference; `None` for an image without a name.
    pub reference: Option<String>,
    /// `os/architecture`.
    pub platform: String,
    /// Digest of the configuration.
    pub config_digest: Option<String>,
    /// Bytes of all layers as stored.
    pub size: u64,
    /// Whether it passes.
    pub verdict: Verdict,
}

/// How many layers two images share, by diff id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Layers {
    /// In both.
    pub same: usize,
    /// Only in the image before.
    pub removed: usize,
    /// Only in the image after.
    pub added: usize,
}

/// Something that has a value in at least one of the images, and not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is.
    pub name: String,
    /// Its value before; `None` where it was not there.
    pub from: Option<String>,
    /// Its value after; `None` where it is there no more.
    pub to: Option<String>,
}

/// How the GPU code of one file changed; architectures as `sm_90` (machine code) and `compute_90` (PTX).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// `torch`, or the path.
    pub name: String,
    /// Only after.
    pub gained: Vec<String>,
    /// Only before.
    pub lost: Vec<String>,
}

/// How the findings changed. A finding is the same if its rule, file and claim are, whatever the version of Python in its path.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// Only after.
    pub new: Vec<Finding>,
    /// Only before.
    pub fixed: Vec<Finding>,
    /// How many both have.
    pub same: usize,
}

impl Difference {
    /// What changed from one image to the other; each comes with what the user calls it.
    pub fn between(
        (from_name, from): (&str, &ImageReport),
        (to_name, to): (&str, &ImageReport),
    ) -> Self {
        let (stack, same) = compare::stack(&from.facts, &to.facts);
        Difference {
            from: Side::of(from_name, from),
            to: Side::of(to_name, to),
            layers: compare::layers(&from.facts, &to.facts),
            claims: compare::claims(&from.facts, &to.facts),
            stack,
            same,
            copies: compare::copies(&from.facts, &to.facts),
            gpu: compare::gpu(&from.facts, &to.facts),
            driver: compare::driver(&from.facts, &to.facts),
            loader: compare::loader(&from.facts, &to.facts),
            findings: compare::findings(&from.findings, &to.findings),
        }
    }

    /// The tables of what has another value, each with its title.
    pub fn sections(&self) -> [(&'static str, &[Change]); 5] {
        [
            ("Claims", &self.claims),
            ("Stack", &self.stack),
            ("Other copies", &self.copies),
            ("Driver floor", &self.driver),
            ("Loaded files", &self.loader),
        ]
    }

    /// Whether the images are the same in everything that is compared.
    pub fn is_empty(&self) -> bool {
        self.sections()
            .iter()
            .all(|(_, changes)| changes.is_empty())
            && self.gpu.is_empty()
            && self.findings.new.is_empty()
            && self.findings.fixed.is_empty()
    }
}

impl Side {
    /// What it is called where people read it.
    pub fn name(&self) -> &str {
        self.reference.as_ref().unwrap_or(&self.image)
    }

    fn of(name: &str, image: &ImageReport) -> Self {
        Side {
            image: name.to_owned(),
            reference: image.facts.reference.clone(),
            platform: image.facts.platform.clone(),
            config_digest: image.facts.config_digest.clone(),
            size: image.facts.layers.iter().map(|layer| layer.size).sum(),
            verdict: image.verdict,
        }
    }
}
