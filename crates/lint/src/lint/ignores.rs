//! Comments that ignore a finding at their place: `# imgcheck: ignore[RULE] reason`.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Text;
use imgcheck_model::finding::Location;

/// How many lines below it a comment applies to, for an instruction that goes over several lines.
const MAX_LINES: usize = 200;

const MARK: &str = "# imgcheck: ignore[";

/// A comment that ignores findings, or looks like one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InlineIgnore {
    /// The lines that it applies to, counted from 1: its own, and below a comment or a continued line the next. Not a fact for rules.
    #[serde(skip)]
    pub lines: Range<usize>,
    /// Rule ids; empty if the comment is written wrongly.
    pub rules: Vec<String>,
    /// Why; it does not apply without.
    pub reason: String,
    /// The rules that do not exist.
    pub unknown: Vec<String>,
    /// Whether it ignores a finding; also true where that is not known.
    pub used: bool,
    /// The comment.
    pub text: String,
    /// Its location.
    pub location: Location,
}

impl InlineIgnore {
    /// The comments of a file.
    pub fn all(text: &Text<'_>) -> Vec<Self> {
        if !text.text.contains("imgcheck") {
            return Vec::new();
        }
        let lines: Vec<&str> = text.text.split_inclusive('\n').collect();
        let goes_on =
            |line: &&&str| line.trim_start().starts_with('#') || line.trim_end().ends_with('\\');
        let mut found = Vec::new();
        let mut offset = 0;
        for (index, line) in lines.iter().enumerate() {
            if let Some(start) = start(line) {
                let more = lines[index..].iter().take(MAX_LINES).take_while(goes_on);
                let comment = line[start..].trim_end();
                let at = offset + start;
                found.push(InlineIgnore {
                    lines: index + 1..index + 2 + more.count(),
                    location: text.location(at..at + comment.len()),
                    ..InlineIgnore::of(comment)
                });
            }
            offset += line.len();
        }
        found
    }

    fn of(comment: &str) -> Self {
        let rest = comment.strip_prefix(MARK);
        let (rules, reason) = rest
            .and_then(|rest| rest.split_once(']'))
            .unwrap_or_default();
        let rules = rules.split(',').map(str::trim).filter(|it| !it.is_empty());
        InlineIgnore {
            rules: rules.map(str::to_owned).collect(),
            reason: reason.trim().to_owned(),
            text: comment.to_owned(),
            ..InlineIgnore::default()
        }
    }

    /// Whether it ignores findings of a rule in a line.
    pub fn applies(&self, rule: &str, place: &Location) -> bool {
        let is_here = self.location.file == place.file && self.lines.contains(&place.line);
        is_here && !self.reason.is_empty() && self.rules.iter().any(|it| it == rule)
    }
}

/// Where a comment begins that ignores, or is meant to: `#imgcheck:ignore`, `# imgcheck-disable`.
fn start(line: &str) -> Option<usize> {
    let (start, comment) = line.match_indices('#').find_map(|(at, _)| {
        let rest = line[at..].trim_start_matches('#').trim_start();
        rest.starts_with("imgcheck").then_some((at, rest))
    })?;
    let rest = comment["imgcheck".len()..].trim_start_matches([' ', ':', '-', '_', '\t']);
    let is_meant = ["ignore", "disable", "ignor", "skip", "noqa"]
        .iter()
        .any(|it| rest.starts_with(it));
    is_meant.then_some(start)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn comments_ignore_a_rule_with_a_reason() {
        let text = "# imgcheck: ignore[a, b] as agreed\nRUN x \\\n  y\n\nz # imgcheck: ignore[c] why\n# imgcheck: ignore[d]\nq\n#imgcheck:ignore[e] why\n# see imgcheck for more\n";
        let found = InlineIgnore::all(&Text::new("f", text).unwrap());
        let of = |line: usize, rule: &str| {
            let place = Location {
                file: "f".to_owned(),
                line,
                ..Location::default()
            };
            let mut found = found.iter().filter(|it| it.applies(rule, &place));
            found.next().map(|it| it.reason.as_str())
        };
        assert_eq!(of(2, "a"), Some("as agreed"));
        assert_eq!(of(3, "b"), Some("as agreed"));
        assert_eq!(of(5, "c"), Some("why"));
        for (line, rule) in [(2, "c"), (5, "a"), (7, "d"), (1, "z"), (4, "a"), (8, "e")] {
            assert_eq!(of(line, rule), None, "{line} {rule}");
        }
        let written: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(written[3], "#imgcheck:ignore[e] why");
        assert_eq!((written.len(), found[3].location.line), (4, 8));
    }
}
