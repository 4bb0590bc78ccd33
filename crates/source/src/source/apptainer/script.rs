//! The scripts that Apptainer writes: environment variables, and the command of a container image. Other scripts are left to the
//! model of the shell.

use std::collections::BTreeMap;

/// The variables that a script sets, added to those that are set already. `None` if it does anything else.
pub(super) fn exports(script: &str, known: &mut BTreeMap<String, String>) -> Option<()> {
    for line in script.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, text) = line.strip_prefix("export ")?.split_once('=')?;
        if !is_name(name) {
            return None;
        }
        let value = value(name, text, known)?;
        known.insert(name.to_owned(), value);
    }
    Some(())
}

/// A value as Apptainer writes it for the variables of a container image, `"${NAME:-"VALUE"}"`, or as people write it.
fn value(name: &str, text: &str, known: &BTreeMap<String, String>) -> Option<String> {
    let default = text.strip_prefix(&format!("\"${{{name}:-"));
    if let Some(inner) = default.and_then(|rest| rest.strip_suffix("}\"")) {
        let quoted = inner
            .strip_prefix('"')
            .and_then(|inner| inner.strip_suffix('"'));
        return expanded(quoted.unwrap_or(inner), known);
    }
    if let Some(inner) = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        return expanded(inner, known);
    }
    if let Some(inner) = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        return (!inner.contains('\'')).then(|| inner.to_owned());
    }
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || "_./:=,+@%-${}".contains(letter);
    text.chars().all(is_plain).then(|| expanded(text, known))?
}

/// Text between double quotes.
fn expanded(text: &str, known: &BTreeMap<String, String>) -> Option<String> {
    let mut value = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => value.push(rest.next().filter(|next| "\\\"$`".contains(*next))?),
            '"' | '`' => return None,
            '$' => {
                let after = rest.as_str();
                let (name, left) = match after.strip_prefix('{') {
                    Some(inner) => inner.split_once('}')?,
                    None => {
                        let end =
                            after.find(|next: char| !next.is_ascii_alphanumeric() && next != '_');
                        after.split_at(end.unwrap_or(after.len()))
                    }
                };
                if !is_name(name) {
                    return None;
                }
                value.push_str(known.get(name).map_or("", String::as_str));
                rest = left.chars();
            }
            letter => value.push(letter),
        }
    }
    Some(value)
}

/// The words of a variable of the script that runs a container image: `OCI_CMD='"python3" "-c"'`. `None` if it does not set it, or not
/// in this way.
pub(super) fn words(script: &str, variable: &str) -> Option<Vec<String>> {
    let mut lines = script.lines();
    let text = lines.find_map(|line| line.strip_prefix(variable)?.strip_prefix("='"))?;
    let text = text
        .strip_suffix('\'')
        .filter(|text| !text.contains('\''))?;
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let inner = rest.strip_prefix('"')?;
        let end = closing_quote(inner)?;
        words.push(expanded_literal(&inner[..end])?);
        rest = inner[end + 1..].trim_start();
    }
    Some(words)
}

/// A word in which nothing is expanded.
fn expanded_literal(text: &str) -> Option<String> {
    let expands = text.replace("\\$", "").contains('$');
    (!expands).then(|| expanded(text, &BTreeMap::new()))?
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    })
}

fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn variables(script: &str) -> Option<BTreeMap<String, String>> {
        let mut known = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
        exports(script, &mut known).map(|()| known)
    }

    #[test]
    fn variables_of_container_images_and_of_people() {
        let script = concat!(
            "#!/bin/sh\n",
            "export PATH=\"/opt/bin:$PATH\"\n",
            "export CUDA_VERSION=\"${CUDA_VERSION:-\"12.8.1\"}\"\n",
            "export OLD=\"${OLD:-old}\"\n",
            "export ODD=\"a \\$b \\\"c\\\"\"\n",
            "  export ONE='$PATH'\n",
            "export TWO=${PATH}/x\n",
        );
        let found = variables(script).unwrap();
        for (name, value) in [
            ("PATH", "/opt/bin:/bin"),
            ("CUDA_VERSION", "12.8.1"),
            ("OLD", "old"),
            ("ODD", "a $b \"c\""),
            ("ONE", "$PATH"),
            ("TWO", "/opt/bin:/bin/x"),
        ] {
            assert_eq!(found[name], value, "{name}");
        }
    }

    #[test]
    fn what_else_a_script_does_is_not_guessed() {
        for line in [
            "export A=$(nproc)",
            "export A=\"`nproc`\"",
            "export A=\"${A:+x}\"",
            "export A=1; rm x",
            "source /opt/setvars.sh",
            "A=1",
            "export A B",
            "export A=\"x",
        ] {
            assert_eq!(variables(line), None, "{line}");
        }
    }

    #[test]
    fn the_command_of_a_container_image() {
        let script = "#!/bin/sh\nOCI_ENTRYPOINT='\"/opt/entry point.sh\" \"a\\\"b\"'\nOCI_CMD=''\n";
        assert_eq!(
            words(script, "OCI_ENTRYPOINT").unwrap(),
            ["/opt/entry point.sh", "a\"b"]
        );
        assert_eq!(words(script, "OCI_CMD").unwrap(), [""; 0]);
        assert_eq!(words("OCI_CMD='\"$HOME\"'", "OCI_CMD"), None);
        assert_eq!(words("OCI_CMD='\"open'", "OCI_CMD"), None);
        assert_eq!(words("exec python3", "OCI_CMD"), None);
    }
}
