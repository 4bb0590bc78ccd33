//! The record of an image that was judged.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{FleetComparison, FleetFinding, FleetLayer, FleetRecord, FleetStatus};
use super::runs;
use crate::{ImageReport, Inspection, Layer, summary};
use imgcheck_base::gap::GapCode;
use imgcheck_model::finding::Finding;
use imgcheck_model::stack::{Component, Coverage, Gpu};

/// Starts of the names of CUDA's own libraries. They have code for many GPUs, whatever the program has.
const CUDA_LIBRARIES: [&str; 4] = ["libcu", "libnccl", "libnpp", "libnv"];

impl FleetRecord {
    /// The record of an image that was judged. How many Pods use it is unknown, and it is compared with nothing.
    pub fn of(image: &ImageReport) -> Self {
        let facts = &image.facts;
        let gaps: BTreeSet<GapCode> = image.gaps.iter().map(|gap| gap.code).collect();
        let driver = facts.driver.as_ref();
        let targets = image.targets.iter();
        FleetRecord {
            reference: facts.reference.as_ref().unwrap_or(&facts.named).clone(),
            source: facts.named.clone(),
            digest: facts.digest.clone(),
            platform: facts.platform.clone(),
            status: FleetStatus::Judged,
            verdict: Some(image.verdict),
            findings: findings(image),
            gaps: gaps.into_iter().collect(),
            stack: stack(&facts.stack),
            minimum_driver: driver.and_then(|it| it.compatible.clone().or(it.native.clone())),
            architectures: architectures(&facts.gpu),
            targets: targets.map(|it| runs::on_target(it, facts)).collect(),
            layers: facts.layers.iter().map(layer).collect(),
            ..FleetRecord::default()
        }
    }

    /// Adds the result of the same image under other rules or targets.
    pub fn compare(&mut self, other: &ImageReport) {
        let there = findings(other);
        let without = |all: &[FleetFinding], others: &[FleetFinding]| {
            let own = all.iter().filter(|it| !others.contains(it));
            own.cloned().collect()
        };
        self.against = Some(FleetComparison {
            verdict: other.verdict,
            new: without(&there, &self.findings),
            gone: without(&self.findings, &there),
        });
    }
}

fn findings(image: &ImageReport) -> Vec<FleetFinding> {
    let findings = image.findings.iter().map(|finding| FleetFinding {
        rule: finding.rule.clone(),
        severity: finding.severity,
        message: finding.message.clone(),
        component: component(finding, &image.facts),
    });
    findings.collect()
}

/// What a finding is about: the subject of the claim, or the component at its path.
fn component(finding: &Finding, facts: &Inspection) -> Option<String> {
    let claimed = finding.claim.as_ref().map(|claim| &claim.subject);
    let installed = || {
        let path = finding.path.as_ref()?;
        let mut stack = facts.stack.iter();
        stack.find(|it| it.path == *path).map(|it| &it.name)
    };
    claimed.or_else(installed).cloned()
}

/// The version of each component, of the loaded copy if there are several.
fn stack(components: &[Component]) -> BTreeMap<String, String> {
    let names = components.iter().map(|component| component.name.as_str());
    let versions = names.chain(["cuda"]).filter_map(|name| {
        let version = summary::found(name, components).into_iter().next()?;
        Some((name.to_owned(), version))
    });
    versions.collect()
}

fn architectures(gpu: &Gpu) -> Vec<String> {
    let own = gpu.libraries.iter().filter(|library| {
        let name = library.path.rsplit('/').next().unwrap_or_default();
        !CUDA_LIBRARIES.iter().any(|start| name.starts_with(start))
    });
    let coverages: Vec<&Coverage> = match &gpu.torch {
        Some(torch) => vec![torch],
        None => own.map(|library| &library.coverage).collect(),
    };
    let names = |kind: fn(&Coverage) -> &Vec<String>| {
        let mut names: Vec<String> = coverages.iter().flat_map(|it| kind(it)).cloned().collect();
        // `sm_90` before `sm_100`.
        names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        names.dedup();
        names
    };
    let mut all = names(|it| &it.sass);
    all.extend(names(|it| &it.ptx));
    all
}

fn layer(layer: &Layer) -> FleetLayer {
    FleetLayer {
        diff_id: layer.diff_id.clone(),
        digest: layer.digest.clone(),
        size: layer.size,
    }
}
