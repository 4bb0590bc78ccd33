//! Patterns for names, paths and messages.

/// Whether a text matches a pattern in which `*` stands for any number of characters, `?` for exactly one, and every other
/// character for itself. The time is at most the product of both lengths.
pub fn glob(text: &str, pattern: &str) -> bool {
    // What comes before the first of them decides most questions.
    let Some(plain) = pattern.find(['*', '?']) else {
        return text == pattern;
    };
    let Some(text) = text.strip_prefix(&pattern[..plain]) else {
        return false;
    };
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern[plain..].chars().collect());
    let (mut at, mut next) = (0, 0);
    // Position of the last `*`, and how much text it covers: one more character after each mismatch.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(next) {
            Some('*') => {
                star = Some((next, at));
                next += 1;
            }
            Some(&c) if c == '?' || c == text[at] => {
                at += 1;
                next += 1;
            }
            _ => match star {
                Some((star_next, reach)) => {
                    star = Some((star_next, reach + 1));
                    next = star_next + 1;
                    at = reach + 1;
                }
                None => return false,
            },
        }
    }
    pattern[next..].iter().all(|c| *c == '*')
}

/// Whether a text matches one of the patterns, each as in [`glob`].
pub fn matches_any(text: &str, patterns: &[impl AsRef<str>]) -> bool {
    patterns.iter().any(|it| glob(text, it.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match_and_brackets_are_literal() {
        assert!(glob("abc", "a*c"));
        assert!(glob("abc", "*"));
        assert!(glob("", "*"));
        assert!(glob("aXbXc", "*X?"));
        assert!(!glob("abc", "a*d"));
        assert!(!glob("abc", "ab"));
        assert!(glob("a[b{c", "a[b{?"));
    }
}
