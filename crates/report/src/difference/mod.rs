//! The difference between two images: stack, GPU code, driver floor, loader model and findings.

mod compare;
mod model;
mod prefix;
pub mod text;

use super::ImageReport;

pub use model::{Change, Coverage, Difference, Findings, Layers, Side};

impl Difference {
    /// Compares two images, each given with the name that the user typed.
    pub fn between(
        (from_name, from): (&str, &ImageReport),
        (to_name, to): (&str, &ImageReport),
    ) -> Self {
        let (stack, same) = compare::stack(&from.facts, &to.facts);
        Difference {
            from: side(from_name, from),
            to: side(to_name, to),
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
}

fn side(name: &str, image: &ImageReport) -> Side {
    Side {
        image: name.to_owned(),
        reference: image.facts.reference.clone(),
        platform: image.facts.platform.clone(),
        config_digest: image.facts.config_digest.clone(),
        size: image.facts.layers.iter().map(|layer| layer.size).sum(),
        verdict: image.verdict,
        heading: image.verdict.above(&image.findings),
    }
}
