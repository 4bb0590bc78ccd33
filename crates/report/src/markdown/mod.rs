//! Markdown: a comment on a pull request, or a job summary.

mod difference;
mod escape;
mod page;

use super::details::{count, details, ignore_text, tally};
use super::escape::unwrapped;
use super::summary::{self, Agreement};
use super::targets::{Answer, Grade, machines};
use super::{ImageReport, Report, Subject, UnreadImage, Verdict};
pub use difference::difference;
use escape::{code, html, html_code, prose};
use imgcheck_model::finding::{Finding, IgnoredFinding, Severity};
use page::{Page, docs_link, severity_sign, verdict_sign};

/// How many packages are listed for one GPU.
const ANSWERS: usize = 12;

/// The verdict, the overview table, and the findings as collapsible sections, cut at the length of a comment.
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
    let judged_by = report.judged_by();
    let judged_by = judged_by.map(|(label, text)| format!("{label}: {}", code(text)));
    page.add(&format!(
        "\n{}\n",
        judged_by.collect::<Vec<_>>().join(" · ")
    ));
    page.finish()
}

fn headline(report: &Report) -> String {
    let verdict = report.subjects().map(|subject| subject.verdict()).max();
    let verdict = verdict.unwrap_or(Verdict::Pass);
    let findings = || report.subjects().flat_map(|subject| subject.findings());
    let verdict = match report.errors.is_empty() {
        false => "❌ something could not be read".to_owned(),
        true => format!("{} {}", verdict_sign(verdict), verdict.above(findings())),
    };
    format!("## imgcheck: {verdict} ({})\n", tally(findings()))
}

fn unreadable(unread: &UnreadImage) -> String {
    format!(
        "\n### ❌ {}\n\nCould not be read: {}\n",
        code(&unread.image),
        prose(&unwrapped(&unread.error))
    )
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
        if let Some(advice) = summary::claims_nothing(image) {
            block.push_str(&format!("\n{advice}\n"));
        }
        block.push_str(&runs_on(image));
    }
    block.push_str(&not_judged(subject));
    block
}

/// The overview table.
fn table(image: &ImageReport) -> String {
    let rows = summary::rows(image);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = String::from("\n| | claimed | found | |\n|---|---|---|---|\n");
    for row in rows {
        let sign = match row.agreement {
            Agreement::Met => "✅ ",
            Agreement::Broken(severity) => &format!("{} ", severity_sign(severity)),
            _ => "",
        };
        table.push_str(&format!(
            "| {} | {} | {} | {sign}{} |\n",
            prose(&row.subject),
            or_dash(&row.claimed),
            or_dash(&row.found),
            row.agreement.word()
        ));
    }
    table
}

/// The verdicts on targets; empty without targets.
fn runs_on(image: &ImageReport) -> String {
    let mut table = String::new();
    for target in &image.targets {
        let name = match target.name.as_str() {
            "" => String::new(),
            name => format!("{}: ", prose(name)),
        };
        for machine in machines(target) {
            let answers: Vec<String> = machine
                .answers
                .iter()
                .take(ANSWERS)
                .map(answer_text)
                .collect();
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

/// What could not be judged, and what the configuration acknowledges of it.
fn not_judged(subject: Subject) -> String {
    let gaps = subject.gaps().iter();
    let gaps = gaps.map(|gap| (gap, String::new()));
    let acknowledged = match subject {
        Subject::Image(image) => image.acknowledged.iter(),
        Subject::File(_) => [].iter(),
    };
    let acknowledged = acknowledged.map(|it| {
        let reason = ignore_text(&it.ignore);
        (&it.gap, format!(" – acknowledged: {}", prose(&reason)))
    });
    let mut block = String::new();
    for (gap, remark) in gaps.chain(acknowledged) {
        let (code, message) = (code(gap.code.as_str()), prose(&gap.message));
        block.push_str(&format!("\n- **not judged** {code}: {message}{remark}"));
    }
    match block.is_empty() {
        true => block,
        false => block + "\n",
    }
}

fn answer_text(answer: &Answer) -> String {
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

/// A finding as a collapsible section; errors are open.
fn folded(subject: Subject, finding: &Finding) -> String {
    let sign = severity_sign(finding.severity);
    let open = match finding.severity {
        Severity::Error => " open",
        Severity::Warning | Severity::Note => "",
    };
    let mut block = format!(
        "\n<details{open}><summary>{sign} <b>{}</b> {}: {}</summary>\n\n",
        finding.severity.as_str(),
        html_code(&finding.rule),
        html(&finding.message)
    );
    for (name, detail) in details(subject.facts(), finding) {
        // Help is a sentence with commands between backticks; the other details are data.
        let text = match name {
            "help" => prose(&unwrapped(&detail)),
            _ => code(&detail),
        };
        block.push_str(&format!("- {name}: {text}\n"));
    }
    if !finding.docs.is_empty() {
        block.push_str(&format!("- {}\n", docs_link(finding)));
    }
    block + "\n</details>\n"
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
        block.push_str(&format!(
            "- {}: {} – {}\n",
            code(&finding.rule),
            prose(&finding.message),
            prose(&ignore_text(ignore))
        ));
    }
    block.push_str("\n</details>\n");
    block
}
