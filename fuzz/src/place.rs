//! Positions in the files of an input.

use std::collections::HashMap;

use imgcheck_model::finding::Location;

/// Checks that a position is in its file, and shows its line.
///
/// # Panics
/// It is not.
pub fn check(place: &Location, files: &HashMap<&str, &str>) {
    let text = files
        .get(place.file.as_str())
        .unwrap_or_else(|| panic!("no such file: {place:?}"));
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text
        .split('\n')
        .nth(place.line - 1)
        .unwrap_or_else(|| panic!("no such line: {place:?}"));
    assert!(
        line.starts_with(&place.text),
        "{place:?}: the line is {line:?}"
    );
    // The place behind the last character is one, too.
    assert!(
        place.column >= 1 && place.column <= line.chars().count() + 1,
        "{place:?}"
    );
    assert!(place.end_column > place.column, "{place:?}");
}
