//! Comments that ignore a finding at their place: `# imgcheck: ignore[RULE] reason`.

use std::ops::RangeInclusive;

/// How many lines below it a comment applies to, for an instruction that goes over several lines.
const MAX_LINES: usize = 200;

/// A comment with a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineIgnore {
    /// The file, as findings name it.
    pub file: String,
    /// The lines that it applies to, counted from 1: its own, and below a comment or a continued line the next.
    pub lines: RangeInclusive<usize>,
    /// Rule ids.
    pub rules: Vec<String>,
    /// Why.
    pub reason: String,
}

impl InlineIgnore {
    /// The comments of a file.
    pub fn all(file: &str, text: &str) -> Vec<Self> {
        const MARK: &str = "# imgcheck: ignore[";
        if !text.contains(MARK) {
            return Vec::new();
        }
        let lines: Vec<&str> = text.lines().collect();
        let goes_on =
            |line: &&&str| line.trim_start().starts_with('#') || line.trim_end().ends_with('\\');
        let comment = |(index, line): (usize, &&str)| {
            let (_, rest) = line.split_once(MARK)?;
            let (rules, reason) = rest.split_once(']')?;
            let more = lines[index..].iter().take(MAX_LINES).take_while(goes_on);
            let reason = reason.trim();
            (!reason.is_empty()).then(|| InlineIgnore {
                file: file.to_owned(),
                lines: index + 1..=index + 1 + more.count(),
                rules: rules.split(',').map(|it| it.trim().to_owned()).collect(),
                reason: reason.to_owned(),
            })
        };
        lines.iter().enumerate().filter_map(comment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_ignore_a_rule_with_a_reason() {
        let text = "# imgcheck: ignore[a, b] as agreed\nRUN x \\\n  y\n\nz # imgcheck: ignore[c] why\n# imgcheck: ignore[d]\nq\n";
        let found = InlineIgnore::all("f", text);
        let of = |line: usize, rule: &str| {
            let mut found = found.iter().filter(|it| it.lines.contains(&line));
            let found = found.find(|it| it.rules.iter().any(|it| it == rule));
            found.map(|it| it.reason.as_str())
        };
        assert_eq!(of(2, "a"), Some("as agreed"));
        assert_eq!(of(3, "b"), Some("as agreed"));
        assert_eq!(of(5, "c"), Some("why"));
        for (line, rule) in [(2, "c"), (5, "a"), (7, "d"), (1, "z"), (4, "a")] {
            assert_eq!(of(line, rule), None, "{line} {rule}");
        }
    }
}
