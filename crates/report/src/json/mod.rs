//! The JSON formats. `v1` and `difference` have their frozen types.

mod difference;
mod preflight;
mod requirements;
mod size;
mod v1;

use schemars::Schema;
use serde::Serialize;

use super::difference::Difference;
use super::requirements::Requirements;
use super::size::SizeReport;
use super::{ImageReport, Inspection, ReferenceReport, Report, UnreadImage, escape};
use imgcheck_base::json_schema;
use imgcheck_model::finding::Severity;
use imgcheck_model::imports::ImportTree;
use imgcheck_model::knowledge::Knowledge;
use imgcheck_model::process::tree::Tree;

const TOOL: v1::Tool = v1::Tool {
    name: "imgcheck",
    version: env!("CARGO_PKG_VERSION"),
};

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    tool: v1::Tool,
    images: Vec<T>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<v1::UnreadImage<'a>>,
}

fn unread(errors: &[UnreadImage]) -> Vec<v1::UnreadImage<'_>> {
    errors.iter().map(v1::UnreadImage::from).collect()
}

/// The report of a check.
pub fn report(report: &Report) -> serde_json::Result<String> {
    let findings = report.files.iter().flat_map(|file| &file.findings);
    escape::json(&v1::Report {
        schema: v1::REPORT,
        tool: TOOL,
        images: report.images.iter().map(v1::Image::from).collect(),
        findings: findings.collect(),
        errors: unread(report.errors),
        knowledge: v1::Knowledge::from(report.knowledge),
        config: report.configuration,
    })
}

/// The JSON Schema of a report.
pub fn schema() -> Schema {
    json_schema::of_output::<v1::Report>("report.json")
}

/// The JSON Schema of a report, among others.
pub fn report_schema(generator: &mut schemars::SchemaGenerator) -> Schema {
    generator.subschema_for::<v1::Report>()
}

/// The report on workloads.
pub fn preflight(report: &Report, fail_on: Option<Severity>) -> serde_json::Result<String> {
    let containers = report.workloads.iter().flat_map(|it| &it.containers);
    let titles: Vec<&str> = containers.map(|it| it.title.as_str()).collect();
    let files = report.files.iter();
    let others = files.filter(|file| !titles.contains(&file.file.as_str()));
    let workloads = report.workloads.iter();
    escape::json(&preflight::Report {
        schema: preflight::SCHEMA,
        tool: TOOL,
        workloads: workloads
            .map(|it| preflight::Workload::of(it, fail_on))
            .collect(),
        findings: others.flat_map(|file| &file.findings).collect(),
        errors: unread(report.errors),
        knowledge: v1::Knowledge::from(report.knowledge),
        config: report.configuration,
    })
}

/// The JSON Schema of a report on workloads.
pub fn preflight_schema() -> Schema {
    json_schema::of_output::<preflight::Report>("preflight.json")
}

/// The contents of images, without findings.
pub fn facts(images: &[Inspection], errors: &[UnreadImage]) -> serde_json::Result<String> {
    escape::json(&Document {
        schema: "imgcheck/facts/v1",
        tool: TOOL,
        images: images.iter().map(v1::Contents::from).collect(),
        errors: unread(errors),
    })
}

/// The loader model of images, each with its reference.
pub fn trees<'t>(
    trees: impl Iterator<Item = (Option<&'t str>, &'t Tree)>,
    errors: &[UnreadImage],
) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Named<'t> {
        reference: Option<&'t str>,
        #[serde(flatten)]
        tree: &'t Tree,
    }
    escape::json(&Document {
        schema: "imgcheck/tree/v1",
        tool: TOOL,
        images: trees
            .map(|(reference, tree)| Named { reference, tree })
            .collect(),
        errors: unread(errors),
    })
}

/// What the Python programs of images import.
pub fn imports<'t>(
    trees: impl Iterator<Item = (Option<&'t str>, &'t [ImportTree])>,
    errors: &[UnreadImage],
) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Named<'t> {
        reference: Option<&'t str>,
        programs: &'t [ImportTree],
    }
    escape::json(&Document {
        schema: "imgcheck/imports/v1",
        tool: TOOL,
        images: trees
            .map(|(reference, programs)| Named {
                reference,
                programs,
            })
            .collect(),
        errors: unread(errors),
    })
}

/// Where the bytes of images are.
pub fn sizes(images: &[ImageReport], errors: &[UnreadImage]) -> serde_json::Result<String> {
    escape::json(&size::Report {
        schema: size::SCHEMA,
        tool: TOOL,
        images: images.iter().map(SizeReport::of).collect(),
        errors: unread(errors),
    })
}

/// The JSON Schema of sizes.
pub fn sizes_schema() -> Schema {
    json_schema::of_output::<size::Report>("size.json")
}

/// What images need of a machine.
pub fn requirements(
    images: &[ImageReport],
    known: &Knowledge,
    errors: &[UnreadImage],
) -> serde_json::Result<String> {
    let images = images.iter();
    escape::json(&requirements::Report {
        schema: requirements::SCHEMA,
        tool: TOOL,
        images: images.map(|it| Requirements::of(it, known)).collect(),
        errors: unread(errors),
    })
}

/// The JSON Schema of requirements.
pub fn requirements_schema() -> Schema {
    json_schema::of_output::<requirements::Report>("requirements.json")
}

/// The difference between two images.
pub fn difference(difference: &Difference) -> serde_json::Result<String> {
    escape::json(&difference::Difference::of(TOOL, difference))
}

/// The claims of references.
pub fn claims(references: &[ReferenceReport]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct ClaimsDocument<'a> {
        schema: &'static str,
        references: Vec<v1::Reference<'a>>,
    }
    escape::json(&ClaimsDocument {
        schema: "imgcheck/claims/v1",
        references: references.iter().map(v1::Reference::from).collect(),
    })
}

/// The report on Dockerfiles and similar files.
pub fn lint(report: &Report) -> serde_json::Result<String> {
    escape::json(&v1::Lint {
        schema: v1::LINT,
        tool: TOOL,
        files: report.files.iter().map(v1::File::from).collect(),
        errors: report.errors.iter().map(v1::UnreadFile::from).collect(),
        knowledge: v1::Knowledge::from(report.knowledge),
        config: report.configuration,
    })
}

/// The JSON Schema of reports on Dockerfiles and similar files.
pub fn lint_schema() -> Schema {
    json_schema::of_output::<v1::Lint>("lint.json")
}
