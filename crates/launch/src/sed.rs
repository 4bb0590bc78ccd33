//! Scripts of `sed` (POSIX.1-2024, `sed`; GNU sed manual).

/// Commands without arguments.
const PLAIN: &str = "=dDgGhHnNpPxz";

/// Whether a script only edits text. False for one that writes a file (`w`), runs a program (`e`), or is not understood.
pub(crate) fn only_edits(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}', '{']);
        if rest.is_empty() {
            return true;
        }
        match command(rest) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
}

/// Passes an address and a command.
fn command(text: &str) -> Option<&str> {
    let mut rest = address(text)?;
    if let Some(behind) = rest.trim_start().strip_prefix(',') {
        let behind = behind.trim_start().trim_start_matches(['+', '~']);
        rest = address(behind)?;
    }
    let rest = rest.trim_start_matches([' ', '\t', '!']);
    let name = rest.chars().next()?;
    let behind = &rest[name.len_utf8()..];
    match name {
        '{' => Some(behind),
        'q' | 'Q' | 'l' => {
            Some(behind.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()))
        }
        's' | 'y' => {
            let separator = behind.chars().next().filter(char::is_ascii_punctuation)?;
            let text = passed(&behind[1..], separator)?;
            let flags = passed(text, separator)?;
            let end = flags.find([' ', '\t', '\n', ';', '}']);
            let (flags, behind) = flags.split_at(end.unwrap_or(flags.len()));
            let is_known = |c: char| "gpiImM".contains(c) || c.is_ascii_digit();
            flags.chars().all(is_known).then_some(behind)
        }
        'b' | 't' | 'T' | ':' => Some(behind.trim_start_matches(|c| !"\n;}".contains(c))),
        'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
            let mut lines = behind.split_inclusive('\n');
            let is_continued = |line: &&str| name != '#' && line.ends_with("\\\n");
            let length: usize = lines.by_ref().take_while(is_continued).map(str::len).sum();
            let last = behind[length..].find('\n');
            Some(&behind[last.map_or(behind.len(), |end| length + end)..])
        }
        name if PLAIN.contains(name) => ended(behind),
        _ => None,
    }
}

/// What follows a command without arguments has to end it.
fn ended(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with(['\n', ';', '}', '#'])).then_some(rest)
}

/// Passes a line number, `$` or a pattern, if one is here.
fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(text.trim_start_matches(|c: char| c == '~' || c.is_ascii_digit()));
    }
    let (separator, rest) = match text.strip_prefix('\\') {
        Some(rest) => (
            rest.chars().next().filter(char::is_ascii_punctuation)?,
            &rest[1..],
        ),
        None => match text.strip_prefix('/') {
            Some(rest) => ('/', rest),
            None => return Some(text),
        },
    };
    passed(rest, separator).map(|rest| rest.trim_start_matches(['I', 'M']))
}

/// The text behind the next separator that is not escaped.
fn passed(text: &str, separator: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == separator => return Some(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_edit_are_harmless() {
        for script in [
            "s/a/b/",
            "s|a|b\\|w|g; s,x,y,2p",
            "/^#/d",
            "1,/end/!s/a/b/gI;$q",
            "/x/{s/a/b/;p}\n2~3d",
            "\\,x,a\\\nw file\\\nmore\np",
            "a w file",
            ":x;s/a/b/;tx",
            "y/abc/xyz/",
            "# w file",
            "$!N",
            "10q",
        ] {
            assert!(only_edits(script), "{script}");
        }
        for script in [
            "w f",
            "s/a/b/w f",
            "s/a/b/e",
            "1e id",
            "/x/w f",
            "p;w f",
            "a x\nw f",
            "$!{w f",
            "p w f",
            "s/a/b/gw f",
            "W f",
            "e",
            "F",
            "#x\nw f",
            ":x\nw f",
            "s/a",
            "pw f",
            "1,2 w f",
            "/x/I,+2w f",
        ] {
            assert!(!only_edits(script), "{script}");
        }
    }
}
