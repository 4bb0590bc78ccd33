//! What small programs write to their standard output, where the image decides that.

use super::locate::{Files, Located, absolute, locate};
use super::process::Process;
use super::value::{Status, Value};
use imgcheck_base::lexical::name_of;
use imgcheck_image::Node;

/// Maximum length of a text that `cat` and `sed` hand on, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// How a program ends, and what it writes, without options that are not known here; `None` if that is unknown.
pub(crate) fn output(name: &str, process: &Process, files: &Files) -> Option<(Status, String)> {
    match name {
        "ls" => listed(process, files),
        "which" => found(process, files),
        name => written(name, process, files).map(|text| (Status::Success, text)),
    }
}

/// `ls` of files: several come in an order that depends on the locale.
fn listed(process: &Process, files: &Files) -> Option<(Status, String)> {
    let texts: Option<Vec<&str>> = process.arguments[1..].iter().map(Value::known).collect();
    let texts = texts?;
    let names = texts.strip_prefix(&["-1"]).unwrap_or(&texts);
    if names.is_empty() || names.iter().any(|it| it.starts_with('-')) {
        return None;
    }
    let mut existing = Vec::new();
    for name in names {
        let path = absolute(name, &process.directory).filter(|it| !(files.is_unknown)(it))?;
        match files.root.resolve_as(&path, &files.user.credentials) {
            Ok(node) if node.is_directory() => return None,
            Ok(_) => existing.push(*name),
            Err(_) => {}
        }
    }
    let status = match existing.len() == names.len() {
        true => Status::Success,
        false => Status::Failure(Some(2)),
    };
    match existing.as_slice() {
        [] => Some((status, String::new())),
        [name] => Some((status, format!("{name}\n"))),
        _ => None,
    }
}

/// `which` of one program.
fn found(process: &Process, files: &Files) -> Option<(Status, String)> {
    let [_, name @ Value::Known(_)] = process.arguments.as_slice() else {
        return None;
    };
    let asked = Process {
        arguments: vec![name.clone()],
        ..process.clone()
    };
    match locate(files, &asked) {
        Located::File(path, _) => Some((Status::Success, format!("{path}\n"))),
        Located::Missing => Some((Status::Failure(Some(1)), String::new())),
        Located::Unknown(_) => None,
    }
}

/// What a program writes if it succeeds.
fn written(name: &str, process: &Process, files: &Files) -> Option<String> {
    let Files { root, user, .. } = files;
    let texts: Option<Vec<&str>> = process.arguments[1..].iter().map(Value::known).collect();
    let texts = texts?;
    let path = |text: &str| absolute(text, &process.directory).filter(|it| !(files.is_unknown)(it));
    let line = |text: &str| Some(format!("{text}\n"));
    match (name, texts.as_slice()) {
        ("dirname", [path] | ["--", path]) => line(directory_name(path)),
        ("basename", [path] | ["--", path]) => line(name_of(path.trim_end_matches('/'))),
        ("basename", [path, suffix]) => {
            let name = name_of(path.trim_end_matches('/'));
            line(
                name.strip_suffix(suffix)
                    .filter(|it| !it.is_empty())
                    .unwrap_or(name),
            )
        }
        ("readlink", ["-f" | "-e", file]) | ("realpath", [file] | ["-e", file]) => {
            line(&root.resolve(&path(file)?).ok()?.path())
        }
        ("readlink", [file]) => line(root.entry(&path(file)?)?.symlink_target()?),
        ("id", ["-u"]) => line(&user.id?.to_string()),
        ("id", ["-un"]) | ("whoami", []) if !user.name.is_empty() => line(&user.name),
        ("cat", [file]) => {
            let text = root.resolve(&path(file)?).ok().and_then(Node::text)?;
            (text.len() <= MAX_TEXT).then(|| text.to_owned())
        }
        ("cat", []) => Some(process.input.known()?.to_owned()),
        ("sed", [script] | ["-e", script]) => substituted(process.input.known()?, script),
        ("echo", words)
            if !words
                .iter()
                .any(|it| it.starts_with('-') || it.contains('\\')) =>
        {
            line(&words.join(" "))
        }
        _ => None,
    }
}

/// What `sed` makes of a text with `s/a/b/`, if both are plain texts.
fn substituted(text: &str, script: &str) -> Option<String> {
    let rest = script.strip_prefix('s')?;
    let separator = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let parts: Vec<&str> = rest.split(separator).collect();
    let [_, from, to, flags @ ("" | "g")] = parts.as_slice() else {
        return None;
    };
    let is_plain = |part: &str| !part.contains(['.', '*', '[', ']', '^', '$', '\\', '&', '\n']);
    if from.is_empty() || !is_plain(from) || !is_plain(to) {
        return None;
    }
    // It may become much longer.
    let longest = text.len() + text.matches(from).count() * to.len();
    if longest > MAX_TEXT {
        return None;
    }
    let lines = text.split('\n').map(|line| match *flags {
        "g" => line.replace(from, to),
        _ => line.replacen(from, to, 1),
    });
    let lines: Vec<String> = lines.collect();
    Some(lines.join("\n"))
}

/// What `dirname` makes of a path (POSIX.1-2024, `dirname`).
fn directory_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        None if trimmed.is_empty() && !path.is_empty() => "/",
        None => ".",
        Some((directory, _)) => match directory.trim_end_matches('/') {
            "" => "/",
            directory => directory,
        },
    }
}
