//! Patterns of `case`, `${x%…}` and pathname expansion (POSIX.1-2024, Shell Command Language, 2.14).

/// A character of a pattern, and whether it is literal.
pub(super) type PatternChar = (char, bool);

/// One element of a pattern.
#[derive(Debug)]
enum Element {
    Char(char),
    Any,
    Star,
    /// The ranges, and whether they are excluded.
    Set(Vec<(char, char)>, bool),
}

/// Whether a pattern has characters that match others. A `[` without `]`, as in the command `[`, is literal.
pub(super) fn is_pattern(text: &[PatternChar]) -> bool {
    let mut characters = text.iter();
    while let Some((c, literal)) = characters.next() {
        match c {
            _ if *literal => {}
            '*' | '?' | '(' => return true,
            '[' if characters.as_slice().iter().any(|(c, _)| *c == ']') => return true,
            _ => {}
        }
    }
    false
}

/// Maximum number of patterns that one with `@(…|…)` expands to.
const MAX_ALTERNATIVES: usize = 64;

/// A pattern, read: what matches one of these matches.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Single>);

#[derive(Debug)]
struct Single(Vec<Element>);

impl Pattern {
    /// Reads a pattern; `None` for what is not modeled: classes such as `[:alpha:]`, and what depends on the locale. `@(a|b)` is one
    /// with the option `extglob` of bash.
    pub fn new(text: &[PatternChar], extglob: bool) -> Option<Self> {
        let mut pending = vec![text.to_vec()];
        let mut singles = Vec::new();
        while let Some(text) = pending.pop() {
            match group(&text).filter(|_| extglob) {
                None => singles.push(Single::new(&text)?),
                Some(group) => {
                    let choices = group.choices?;
                    pending.extend(
                        choices.into_iter().map(|choice| {
                            [&text[..group.start], choice, &text[group.end..]].concat()
                        }),
                    );
                }
            }
            if pending.len() + singles.len() > MAX_ALTERNATIVES {
                return None;
            }
        }
        Some(Pattern(singles))
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &[char]) -> bool {
        self.0.iter().any(|it| it.matches(text))
    }
}

/// The first `@(…|…)` of a pattern.
struct Group<'t> {
    start: usize,
    end: usize,
    /// `None` for operators other than `@`, and for groups in groups.
    choices: Option<Vec<&'t [PatternChar]>>,
}

fn group(text: &[PatternChar]) -> Option<Group<'_>> {
    let is = |at: usize, wanted: char| text.get(at) == Some(&(wanted, false));
    let open = (0..text.len()).find(|at| is(*at, '('))?;
    let start = open.checked_sub(1)?;
    let close = (open..text.len()).find(|at| is(*at, ')'))?;
    let inside = &text[open + 1..close];
    let is_plain = is(start, '@') && !inside.contains(&('(', false));
    Some(Group {
        start,
        end: close + 1,
        choices: is_plain.then(|| inside.split(|it| *it == ('|', false)).collect()),
    })
}

impl Single {
    fn new(text: &[PatternChar]) -> Option<Self> {
        let mut elements = Vec::new();
        let mut at = 0;
        while let Some(&(c, literal)) = text.get(at) {
            at += 1;
            elements.push(match c {
                _ if literal => Element::Char(c),
                '*' => Element::Star,
                '?' => Element::Any,
                '[' => match set(&text[at..])? {
                    Some((element, length)) => {
                        at += length;
                        element
                    }
                    None => Element::Char('['),
                },
                c => Element::Char(c),
            });
        }
        Some(Single(elements))
    }

    /// The time is at most the product of both lengths.
    fn matches(&self, text: &[char]) -> bool {
        let (mut at, mut next) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            let fits = match self.0.get(next) {
                Some(Element::Star) => {
                    star = Some((next + 1, at));
                    next += 1;
                    continue;
                }
                Some(Element::Any) => true,
                Some(Element::Char(c)) => *c == text[at],
                Some(Element::Set(ranges, excluded)) => {
                    let is_in = |(low, high): &(char, char)| (*low..=*high).contains(&text[at]);
                    ranges.iter().any(is_in) != *excluded
                }
                None => false,
            };
            match (fits, star) {
                (true, _) => {
                    at += 1;
                    next += 1;
                }
                (false, Some((behind, reach))) => {
                    star = Some((behind, reach + 1));
                    next = behind;
                    at = reach + 1;
                }
                (false, None) => return false,
            }
        }
        self.0[next..].iter().all(|it| matches!(it, Element::Star))
    }
}

/// The set after a `[`, with its length; the inner `None` if the bracket is not closed and so literal.
#[allow(clippy::option_option)]
fn set(text: &[PatternChar]) -> Option<Option<(Element, usize)>> {
    let first = text.first().map(|(c, literal)| (*c, *literal));
    let excluded = matches!(first, Some(('!' | '^', false)));
    let start = usize::from(excluded);
    let mut at = start;
    let mut ranges = Vec::new();
    loop {
        let Some(&(c, literal)) = text.get(at) else {
            return Some(None);
        };
        if c == ']' && !literal && at > start {
            return Some(Some((Element::Set(ranges, excluded), at + 1)));
        }
        if c == '/' || (c == '[' && !literal) {
            return None;
        }
        let is_range = matches!(text.get(at + 1), Some(('-', false)))
            && text.get(at + 2).is_some_and(|(c, _)| *c != ']');
        if is_range {
            let high = text[at + 2].0;
            // Other ranges follow the order of the locale.
            if !(c.is_ascii_digit() && high.is_ascii_digit()) {
                return None;
            }
            ranges.push((c, high));
            at += 3;
        } else {
            ranges.push((c, c));
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_bracket_alone_is_no_pattern() {
        for (text, expected) in [
            ("[", false),
            ("[x", false),
            ("]", false),
            ("[x]", true),
            ("a*", true),
        ] {
            let text: Vec<PatternChar> = text.chars().map(|c| (c, false)).collect();
            assert_eq!(is_pattern(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        let matches = |pattern: &str, text: &str| {
            let pattern: Vec<PatternChar> = pattern.chars().map(|c| (c, false)).collect();
            let text: Vec<char> = text.chars().collect();
            Pattern::new(&pattern, true).map(|pattern| pattern.matches(&text))
        };
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c*", "abd", false),
            ("-?", "-x", true),
            ("[!-]*", "-x", false),
            ("[!-]*", "x", true),
            ("[0-9]*", "12", true),
            ("[abc", "[abc", true),
            ("[]a]", "]", true),
            ("*@(.txt|.sh)", "a.sh", true),
            ("*@(.txt|.sh)", "a.sh~", false),
            ("@(a|b*)c", "bxc", true),
        ] {
            assert_eq!(matches(pattern, text), Some(expected), "{pattern} {text}");
        }
        assert_eq!(matches("[[:space:]]", " "), None);
        assert_eq!(matches("!(a)", "b"), None);
        assert_eq!(matches("[a-z]", "B"), None);
    }
}
