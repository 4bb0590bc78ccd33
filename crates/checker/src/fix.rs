//! Fixes of the files that images are built from.

use super::report::Report;
use imgcheck_model::finding::Finding;
use imgcheck_rules::rules::fix::fixed_line;

/// A line of a file that a fix changes.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::Checker;
///
/// let report = Checker::builder().build()?.check(&[]);
/// assert_eq!(report.fixes().len(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineFix {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The line as it is.
    pub before: String,
    /// The line as it should be.
    pub after: String,
    /// The rule that asks for it.
    pub rule: String,
}

impl LineFix {
    /// The text of the file with the fixed line; `None` if the line is not as it was when it was read.
    pub fn apply(&self, text: &str) -> Option<String> {
        let mut lines = text.split_inclusive('\n');
        let skipped = lines.by_ref().take(self.line.checked_sub(1)?);
        let start: usize = skipped.map(str::len).sum();
        let line = lines.next()?;
        let ending = line.strip_prefix(self.before.as_str())?;
        if !matches!(ending, "" | "\n" | "\r\n") {
            return None;
        }
        let rest = &text[start + line.len()..];
        Some(format!("{}{}{ending}{rest}", &text[..start], self.after))
    }
}

impl Report {
    /// The fixes of the findings on files, where their rules have fixes that cannot be wrong: at most one for each line.
    pub fn fixes(&self) -> Vec<LineFix> {
        let mut fixes: Vec<LineFix> = Vec::new();
        for finding in self.files.iter().flat_map(|file| &file.findings) {
            let Some(fix) = self.fix_of(finding) else {
                continue;
            };
            let is_new = |known: &LineFix| (&known.file, known.line) != (&fix.file, fix.line);
            if fixes.iter().all(is_new) {
                fixes.push(fix);
            }
        }
        fixes
    }

    fn fix_of(&self, finding: &Finding) -> Option<LineFix> {
        let location = finding.location.as_ref()?;
        let rule = self.rules.get(&finding.rule)?;
        Some(LineFix {
            file: location.file.clone(),
            line: location.line,
            before: location.text.clone(),
            after: fixed_line(&rule.fixes, location)?,
            rule: rule.id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_replaced_if_it_is_as_it_was() {
        let fix = LineFix {
            file: "Dockerfile".to_owned(),
            line: 2,
            before: "b".to_owned(),
            after: "c".to_owned(),
            rule: "x".to_owned(),
        };
        let apply = |text: &str| fix.apply(text);
        assert_eq!(apply("a\nb\nd\n").as_deref(), Some("a\nc\nd\n"));
        assert_eq!(apply("a\r\nb\r\nd").as_deref(), Some("a\r\nc\r\nd"));
        assert_eq!(apply("a\nb").as_deref(), Some("a\nc"));
        assert_eq!(apply("a\nbb\n"), None);
        assert_eq!(apply("a"), None);
    }
}
