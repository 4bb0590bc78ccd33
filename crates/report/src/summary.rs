//! The overview table: for each subject what is claimed, what was found, and whether they agree.

use imgcheck_base::reference::only_tag;
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::Severity;
use imgcheck_model::stack::Component;

use super::ImageReport;

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `torch`, `cuda`, `os` …
    pub subject: String,
    /// The claims as `2.9 (tag)`, joined by commas; empty if nothing is claimed.
    pub claimed: String,
    /// The version found; empty if the image has none.
    pub found: String,
    /// How claim and version compare.
    pub agreement: Agreement,
}

/// How a claim compares with what the image contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Nothing is claimed.
    Unclaimed,
    /// No finding contradicts the claim.
    Met,
    /// No rule compares this claim with the image.
    Unchecked,
    /// Only findings that do not count contradict the claim: they are ignored, in the baseline, or their rule is off.
    Ignored,
    /// A finding of this severity contradicts the claim.
    Broken(Severity),
}

impl Agreement {
    /// The verdict of a row.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Unclaimed => "",
            Agreement::Met => "ok",
            Agreement::Unchecked => "not checked",
            Agreement::Ignored => "ignored",
            Agreement::Broken(Severity::Error) => "wrong",
            Agreement::Broken(Severity::Warning) => "doubtful",
            Agreement::Broken(Severity::Note) => "see note",
        }
    }
}

/// Subjects that are listed even without a claim, in the order of the table.
const ALWAYS: [&str; 6] = ["torch", "cuda", "cudnn", "nccl", "python", "os"];

/// What to do about an image with GPU libraries that has a reference, if neither this nor the user says what it contains.
pub fn claims_nothing(image: &ImageReport) -> Option<&'static str> {
    let facts = &image.facts;
    let is_silent = facts.claims.iter().all(|claim| claim.origin == "env");
    let is_asked = image.questions.expect_contents();
    let reference = facts.reference.as_deref()?;
    (is_silent && !is_asked && has_gpu_library(image)).then(|| match only_tag::tag(reference) {
        Some(_) => "The image has no name, and its tag claims nothing: name it with --as NAME, or say what you expect with --expect, or with `expect:` in .imgcheck.yaml.",
        None => "The tag claims nothing: say what you expect with --expect, or with `expect:` in .imgcheck.yaml.",
    })
}

/// Whether an image has more than an operating system and Python.
pub fn has_gpu_library(image: &ImageReport) -> bool {
    let mut stack = image.facts.stack.iter();
    stack.any(|component: &Component| {
        !matches!(
            component.name.as_str(),
            "os" | "python" | "glibc" | "libstdc++"
        )
    })
}

/// The rows of the table: the core stack first, then other claimed subjects in the order of the claims.
pub fn rows(image: &ImageReport) -> Vec<Row> {
    let mut subjects: Vec<&str> = ALWAYS.to_vec();
    for claim in &image.facts.claims {
        if !subjects.contains(&claim.subject.as_str()) {
            subjects.push(&claim.subject);
        }
    }
    subjects
        .into_iter()
        .map(|subject| row(subject, image))
        .filter(|row| row.agreement != Agreement::Unclaimed || !row.found.is_empty())
        .collect()
}

fn row(subject: &str, image: &ImageReport) -> Row {
    let claims = image.facts.claims.iter();
    let claims: Vec<&Claim> = claims.filter(|claim| claim.subject == subject).collect();
    let found = found(subject, &image.facts.stack).join(", also ");
    let findings = image.findings.iter();
    let worst = findings
        .filter(|finding| {
            finding
                .claim
                .as_ref()
                .is_some_and(|claim| claim.subject == subject)
        })
        .map(|finding| finding.severity)
        .max();
    let agreement = match worst {
        Some(severity) => Agreement::Broken(severity),
        None if claims.is_empty() => Agreement::Unclaimed,
        None if image.muted.contains(subject) => Agreement::Ignored,
        None if found.is_empty() => Agreement::Unchecked,
        None => Agreement::Met,
    };
    Row {
        subject: subject.to_owned(),
        claimed: claimed(&claims),
        found,
        agreement,
    }
}

/// `2.9 (tag), 2.8.0 (env)`, without duplicates.
pub(crate) fn claimed(claims: &[&Claim]) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for claim in claims {
        let piece = format!("{} ({})", claim.version, claim.origin);
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
    }
    pieces.join(", ")
}

/// The versions of a subject, that of the loaded copy first. Claims and components share their names, except that the CUDA
/// release is also taken from PyTorch and the toolkit.
pub(crate) fn found(subject: &str, stack: &[Component]) -> Vec<String> {
    match subject {
        "cuda" => {
            let mut versions = versions_of(stack, "cuda-runtime");
            versions.extend(detail_of(stack, "torch", "cuda"));
            versions.extend(versions_of(stack, "cuda-toolkit"));
            versions
        }
        "device" => detail_of(stack, "torch", "build")
            .map(|build| format!("PyTorch for {build}"))
            .into_iter()
            .collect(),
        "flavour" => vec![match detail_of(stack, "cuda-toolkit", "nvcc") {
            Some(_) => "with nvcc".to_owned(),
            None => "without nvcc".to_owned(),
        }],
        _ => versions_of(stack, subject),
    }
    .into_iter()
    .fold(Vec::new(), |mut distinct, version| {
        if !distinct.contains(&version) {
            distinct.push(version);
        }
        distinct
    })
}

/// The versions of all copies, that of the loaded copy first.
fn versions_of(stack: &[Component], name: &str) -> Vec<String> {
    let mut copies: Vec<&Component> = stack
        .iter()
        .filter(|component| component.name == name && !component.version.is_empty())
        .collect();
    copies.sort_by_key(|component| !component.loaded);
    copies
        .into_iter()
        .map(|component| component.version.clone())
        .collect()
}

/// The loaded copy, or the first one.
fn pick<'a>(stack: &'a [Component], name: &str) -> Option<&'a Component> {
    let mut copies = stack.iter().filter(|component| component.name == name);
    copies
        .clone()
        .find(|component| component.loaded)
        .or_else(|| copies.next())
}

fn detail_of(stack: &[Component], name: &str, detail: &str) -> Option<String> {
    pick(stack, name)?.details.get(detail).cloned()
}
