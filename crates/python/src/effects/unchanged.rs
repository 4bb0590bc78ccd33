//! Whether anything may change a list or a dictionary of a module.

use memchr::memmem;

/// Methods that change nothing.
const READING: [&str; 6] = ["copy", "count", "get", "items", "keys", "values"];

/// Functions that keep nothing of their argument.
const READERS: [&str; 8] = [
    "dict",
    "enumerate",
    "frozenset",
    "len",
    "list",
    "set",
    "sorted",
    "tuple",
];

/// Whether no text of a module may change what a name is bound to once: no method, no item that is set, no other name for it. The bodies of all
/// functions count, whether they are parsed or not.
pub(super) fn is_unchanged(source: &str, name: &str) -> bool {
    let mut places = memmem::find_iter(source.as_bytes(), name.as_bytes());
    places.all(|at| {
        let (before, rest) = source.split_at(at);
        let after = rest.get(name.len()..).unwrap_or_default();
        let is_other = before.ends_with(is_of_name) || after.starts_with(is_of_name);
        is_other || !is_passed(before) && !is_set(after)
    })
}

fn is_of_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// Whether what stands before a name gives its value to something else.
fn is_passed(before: &str) -> bool {
    let before = before.trim_end();
    if let Some(call) = before.strip_suffix('(') {
        let start = call.rfind(|it| !is_of_name(it)).map_or(0, |at| at + 1);
        let function = call.get(start..).unwrap_or_default();
        return !function.is_empty() && !READERS.contains(&function);
    }
    let is_compared = ["==", "!="].iter().any(|it| before.ends_with(it));
    before.ends_with([',', '=', ':', '[', '.']) && !is_compared && !is_block(before)
}

/// Whether a colon ends the head of a block, after which a name starts a statement.
fn is_block(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let word = line
        .trim_start()
        .split([' ', ':'])
        .next()
        .unwrap_or_default();
    let heads = [
        "async", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while",
        "with",
    ];
    before.ends_with(':') && heads.contains(&word)
}

/// Whether what stands after a name changes its value.
fn is_set(after: &str) -> bool {
    let after = after.trim_start_matches(' ');
    if let Some(method) = after.strip_prefix('.') {
        let end = method.find(|it| !is_of_name(it)).unwrap_or(method.len());
        return !READING.contains(&method.get(..end).unwrap_or_default());
    }
    let after = match after.strip_prefix('[') {
        Some(item) => match item.split_once(']') {
            Some((key, after)) if !key.contains(['[', '\n']) => after.trim_start(),
            _ => return true,
        },
        // The place where it is bound.
        None => match after.strip_prefix('=') {
            Some(value) if !value.starts_with('=') => value,
            _ => after,
        },
    };
    let is_assigned = after.starts_with('=') && !after.starts_with("==");
    is_assigned
        || ["+=", "|=", "-=", "&=", "^="]
            .iter()
            .any(|it| after.starts_with(it))
}
