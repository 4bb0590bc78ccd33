//! Markdown: a comment on a pull request, or the summary of a step.

mod difference;
mod escape;

use super::details::{count, details, programs_left_out, severity, tally};
use super::escape::unwrapped;
use super::summary::{self, Agreement};
use super::targets::{Answer, Grade, machines};
use super::{ImageReport, Report, Subject, UnreadImage, Verdict};
use crate::finding::{Finding, IgnoredFinding, Severity};
pub use difference::difference;
use escape::{address, code, html, html_code, prose};

/// The longest comment that GitHub takes has 65,536 characters; what is said of the rest needs some too.
const LONGEST: usize = 65_000;

/// So many packages are told of for one GPU.
const ANSWERS: usize = 12;

/// The verdict, what is claimed and found, and the findings to unfold. What would make it longer than a comment may be is
/// left out, and that is said.
pub fn report(report: &Report) -> String {
    let mut page = Page::default();
    page.add(&headline(report));
    for unread in report.errors {
        page.add(&unreadable(unread));
    }
    for subject in report.subjects() {
        page.add(&heading(subject));
        for finding in subject.findings() {
            page.add_finding(&folded(subject, finding));
        }
        page.add(&ignored(subject.ignored()));
    }
    page.finish()
}

/// A page that only grows as long as it may.
#[derive(Default)]
struct Page {
    text: String,
    findings_left_out: usize,
    is_cut: bool,
}

impl Page {
    /// Adds a block, if it fits; once something did not, nothing more is added, so that the cut is in one place.
    fn add(&mut self, block: &str) -> bool {
        let fits = !self.is_cut && self.text.len() + block.len() <= LONGEST;
        match fits {
            true => self.text.push_str(block),
            false => self.is_cut = true,
        }
        fits
    }

    fn add_finding(&mut self, block: &str) {
        self.findings_left_out += usize::from(!self.add(block));
    }

    fn finish(mut self) -> String {
        if self.is_cut {
            self.text.push_str(&format!(
                "\n> **This comment is cut:** {} left out, for GitHub takes no more than 65,536 characters. \
                 `imgcheck --format text` shows everything.\n",
                match self.findings_left_out {
                    1 => "1 finding is".to_owned(),
                    several => format!("{} are", count(several, "finding")),
                }
            ));
        }
        self.text
    }
}

/// An image that was not read is no pass.
fn headline(report: &Report) -> String {
    let failed = report
        .subjects()
        .any(|subject| subject.verdict() == Verdict::Fail);
    let verdict = match (report.errors.is_empty(), failed) {
        (false, _) => "❌ not everything could be read",
        (true, true) => "❌ FAIL",
        (true, false) => "✅ PASS",
    };
    let findings = report.subjects().flat_map(|subject| subject.findings());
    format!("## imgcheck: {verdict} ({})\n", tally(findings))
}

fn unreadable(unread: &UnreadImage) -> String {
    format!(
        "\n### ❌ {}\n\nIt could not be read: {}\n",
        code(&unread.image),
        prose(&unwrapped(&unread.error))
    )
}

fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Fail => "❌",
    }
}

fn severity_sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "❌",
        Severity::Warning => "⚠️",
        Severity::Note => "ℹ️",
    }
}

fn heading(subject: Subject) -> String {
    let sign = verdict_sign(subject.verdict());
    let mut block = format!(
        "\n### {sign} {}\n\n{}\n",
        code(subject.name()),
        tally(subject.findings().iter())
    );
    if let Subject::Image(image) = subject {
        block.push_str(&table(image));
        let left_out = image.facts.loader.as_ref().map(|it| it.programs_left_out);
        if let Some(remark) = programs_left_out(left_out.unwrap_or_default()) {
            block.push_str(&format!("\n{remark}\n"));
        }
        block.push_str(&runs_on(image));
    }
    block
}

