//! GitHub's workflow commands: a line `::error file=…,line=…,title=…::message` becomes an annotation
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>).

use super::details::{detail_lines, tally};
use super::summary::claims_nothing;
use super::{Report, Subject, Verdict, one_line, printable};
use imgcheck_model::finding::{Finding, Severity};

/// An annotation for each image that could not be read and each finding that counts, then a summary line for each image or
/// file. GitHub shows the first ten errors, warnings and notices of a step; the rest is in its log.
pub fn report(report: &Report) -> String {
    let mut out = String::new();
    for unread in report.errors {
        let title = format!("imgcheck: {} could not be read", unread.image);
        command(&mut out, "error", &[("title", title)], &unread.error);
    }
    for subject in report.subjects() {
        for finding in subject.findings() {
            annotation(&mut out, subject, finding);
        }
        let word = match subject.verdict() {
            Verdict::Incomplete => "error",
            Verdict::Pass | Verdict::Fail => "warning",
        };
        for gap in subject.gaps() {
            let title = format!("imgcheck: not judged: {}", gap.code);
            let message = one_line(&format!("{}: {}", subject.name(), gap.message));
            command(&mut out, word, &[("title", title)], &message);
        }
    }
    for subject in report.subjects() {
        let findings = tally(subject.findings().iter());
        out.push_str(&format!(
            "{} {}: {findings}\n",
            subject.heading(),
            one_line(subject.name())
        ));
        if let Subject::Image(image) = subject
            && let Some(advice) = claims_nothing(image)
        {
            out.push_str(&format!("{advice}\n"));
        }
    }
    for (label, text) in report.judged_by() {
        out.push_str(&format!("{label}: {}\n", one_line(text)));
    }
    out
}

fn annotation(out: &mut String, subject: Subject, finding: &Finding) {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    // A path in an image is not a file of the repository.
    let mut properties = match &finding.location {
        Some(at) => vec![
            // GitHub expects paths without `./`.
            ("file", at.file.trim_start_matches("./").to_owned()),
            ("line", at.line.to_string()),
            ("col", at.column.to_string()),
            ("endColumn", at.end_column.to_string()),
        ],
        None => Vec::new(),
    };
    properties.push(("title", format!("imgcheck: {}", finding.rule)));
    let mut message = one_line(&format!("{}: {}", subject.name(), finding.message));
    for detail in detail_lines(subject, finding) {
        message.push_str(&format!("\n{detail}"));
    }
    if !finding.docs.is_empty() {
        message.push_str(&format!("\n{}", one_line(&finding.docs)));
    }
    command(out, word, &properties, &message);
}

fn command(out: &mut String, word: &str, properties: &[(&str, String)], message: &str) {
    let properties: Vec<String> = properties
        .iter()
        .map(|(name, value)| format!("{name}={}", property(value)))
        .collect();
    out.push_str(&format!(
        "::{word} {}::{}\n",
        properties.join(","),
        data(message)
    ));
}

/// Escapes a message; the runner reverts it.
fn data(text: &str) -> String {
    printable(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property, in which `:` and `,` are special too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_property_or_its_line() {
        let mut out = String::new();
        let hostile = "a,file=x::b\n::error::c%0A\r".to_owned();
        command(&mut out, "error", &[("title", hostile.clone())], &hostile);
        assert_eq!(
            out,
            "::error title=a%2Cfile=x%3A%3Ab%0A\\u{3a}%3Aerror%3A%3Ac%250A\\r::\
             a,file=x::b%0A\\u{3a}:error::c%250A\\r\n"
        );
    }
}
