//! Variables in Dockerfiles and shell scripts: `$X`, `${X:-default}`, `${X%.*}`, `${X//./}`.

/// Looks up the value of a variable.
pub type Values<'v> = &'v dyn Fn(&str) -> Option<String>;

/// The maximum nesting of defaults.
const MAX_DEPTH: usize = 8;

/// The maximum length of an expanded text, in bytes: `ENV A=$A$A` doubles it each time.
const MAX_TEXT: usize = 4 * 1024;

/// An expanded text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The text; variables without a known value stays as written.
    pub text: String,
    /// Whether every variable had a value.
    pub known: bool,
}

impl Expanded {
    /// An empty text.
    pub fn empty() -> Self {
        Expanded {
            text: String::new(),
            known: true,
        }
    }

    /// Whether nothing more may be added. A text that ends before the end is not known.
    pub fn is_full(&mut self) -> bool {
        let is_full = self.text.len() > MAX_TEXT;
        self.known &= !is_full;
        is_full
    }

    /// Adds what a variable, `$(command)` or `` `command` `` of a shell is expanded to.
    pub fn push_expansion(&mut self, written: &str, values: Values<'_>) {
        self.push_value(written, value(written, Some('\\'), values, 0));
    }

    /// Adds a value, or what is written if it is unknown.
    fn push_value(&mut self, written: &str, value: Option<String>) {
        self.known &= value.is_some();
        self.text.push_str(value.as_deref().unwrap_or(written));
    }
}

/// Expands the variables of a text without quotes, as in a Compose file: `$$` is a dollar sign.
pub fn interpolate(raw: &str, values: Values<'_>) -> Expanded {
    expand(raw, None, values, 0)
}

/// Removes quotes and escapes from a text and expands its variables.
pub fn unquote(raw: &str, escape: char, values: Values<'_>) -> Expanded {
    expand(raw, Some(escape), values, 0)
}

/// Expands a text. With an escape character, quotes and commands in backquotes have a meaning.
fn expand(raw: &str, escape: Option<char>, values: Values<'_>, depth: usize) -> Expanded {
    let quotes = escape.is_some();
    let mut out = Expanded::empty();
    let mut rest = raw;
    let mut double = false;
    while let Some(c) = rest.chars().next() {
        if out.is_full() {
            break;
        }
        let after = &rest[c.len_utf8()..];
        if c == '\'' && !double && quotes {
            let (literal, behind) = after.split_once('\'').unwrap_or((after, ""));
            out.text.push_str(literal);
            rest = behind;
        } else if c == '"' && quotes {
            double = !double;
            rest = after;
        } else if Some(c) == escape {
            let next = after.chars().next();
            if double && !matches!(next, Some('$' | '"' | '`' | '\\')) {
                out.text.push(c);
            }
            out.text.extend(next);
            rest = &after[next.map_or(0, char::len_utf8)..];
        } else if c == '$' && !quotes && after.starts_with('$') {
            out.text.push(c);
            rest = &after[1..];
        } else if c == '$' || (c == '`' && quotes) {
            let (written, behind) = rest.split_at(expression(rest));
            out.push_value(written, value(written, escape, values, depth));
            rest = behind;
        } else {
            out.text.push(c);
            rest = after;
        }
    }
    out
}

