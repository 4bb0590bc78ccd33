//! Lists of patterns, as the table has them.

use imgcheck_base::glob::glob;

/// Whether one of the patterns matches.
pub(super) fn matches_any(text: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|it| glob(text, it))
}
