//! What an entrypoint script sets LD_LIBRARY_PATH to. Only plain assignments are read: literal text and the previous value.

/// The variable that entrypoint scripts are searched for.
pub(super) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Linux accepts no longer environment string (`MAX_ARG_STRLEN`, `include/uapi/linux/binfmts.h`).
const MAX_ARG_STRLEN: usize = 128 << 10;

/// The value that a shell script gives LD_LIBRARY_PATH; `None` if it sets none or computes one.
pub(super) fn library_path(script: &str, before: &str) -> Option<String> {
    let mut value: Option<String> = None;
    for line in script.lines() {
        let before = value.as_deref().unwrap_or(before);
        // An indented line may depend on a condition, and a variable that was not in the environment is not exported.
        let exported = line.strip_prefix("export ").map(str::trim_start);
        let assignment = exported.or((!before.is_empty()).then_some(line));
        let text = assignment.and_then(|it| it.strip_prefix(LIBRARY_PATH)?.strip_prefix('='));
        if let Some(text) = text {
            value = Some(expand(text, before)?);
        }
    }
    value
}

/// Expands the variable itself in a shell word; `None` if the word contains anything else that a shell would expand.
fn expand(text: &str, before: &str) -> Option<String> {
    if text.len() + text.matches('$').count() * (before.len() + 1) > MAX_ARG_STRLEN {
        return None;
    }
    let quoted = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let literal = text
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''));
    let (word, rest) = match (quoted, literal) {
        (Some(parts), _) => parts,
        (None, Some((word, _))) => return Some(word.to_owned()),
        (None, None) => text.split_at(text.find([' ', '\t', ';']).unwrap_or(text.len())),
    };
    // `LD_LIBRARY_PATH=/x program` sets the variable of that program only.
    let after = rest.trim_start();
    let ends = after.is_empty() || after.starts_with([';', '#']) || after.starts_with("&&");
    if !ends || (after.starts_with('#') && after.len() == rest.len()) {
        return None;
    }
    let (colon_before, colon_after) = match before {
        "" => (String::new(), String::new()),
        before => (format!(":{before}"), format!("{before}:")),
    };
    let word = word
        .replace("${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}", &colon_before)
        .replace("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}", &colon_before)
        .replace("${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH}:}", &colon_after)
        .replace("${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}", &colon_after)
        .replace("${LD_LIBRARY_PATH:-}", before)
        .replace("${LD_LIBRARY_PATH}", before)
        .replace("$LD_LIBRARY_PATH", before);
    let is_plain = !word.contains(['$', '`', '\\', '"', '\'', '*', '~', '(']);
    is_plain.then_some(word)
}
