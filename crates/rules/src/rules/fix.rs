//! Replacements in the line of a finding: fixes that cannot be wrong.

use schemars::JsonSchema;
use serde::Deserialize;

use imgcheck_model::finding::Location;

/// A text in the line of a finding, and what to write instead.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// The text to replace. It applies if it contains the location of the finding, or touches a location of no characters.
    pub old: String,
    /// What to write instead.
    pub new: String,
}

/// The line of a location as the first fix that applies leaves it. Nothing is replaced after a backslash or beside single quotes, which
/// give characters a different meaning.
pub fn fixed_line(fixes: &[Fix], location: &Location) -> Option<String> {
    let line = &location.text;
    if line.contains('\'') {
        return None;
    }
    let byte = |column: usize| {
        let mut starts = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        starts.nth(column.checked_sub(1)?)
    };
    let start = byte(location.column)?;
    // Nothing at the end of a line is shown as one character.
    let end = byte(location.end_column).unwrap_or(start);
    let lines = fixes.iter().filter(|fix| !fix.old.is_empty()).map(|fix| {
        let all = line.char_indices().map(|(at, _)| at);
        let mut places = all.filter(|&at| line[at..].starts_with(&fix.old));
        let at = places.find(|&at| at <= start && end <= at + fix.old.len())?;
        let (before, rest) = (&line[..at], &line[at + fix.old.len()..]);
        (!before.ends_with('\\')).then(|| format!("{before}{}{rest}", fix.new))
    });
    lines.flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(line: &str, column: usize, end_column: usize) -> Option<String> {
        let fix = |old: &str, new: &str| Fix {
            old: old.to_owned(),
            new: new.to_owned(),
        };
        let location = Location {
            column,
            end_column,
            text: line.to_owned(),
            ..Location::default()
        };
        fixed_line(
            &[fix(":$X", "${X:+:$X}"), fix("::", ":"), fix(":", "")],
            &location,
        )
    }

    #[test]
    fn only_what_contains_the_location_is_replaced() {
        assert_eq!(
            fixed("ENV é=/a:$X", 10, 12).as_deref(),
            Some("ENV é=/a${X:+:$X}")
        );
        // The whole line is not what is wrong.
        assert_eq!(fixed("ENV A=/a:$X", 1, 12), None);
        assert_eq!(fixed("A=b::c", 5, 5).as_deref(), Some("A=b:c"));
        assert_eq!(fixed("A=b:", 5, 5).as_deref(), Some("A=b"));
        assert_eq!(fixed("A=:b", 3, 3).as_deref(), Some("A=b"));
        assert_eq!(fixed("A=b c", 4, 4), None);
        assert_eq!(fixed("A=b:", 5, 6).as_deref(), Some("A=b"));
        for (line, column) in [("A=:b", 0), ("A=:b", 9), ("A=b\\:", 6), ("A='b:'", 6)] {
            assert_eq!(fixed(line, column, column), None);
        }
    }
}
