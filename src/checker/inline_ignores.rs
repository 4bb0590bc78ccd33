//! Comments that ignore a finding at their place: `# imgcheck: ignore[RULE] reason`.

use std::collections::HashMap;
use std::path::Path;

use crate::finding::{Finding, IgnoreReason, IgnoredFinding};
use crate::lint;

/// The most lines above a finding that are searched, for an instruction that goes over several lines.
const MAX_LINES: usize = 200;

/// Separates the findings that a comment ignores: in their line, or above the line or the instruction.
pub fn separate(findings: Vec<Finding>) -> (Vec<Finding>, Vec<IgnoredFinding>) {
    let mut texts: HashMap<String, Option<String>> = HashMap::new();
    let mut left = Vec::new();
    let mut ignored = Vec::new();
    for finding in findings {
        let reason = finding.location.as_ref().and_then(|place| {
            let load = || lint::load(Path::new(&place.file), lint::MAX_FILE).ok();
            let text = texts.entry(place.file.clone()).or_insert_with(load);
            reason(text.as_deref()?, place.line, &finding.rule)
        });
        match reason {
            Some(reason) => ignored.push(IgnoredFinding {
                finding,
                ignore: IgnoreReason {
                    reason,
                    expires: None,
                },
            }),
            None => left.push(finding),
        }
    }
    (left, ignored)
}

/// The reason of a comment that ignores a rule in a line, counted from 1.
fn reason(text: &str, line: usize, rule: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let (own, above) = lines.split_last()?;
    let before = above.iter().rev().take(MAX_LINES);
    // Comments, and the lines that this one continues.
    let before = before
        .take_while(|line| line.trim_start().starts_with('#') || line.trim_end().ends_with('\\'));
    std::iter::once(own)
        .chain(before)
        .find_map(|line| comment(line, rule))
}

fn comment(line: &str, rule: &str) -> Option<String> {
    let (_, rest) = line.split_once("# imgcheck: ignore[")?;
    let (rules, reason) = rest.split_once(']')?;
    let named = rules.split(',').any(|named| named.trim() == rule);
    let reason = reason.trim();
    (named && !reason.is_empty()).then(|| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_ignore_a_rule_with_a_reason() {
        let text = "# imgcheck: ignore[a, b] as agreed\nRUN x \\\n  y\n\nz # imgcheck: ignore[c] why\n# imgcheck: ignore[d]\nq\n";
        let of = |line, rule| reason(text, line, rule);
        assert_eq!(of(2, "a").as_deref(), Some("as agreed"));
        assert_eq!(of(3, "b").as_deref(), Some("as agreed"));
        assert_eq!(of(5, "c").as_deref(), Some("why"));
        for (line, rule) in [(2, "c"), (5, "a"), (7, "d"), (1, "z")] {
            assert_eq!(of(line, rule), None, "{line} {rule}");
        }
    }
}
