//! One image on the HTML page.

use super::coverage::{Matrix, matrix};
use super::finding::{self, FindingView};
use super::graph::{self, Fault, Picture};
use super::markup::Html;
use super::treemap::{self, SizeView};
use crate::summary::{Agreement, Row, rows};
use crate::targets::{Answer, Grade, Machine, machines};
use crate::{ImageReport, Inspection, Report, details, started};
use imgcheck_base::decimal_bytes::decimal_bytes as bytes;
use imgcheck_base::gap::Gap;
use imgcheck_model::finding::{AcknowledgedGap, Finding, Severity};
use imgcheck_model::process::cause::When;
use imgcheck_model::process::tree::{ProcessTree, Tree};
use imgcheck_model::stack::{Component, DriverFloor};

/// How many processes are drawn.
const PICTURES: usize = 8;
/// How many files of a process are listed.
const FILES: usize = 800;

/// An image.
pub(super) struct ImageView {
    pub id: String,
    pub name: String,
    pub verdict: String,
    /// The number of findings of each severity that occurs.
    pub tally: Vec<(&'static str, String)>,
    pub about: Vec<String>,
    pub digests: Vec<(&'static str, String)>,
    pub rows: Vec<RowView>,
    pub remarks: Vec<String>,
    pub driver: Option<DriverFloor>,
    pub torch: Vec<String>,
    /// Name and machines of each target.
    pub targets: Vec<(String, Vec<Machine>)>,
    pub findings: Vec<FindingView>,
    pub ignored: Vec<FindingView>,
    pub gaps: Vec<Gap>,
    pub acknowledged: Vec<AcknowledgedGap>,
    pub pictures: Vec<PictureView>,
    /// Names of the processes that are not drawn.
    pub other_processes: Vec<String>,
    pub coverage: Option<Matrix>,
    pub is_deep: bool,
    pub sampled: bool,
    pub size: Option<SizeView>,
    pub layers: Vec<LayerView>,
    /// Size of all layers; `None` if none is stored as a blob.
    pub layers_size: Option<String>,
    pub stack: Vec<ComponentView>,
}

/// A row of the overview table.
pub(super) struct RowView {
    pub row: Row,
    pub class: &'static str,
}

impl Answer {
    /// The CSS class that gives the verdict its color and icon.
    pub(super) fn class(&self) -> &'static str {
        match self.grade {
            Grade::Good => "met",
            Grade::Doubtful => "warning",
            Grade::Bad => "error",
            Grade::Open => "unclaimed",
        }
    }
}

/// A process.
pub(super) struct PictureView {
    pub id: String,
    pub name: String,
    pub is_main: bool,
    pub library_path: String,
    pub library_path_source: String,
    pub svg: Html,
    pub faults: Vec<Fault>,
    pub left_out: usize,
    pub files: Vec<FileView>,
    pub failures: Vec<(String, String)>,
    pub total: usize,
}

/// A file of a process.
pub(super) struct FileView {
    pub name: String,
    pub directory: String,
    pub version: String,
    pub reason: String,
    pub step: String,
}

/// A layer.
pub(super) struct LayerView {
    pub index: usize,
    pub size: String,
    /// Width of its bar, in percent.
    pub width: u64,
    pub step: String,
    pub digest: String,
    pub how: &'static str,
    /// Findings on files of the layer: severity, id on the page, rule.
    pub findings: Vec<(&'static str, String, String)>,
}

/// A copy of a component.
pub(super) struct ComponentView {
    pub component: Component,
    pub layer: String,
    pub evidence: Vec<String>,
}

impl ImageView {
    /// The view of an image; `place` is its index on the page.
    pub fn of(image: &ImageReport, place: usize, report: &Report) -> Self {
        let (rules, gpus) = (report.rules, &report.knowledge.targets.gpus);
        let (facts, id) = (&image.facts, format!("i{place}"));
        let prefix = format!("{id}-f");
        let findings = finding::views(image.findings.iter(), &prefix, Some(facts), rules);
        let (pictures, other_processes) = self::pictures(facts, &image.tree, &image.findings, &id);
        ImageView {
            name: facts.name().to_owned(),
            verdict: image.verdict.above(&image.findings).to_owned(),
            tally: tally(&image.findings),
            about: about(image),
            digests: digests(facts),
            rows: rows(image).into_iter().map(row).collect(),
            remarks: remarks(facts),
            driver: facts.driver.clone(),
            torch: facts
                .gpu
                .torch
                .iter()
                .flat_map(|it| [&it.sass[..], &it.ptx[..]].concat())
                .collect(),
            targets: image
                .targets
                .iter()
                .map(|target| (target.name.clone(), machines(target)))
                .collect(),
            ignored: finding::ignored_views(&image.ignored, &format!("{id}-g"), Some(facts), rules),
            gaps: image.gaps.clone(),
            acknowledged: image.acknowledged.clone(),
            pictures,
            other_processes,
            coverage: matrix(facts, &image.targets, gpus),
            is_deep: facts.depth == imgcheck_elf::Depth::Deep,
            sampled: facts.gpu.sampled,
            size: treemap::view(image),
            layers: layers(facts, &findings, &image.findings),
            layers_size: Some(facts.layers.iter().map(|layer| layer.size).sum())
                .filter(|size| *size > 0)
                .map(bytes),
            stack: facts.stack.iter().map(|it| component(it, facts)).collect(),
            findings,
            id,
        }
    }
}

fn tally(findings: &[Finding]) -> Vec<(&'static str, String)> {
    let all = [Severity::Error, Severity::Warning, Severity::Note];
    let counted = all.map(|severity| {
        let count = findings.iter().filter(|it| it.severity == severity).count();
        (severity.as_str(), count)
    });
    let present = counted.into_iter().filter(|(_, count)| *count > 0);
    present
        .map(|(word, count)| (word, details::count(count, word)))
        .collect()
}

fn about(image: &ImageReport) -> Vec<String> {
    let facts = &image.facts;
    let mut about = vec![details::source_name(facts)];
    about.extend(Some(facts.platform.clone()).filter(|platform| !platform.is_empty()));
    about.push(details::count(facts.layers.len(), "layer"));
    about.push(details::count(facts.files, "file"));
    about.push(format!("read in {:.2} s", image.elapsed_ms as f64 / 1000.0));
    about
}

fn digests(facts: &Inspection) -> Vec<(&'static str, String)> {
    let both = [
        ("manifest", &facts.digest),
        ("configuration", &facts.config_digest),
    ];
    let known = both
        .into_iter()
        .filter_map(|(name, digest)| Some((name, digest.clone()?)));
    known.collect()
}

fn row(row: Row) -> RowView {
    let class = match row.agreement {
        Agreement::Met => "met",
        Agreement::Broken(severity) => severity.as_str(),
        _ => "unclaimed",
    };
    RowView { row, class }
}

fn remarks(facts: &Inspection) -> Vec<String> {
    let chain = started::chain(&facts.launch).map(|chain| format!("Starts {chain}"));
    let changes = started::changes(&facts.launch).map(|it| format!("Sets {it}"));
    let mut remarks: Vec<String> = chain.into_iter().chain(changes).collect();
    if facts.reference.is_none() {
        remarks.push("No reference to compare with: use --as REFERENCE.".to_owned());
    }
    if facts.config_digest.is_none() {
        remarks.push("No image configuration: environment variables such as LD_LIBRARY_PATH and the command are unknown.".to_owned());
    }
    if facts.layers.iter().any(|layer| layer.is_lazy) {
        remarks.push(
            "Some layers were read lazily (zstd:chunked, eStargz): only the files that matter were fetched.".to_owned(),
        );
    }
    remarks
}

/// The pictures of the first processes, and the names of the others; `id` is the prefix of all ids.
pub(super) fn pictures(
    facts: &Inspection,
    tree: &Tree,
    findings: &[Finding],
    id: &str,
) -> (Vec<PictureView>, Vec<String>) {
    let finding = format!("{id}-f");
    let drawn = tree.processes.iter().take(PICTURES).enumerate();
    let drawn = drawn.map(|(number, process)| {
        let id = format!("{id}-p{number}");
        let loader = facts.loader.as_deref();
        let picture = graph::picture(process, loader, findings, &id, &finding);
        picture_view(process, picture, id)
    });
    let others = tree.processes.iter().skip(PICTURES);
    (drawn.collect(), others.map(|it| it.name.clone()).collect())
}

fn picture_view(process: &ProcessTree, drawn: Picture, id: String) -> PictureView {
    let files = process.objects.iter().take(FILES).map(|object| {
        let facts = &object.facts;
        let (directory, name) = facts.path.rsplit_once('/').unwrap_or(("", &facts.path));
        FileView {
            name: name.to_owned(),
            directory: directory.to_owned(),
            version: facts.readings.get("version").cloned().unwrap_or_default(),
            reason: facts.reason.clone(),
            step: match facts.when {
                When::Start => "start".to_owned(),
                When::Import => format!("import {}", facts.package),
                When::Never | When::Use => format!("first use of {}", facts.package),
            },
        }
    });
    let failures = process.failures.iter().map(|failure| {
        let kind = if failure.optional {
            "continues without"
        } else {
            "fails"
        };
        (kind.to_owned(), failure.message.clone())
    });
    PictureView {
        id,
        name: process.name.clone(),
        is_main: process.main,
        library_path: process.library_path.clone(),
        library_path_source: details::library_path_source(process),
        svg: Html::of_picture(drawn.svg),
        faults: drawn.faults,
        left_out: drawn.left_out,
        files: files.collect(),
        failures: failures.collect(),
        total: process.objects.len(),
    }
}

fn layers(facts: &Inspection, views: &[FindingView], findings: &[Finding]) -> Vec<LayerView> {
    let largest = facts
        .layers
        .iter()
        .map(|layer| layer.size)
        .max()
        .unwrap_or(0);
    let about = |index: usize| {
        let both = views.iter().zip(findings);
        let own = both.filter(|(_, finding)| finding.layer == Some(index));
        own.map(|(view, _)| (view.severity, view.id.clone(), view.rule.clone()))
            .collect()
    };
    let layers = facts.layers.iter().map(|layer| LayerView {
        index: layer.index,
        size: bytes(layer.size),
        width: match largest {
            0 => 0,
            largest => (u128::from(layer.size) * 100 / u128::from(largest)) as u64,
        },
        step: layer.created_by.clone(),
        digest: layer
            .digest
            .clone()
            .unwrap_or_else(|| layer.diff_id.clone()),
        how: match (layer.cached, layer.is_lazy) {
            (true, _) => "cached",
            (_, true) => "read lazily",
            _ => "",
        },
        findings: about(layer.index),
    });
    layers.collect()
}

fn component(component: &Component, facts: &Inspection) -> ComponentView {
    let path = component.path.as_str();
    ComponentView {
        layer: component
            .layer
            .map_or_else(String::new, |layer| details::layer_text(facts, layer)),
        evidence: component
            .evidence
            .iter()
            .map(|evidence| details::evidence_text(evidence, Some(path)))
            .collect(),
        component: component.clone(),
    }
}