/// Claimed against found.
fn table(image: &ImageReport) -> String {
    let rows = summary::rows(&image.facts, &image.findings);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = String::from("\n| | claimed | found | |\n|---|---|---|---|\n");
    for row in rows {
        let agreement = match row.agreement {
            Agreement::Unclaimed => "",
            Agreement::Met => "✅ ok",
            Agreement::Unchecked => "not checked",
            Agreement::Differs => "differs, not counted",
            Agreement::Broken(Severity::Error) => "❌ wrong",
            Agreement::Broken(Severity::Warning) => "⚠️ doubtful",
            Agreement::Broken(Severity::Note) => "ℹ️ see note",
        };
        table.push_str(&format!(
            "| {} | {} | {} | {agreement} |\n",
            prose(&row.subject),
            or_dash(&row.claimed),
            or_dash(&row.found)
        ));
    }
    table
}

/// What the image is on the machines that it must run on; empty without any.
fn runs_on(image: &ImageReport) -> String {
    let mut table = String::new();
    for target in &image.targets {
        let name = match target.name.as_str() {
            "" => String::new(),
            name => format!("{}: ", prose(name)),
        };
        for machine in machines(target) {
            let answers: Vec<String> = machine.answers.iter().take(ANSWERS).map(said).collect();
            let more = match machine.answers.len() - answers.len() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            table.push_str(&format!(
                "| {name}{} | {}{more} |\n",
                prose(&machine.name),
                answers.join(", ")
            ));
        }
    }
    match table.is_empty() {
        true => table,
        false => format!("\n| runs on | |\n|---|---|\n{table}"),
    }
}

fn said(answer: &Answer) -> String {
    let sign = match answer.grade {
        Grade::Good => "✅ ",
        Grade::Doubtful => "⚠️ ",
        Grade::Bad => "❌ ",
        Grade::Open => "",
    };
    let subject = match answer.subject.as_str() {
        "" => String::new(),
        subject => format!("{} ", prose(subject)),
    };
    let rest = prose(&answer.rest);
    format!("{sign}{subject}{}{}{rest}", answer.word, answer.joint)
}

fn or_dash(text: &str) -> String {
    match text.is_empty() {
        true => "–".to_owned(),
        false => prose(text),
    }
}

/// A finding; errors are unfolded.
fn folded(subject: Subject, finding: &Finding) -> String {
    let sign = severity_sign(finding.severity);
    let open = match finding.severity {
        Severity::Error => " open",
        Severity::Warning | Severity::Note => "",
    };
    let mut block = format!(
        "\n<details{open}><summary>{sign} <b>{}</b> {}: {}</summary>\n\n",
        severity(finding.severity),
        html_code(&finding.rule),
        html(&finding.message)
    );
    for (name, detail) in details(subject, finding) {
        // Help is a sentence, in which commands stand between backticks; the others are data.
        let text = match name {
            "help" => prose(&unwrapped(&detail)),
            _ => code(&detail),
        };
        block.push_str(&format!("- {name}: {text}\n"));
    }
    if !finding.docs.is_empty() {
        block.push_str(&format!("- {}\n", explained(finding)));
    }
    block + "\n</details>\n"
}

/// A link to where more is said of the rule; of a rule of the user only a web address is one.
fn explained(finding: &Finding) -> String {
    match finding.docs.starts_with("https://") {
        true => format!("[what this means]({})", address(&finding.docs)),
        false => code(&finding.docs),
    }
}

fn ignored(findings: &[IgnoredFinding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut block = format!(
        "\n<details><summary>{} ignored</summary>\n\n",
        count(findings.len(), "finding")
    );
    for IgnoredFinding { finding, ignore } in findings {
        let until = ignore.expires.as_ref();
        let until = until.map_or_else(String::new, |day| format!(", until {day}"));
        block.push_str(&format!(
            "- {}: {} – {}\n",
            code(&finding.rule),
            prose(&finding.message),
            prose(&format!("{}{until}", ignore.reason))
        ));
    }
    block.push_str("\n</details>\n");
    block
}