/// The length of the expression at the start of a text: a variable, `$(command)`, `` `command` ``, or a single `$`.
pub fn expression(text: &str) -> usize {
    let mut characters = text.char_indices();
    let first = characters.next().map(|(_, c)| c);
    if first == Some('`') {
        return text[1..].find('`').map_or(text.len(), |end| end + 2);
    }
    match characters.next() {
        Some((_, open @ ('{' | '('))) => {
            let close = if open == '{' { '}' } else { ')' };
            let mut depth = 1;
            for (at, c) in characters {
                depth += usize::from(c == open);
                depth -= usize::from(c == close);
                if depth == 0 {
                    return at + 1;
                }
            }
            text.len()
        }
        Some((_, c)) if is_name(c) && !c.is_ascii_digit() => text[1..]
            .find(|c| !is_name(c))
            .map_or(text.len(), |end| end + 1),
        Some((_, c)) if c.is_ascii_digit() || "@*#?$!-".contains(c) => 2,
        _ => 1,
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The value of an expression; a single `$` is literal.
fn value(
    expression: &str,
    escape: Option<char>,
    values: Values<'_>,
    depth: usize,
) -> Option<String> {
    let inner = match expression.strip_prefix('$')? {
        "" => return Some("$".to_owned()),
        rest => match rest.strip_prefix('{') {
            Some(braced) => braced.strip_suffix('}')?,
            None => rest,
        },
    };
    let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
    let (name, operation) = inner.split_at(end);
    if name.is_empty() || depth >= MAX_DEPTH {
        return None;
    }
    let set = values(name);
    let (is_filled, operation) = match operation.strip_prefix(':') {
        Some(operation) => (true, operation),
        None => (false, operation),
    };
    let set = set.filter(|value| !is_filled || !value.is_empty());
    let other = |text: &str| {
        let expanded = expand(text, escape, values, depth + 1);
        expanded.known.then_some(expanded.text)
    };
    let mut characters = operation.chars();
    match (characters.next(), characters.as_str()) {
        (Some('?'), _) => set,
        (Some('-' | '='), text) => set.or_else(|| other(text)),
        (Some('+'), text) => set.map_or(Some(String::new()), |_| other(text)),
        _ if is_filled => None,
        (None, _) => set,
        (Some(sign @ ('%' | '#')), pattern) => Some(trimmed(&set?, sign, pattern)),
        (Some('/'), text) => replaced(&set?, text),
        _ => None,
    }
}

/// `${X%pattern}` removes the shortest matching suffix, `${X%%pattern}` the longest, `#` a prefix.
fn trimmed(value: &str, sign: char, pattern: &str) -> String {
    let (is_longest, pattern) = match pattern.strip_prefix(sign) {
        Some(pattern) => (true, pattern),
        None => (false, pattern),
    };
    let is_suffix = sign == '%';
    let split = |at: usize| match value.split_at(at) {
        (kept, cut) if is_suffix => (kept, cut),
        (cut, kept) => (kept, cut),
    };
    let places = value.char_indices().map(|(at, _)| at);
    let kept = places.chain([value.len()]).map(split);
    let mut kept = kept.filter(|(_, cut)| fits(cut, pattern));
    let found = match is_longest == is_suffix {
        true => kept.next(),
        false => kept.next_back(),
    };
    found.map_or(value, |(kept, _)| kept).to_owned()
}

/// `${X/a/b}` replaces the first occurrence, `${X//a/b}` all. Patterns are not supported.
fn replaced(value: &str, operation: &str) -> Option<String> {
    let (all, operation) = match operation.strip_prefix('/') {
        Some(operation) => (true, operation),
        None => (false, operation),
    };
    let (from, to) = operation.split_once('/').unwrap_or((operation, ""));
    let from = from.replace('\\', "");
    if from.is_empty() || from.contains(['*', '?', '[']) || to.contains('$') {
        return None;
    }
    Some(if all {
        value.replace(&from, to)
    } else {
        value.replacen(&from, to, 1)
    })
}

/// Whether a text matches a pattern with at most one `*`.
fn fits(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((start, end)) => {
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str) -> Option<String> {
        let value = match name {
            "CUDA" => "12.4.1",
            "EMPTY" => "",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn variables_are_expanded_as_docker_and_shells_do() {
        for (raw, text, known) in [
            ("a$CUDA-b", "a12.4.1-b", true),
            ("${CUDA}", "12.4.1", true),
            ("${CUDA%.*}", "12.4", true),
            ("${CUDA%%.*}", "12", true),
            ("${CUDA#*.}", "4.1", true),
            ("${CUDA##*.}", "1", true),
            ("cu${CUDA//./}", "cu1241", true),
            ("${CUDA/./_}", "12_4.1", true),
            ("${NONE:-${CUDA}}", "12.4.1", true),
            ("${EMPTY:-x}${EMPTY-y}", "x", true),
            ("${NONE:+x}${CUDA:+y}", "y", true),
            ("'$CUDA' \"$CUDA\"", "$CUDA 12.4.1", true),
            ("\\$CUDA", "$CUDA", true),
            ("$NONE/x", "$NONE/x", false),
            ("$(nvcc --version)x", "$(nvcc --version)x", false),
            ("`a`", "`a`", false),
            ("100$", "100$", true),
            ("${CUDA:0:2}", "${CUDA:0:2}", false),
            ("${", "${", false),
        ] {
            let expanded = unquote(raw, '\\', &values);
            assert_eq!(
                (expanded.text.as_str(), expanded.known),
                (text, known),
                "{raw}"
            );
        }
    }

    #[test]
    fn texts_without_quotes_are_expanded_as_compose_does() {
        for (raw, text, known) in [
            ("a:${TAG:-1.0}", "a:1.0", true),
            ("${A-'b'}$$c", "'b'$c", true),
            ("${A:-${CUDA}}\\x", "12.4.1\\x", true),
            ("${A}", "${A}", false),
            ("${A:-", "${A:-", false),
            ("`a`\"$CUDA\"", "`a`\"12.4.1\"", true),
        ] {
            let expanded = interpolate(raw, &values);
            assert_eq!(
                (expanded.text.as_str(), expanded.known),
                (text, known),
                "{raw}"
            );
        }
    }

    #[test]
    fn nested_defaults_are_limited() {
        let nested = format!("{}x{}", "${A:-".repeat(5000), "}".repeat(5000));
        assert!(!unquote(&nested, '\\', &values).known);
    }
}
