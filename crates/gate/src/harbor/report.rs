//! Findings as Harbor reads them: as vulnerabilities.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::forward::Theirs;
use super::types::{Artifact, GENERIC_REPORT, NATIVE_REPORT, RAW_REPORT, scanner};
use imgcheck_base::digest::sha256;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::excerpt::shortened;
use imgcheck_base::gap::Gap;
use imgcheck_checker::{Format, Report, View};
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_report::{ImageReport, one_line, printable};

/// What a finding is about that names no file.
const IMAGE: &str = "image";
/// Maximum length of a file name, in characters: Harbor's database indexes it.
const LONGEST_FILE: usize = 200;
/// Digits of a digest that tell descriptions apart.
const DIGITS: usize = 12;

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Vulnerabilities.
    Generic,
    /// Vulnerabilities, under the former name.
    Native,
    /// The report of imgcheck.
    Raw,
}

/// Harbor's severities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Level {
    Unknown,
    Negligible,
    Low,
    Medium,
    High,
    Critical,
}

/// A vulnerability. Harbor keeps one for each scanner, id, package and version, and shows it at all images that have it, with the
/// description that it had first. So the version is made from the description: no image shows the message of another.
#[derive(Debug, Serialize)]
struct Vulnerability {
    id: String,
    package: String,
    version: String,
    severity: Level,
    description: String,
    links: Vec<String>,
}

impl Kind {
    /// The kind that a client accepts; `None` if it accepts no known kind.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let Some(accepted) = headers.get(ACCEPT) else {
            return Some(Kind::Generic);
        };
        let accepted = accepted.to_str().ok()?.split(',');
        let plain = |text: &str| text.to_ascii_lowercase().replace([' ', '\t', '"'], "");
        let all = [Kind::Generic, Kind::Native, Kind::Raw];
        let kind = |range: &str| {
            let range = plain(range);
            if ["*/*", "application/*"].contains(&range.split(';').next()?) {
                return Some(Kind::Generic);
            }
            // A client may leave the version out.
            let is_same = |kind: &Kind| {
                let known = plain(kind.as_str());
                known == range || known.split(';').next() == Some(&range)
            };
            all.into_iter().find(is_same)
        };
        accepted.into_iter().find_map(kind)
    }

    /// Its media type.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Generic => GENERIC_REPORT,
            Kind::Native => NATIVE_REPORT,
            Kind::Raw => RAW_REPORT,
        }
    }
}

/// The report on an image, with what the other scanner found.
///
/// # Errors
/// There is nothing to report.
pub fn text(kind: Kind, ours: &Report, theirs: &Theirs, artifact: &Artifact) -> Result<String> {
    if kind == Kind::Raw {
        return ours.render(View::Findings, Format::Json, None);
    }
    let image = ours.images.first();
    let image = image.ok_or_else(|| Error::not_found(&artifact.digest, "contains no image"))?;
    let ours = vulnerabilities(image);
    let worst = ours.iter().map(|it| it.severity);
    let severity = worst.chain(level(theirs)).max().unwrap_or(Level::Unknown);
    let others = theirs.vulnerabilities.iter().flatten();
    let all: Vec<Value> = ours
        .iter()
        .map(|it| json!(it))
        .chain(others.cloned())
        .collect();
    let report = json!({
        "generated_at": Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        "artifact": artifact,
        "scanner": scanner(),
        "severity": severity,
        "vulnerabilities": all,
    });
    Ok(report.to_string())
}

/// The worst severity that the other scanner found.
fn level(theirs: &Theirs) -> Option<Level> {
    let text = theirs.severity.as_ref()?;
    serde_json::from_value(json!(text)).ok()
}

fn vulnerabilities(image: &ImageReport) -> Vec<Vulnerability> {
    let findings = image.findings.iter().map(Vulnerability::of);
    let gaps = image.gaps.iter().map(Vulnerability::of_gap);
    let mut seen = BTreeSet::new();
    let mut is_new = |it: &Vulnerability| {
        let key = (it.id.clone(), it.package.clone(), it.version.clone());
        seen.insert(key)
    };
    // Harbor refuses a report that has one twice.
    findings.chain(gaps).filter(|it| is_new(it)).collect()
}

impl Vulnerability {
    fn of(finding: &Finding) -> Self {
        let severity = match finding.severity {
            Severity::Error => Level::High,
            Severity::Warning => Level::Medium,
            Severity::Note => Level::Low,
        };
        let help = finding.help.as_ref().map(|help| format!("\n{help}"));
        let description = format!("{}{}", finding.message, help.unwrap_or_default());
        let links = Some(finding.docs.clone()).filter(|docs| !docs.is_empty());
        Vulnerability {
            links: links.into_iter().collect(),
            ..Self::new(finding.rule.clone(), finding.file(), severity, &description)
        }
    }

    /// What prevents a pass is as bad as a warning; nobody knows how bad another gap is.
    fn of_gap(gap: &Gap) -> Self {
        let severity = match gap.code.prevents_pass() {
            true => Level::Medium,
            false => Level::Unknown,
        };
        let description = format!("not judged: {}", gap.message);
        Self::new(
            format!("gap-{}", gap.code),
            gap.path.as_deref(),
            severity,
            &description,
        )
    }

    fn new(id: String, file: Option<&str>, severity: Level, description: &str) -> Self {
        let description = printable(description);
        let digest = sha256(description.as_bytes());
        let digits = digest.trim_start_matches("sha256:").chars().take(DIGITS);
        Vulnerability {
            id,
            package: one_line(&shortened(file.unwrap_or(IMAGE), LONGEST_FILE)),
            version: digits.collect(),
            severity,
            description,
            links: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn accepted(text: &str) -> Option<Kind> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, text.parse().unwrap());
        Kind::of(&headers)
    }

    #[test]
    fn clients_choose_a_kind() {
        assert_eq!(Kind::of(&HeaderMap::new()), Some(Kind::Generic));
        for (text, kind) in [
            ("*/*", Some(Kind::Generic)),
            (
                "application/vnd.security.vulnerability.report; version=1.1",
                Some(Kind::Generic),
            ),
            (
                "application/vnd.security.vulnerability.report;version=1.1",
                Some(Kind::Generic),
            ),
            (
                "application/vnd.security.vulnerability.report",
                Some(Kind::Generic),
            ),
            (
                "application/vnd.security.vulnerability.report; version=2.0",
                None,
            ),
            (NATIVE_REPORT, Some(Kind::Native)),
            (RAW_REPORT, Some(Kind::Raw)),
            (
                "text/html, application/vnd.scanner.adapter.vuln.report.raw",
                Some(Kind::Raw),
            ),
            (
                "application/vnd.security.sbom.report+json; version=1.0",
                None,
            ),
            ("application/json", None),
            ("", None),
        ] {
            assert_eq!(accepted(text), kind, "{text}");
        }
    }

    #[test]
    fn a_gap_is_a_vulnerability_whose_version_tells_it_apart() {
        let gap = |message: &str| {
            Vulnerability::of_gap(&Gap {
                code: imgcheck_base::gap::GapCode::FrameworkNotReached,
                message: message.to_owned(),
                path: None,
                layer: None,
            })
        };
        let (one, other) = (gap("PyTorch\u{1b}"), gap("TensorFlow"));
        assert_eq!(
            (&*one.id, &*one.package),
            ("gap-framework-not-reached", "image")
        );
        assert_eq!(one.description, "not judged: PyTorch\\u{1b}");
        assert_ne!(one.version, other.version);
        assert_eq!((one.severity, one.version.len()), (Level::Medium, DIGITS));
    }
}
