//! The state of the shell within one `RUN`.

use std::collections::BTreeMap;

use super::super::install::Argument;
use super::copies::place;
use imgcheck_base::lexical::name_of;
use imgcheck_launch::shell::is_name;

/// Programs that run a script.
pub const SHELLS: &[&str] = &["ash", "bash", "dash", "sh", "zsh"];

/// State within one `RUN`.
#[derive(Default)]
pub struct Session {
    /// Variables of the script; `None` for an unknown value.
    pub variables: BTreeMap<String, Option<String>>,
    /// The activated environment.
    pub active: Option<String>,
    pub depth: usize,
    /// The directory after `cd`, if it is not the working directory.
    pub directory: Option<String>,
    /// Whether the whole script may not run.
    pub conditional: bool,
}

/// The maximum number and length of variables that a package is built with.
const MAX_VARIABLES: usize = 16;
const MAX_VALUE: usize = 256;

impl Session {
    /// The variables that the script has set, and those of one command.
    pub fn assigned(&self, own: &[(String, String)]) -> BTreeMap<String, String> {
        let script = self.variables.iter();
        let script = script.filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let all = own.iter().map(|(name, value)| (name, value)).chain(script);
        let short = all.filter(|(name, value)| name.len() + value.len() <= MAX_VALUE);
        let mut assigned = BTreeMap::new();
        for (name, value) in short.take(MAX_VARIABLES) {
            let entry = assigned.entry(name.clone());
            entry.or_insert_with(|| value.clone());
        }
        assigned
    }
}

/// Handles `NAME=value`, alone or after `export`, for the rest of the script.
pub fn assign(words: &[Argument], conditional: bool, session: &mut Session) -> bool {
    let words = match words.split_first() {
        Some((first, rest)) if first.text == "export" => rest,
        _ => words,
    };
    let pairs: Option<Vec<_>> = words
        .iter()
        .map(|word| {
            Some((
                word.text
                    .split_once('=')
                    .filter(|(name, _)| is_name(name))?,
                word.known,
            ))
        })
        .collect();
    for ((name, value), known) in pairs.iter().flatten() {
        let certain = *known && !conditional;
        session
            .variables
            .insert((*name).to_owned(), certain.then(|| (*value).to_owned()));
    }
    pairs.is_some_and(|pairs| !pairs.is_empty())
}

/// Handles `. /venv/bin/activate` and `conda activate NAME`.
pub fn activate(words: &[Argument], session: &mut Session) {
    let text = |index: usize| {
        words
            .get(index)
            .map(|word| word.text.as_str())
            .unwrap_or_default()
    };
    match (text(0), text(1)) {
        ("." | "source", script) => {
            if let Some(directory) = script.strip_suffix("/activate") {
                session.active = Some(place(directory));
            } else if script.ends_with("/activate.sh") || words.get(2).is_some() {
                session.active = Some(text(2).to_owned());
            }
        }
        ("conda" | "mamba" | "micromamba", "activate") => session.active = Some(text(2).to_owned()),
        ("deactivate", _) | (_, "deactivate") => session.active = None,
        _ => {}
    }
}

/// The path of the script that a command runs: `bash x.sh`, `./x.sh`, `source x.sh`.
pub fn script_path(words: &[Argument]) -> Option<&str> {
    let (program, rest) = words.split_first()?;
    let name = name_of(&program.text);
    let is_script = |word: &&Argument| word.known && word.text.ends_with(".sh");
    if is_script(&program) {
        return Some(&program.text);
    }
    if !SHELLS.contains(&name) && !matches!(name, "." | "source") {
        return None;
    }
    let first = rest.iter().find(|word| !word.text.starts_with('-'));
    first.filter(is_script).map(|word| word.text.as_str())
}

/// The script of `bash -c 'script'`.
pub fn inline_script(words: &[Argument]) -> Option<&Argument> {
    let (program, options) = words.split_first()?;
    let name = program.text.rsplit('/').next()?;
    if !SHELLS.contains(&name) {
        return None;
    }
    let option = options
        .iter()
        .position(|word| word.text.starts_with('-') && word.text.ends_with('c'))?;
    options.get(option + 1)
}
