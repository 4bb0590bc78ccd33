//! Requirements as options of a Slurm job (sbatch(1), `--constraint`).
//!
//! The administrators of a cluster name the features of its nodes, and Slurm refuses a constraint with a feature that no node has.

use std::collections::BTreeSet;

use super::needs::{Requirements, comments, least_driver};
use crate::ImageReport;
use imgcheck_base::error::{Error, Result};
use imgcheck_model::knowledge::Knowledge;

/// Lines for the script of a job with each image: those of the features that name a GPU on which it runs, as alternatives.
///
/// # Errors
/// No feature names one.
pub fn slurm(images: &[ImageReport], known: &Knowledge, features: &str) -> Result<String> {
    let words = features.split(|it: char| it.is_whitespace() || it == ',');
    let features: BTreeSet<&str> = words.filter(|it| !it.is_empty()).collect();
    let images = images.iter();
    images
        .map(|it| of_one(&Requirements::of(it, known), known, &features))
        .collect()
}

fn of_one(
    needs: &Requirements<'_>,
    known: &Knowledge,
    features: &BTreeSet<&str>,
) -> Result<String> {
    let mut out = comments(needs);
    if !needs.gpus.is_empty() {
        let features = features.iter().copied();
        let suitable: Vec<&str> = features.filter(|it| runs_on(it, needs, known)).collect();
        if suitable.is_empty() {
            let problem = format!(
                "no feature of the nodes names a GPU that runs {}",
                needs.name
            );
            return Err(Error::usage(problem).with_help(
                "give the features as `sinfo -h -o %f` prints them; the text format lists the GPUs",
            ));
        }
        out.push_str(&format!(
            "#SBATCH --constraint=\"{}\"\n",
            suitable.join("|")
        ));
    }
    out.push_str(&least_driver(needs));
    Ok(out)
}

/// Whether a feature names a GPU, such as `a100` or `sm_90`, that runs the image.
fn runs_on(feature: &str, needs: &Requirements<'_>, known: &Knowledge) -> bool {
    // `128` is anything.
    let is_name = feature.contains(|it: char| it.is_ascii_alphabetic());
    let gpu = known.targets.gpus.parse(feature).ok().filter(|_| is_name);
    gpu.is_some_and(|gpu| {
        let capability = gpu.capability.to_string();
        let mut supported = needs.gpus.iter();
        supported.any(|it| {
            it.capability == capability
                && (gpu.name == gpu.capability.sm() || it.models.contains(&gpu.name))
        })
    })
}
