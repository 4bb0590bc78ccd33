//! Scripts whose text is in a field of an object: the controller writes it to a file and starts that. Where a shell or Python runs the
//! file, the text as the argument of `-c` does the same, except that Python then looks for modules in the working directory first.

use std::ops::Range;

use imgcheck_base::document::{Node, Value};
use imgcheck_base::lexical::{directory_of, name_of};

const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// A script and what runs it.
pub(super) struct InlineScript {
    /// The program that gets the file, with its options; empty for the entry point of the image.
    pub interpreter: Vec<String>,
    /// `None` if a part of it is only known when it runs.
    pub text: Option<String>,
    /// The file that the controller writes.
    pub path: &'static str,
    /// What the script gets.
    pub arguments: Vec<String>,
    /// Where the text is in the manifest.
    pub span: Range<usize>,
}

/// What runs a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Shell,
    Python,
}

impl InlineScript {
    /// Writes the command into a container. A text that cannot be an argument is a file of a volume.
    pub fn start_in(self, container: &mut Node) {
        let at = |value: Value| Node {
            span: self.span.clone(),
            value,
        };
        let text = |it: &str| at(Value::Text(it.to_owned()));
        let list = |words: Vec<String>| at(Value::List(words.iter().map(|it| text(it)).collect()));
        let (mut command, mut arguments) = (self.interpreter, self.arguments);
        let language = language(&command).filter(|_| self.text.is_some());
        let own = container.get("command").filter(|_| language.is_none());
        let own = own.map(|it| it.span.clone());
        if language != Some(Language::Python) {
            arguments.insert(0, self.path.to_owned());
        }
        match (language, self.text) {
            // Kubernetes expands `$(NAME)` in commands, and not in files.
            (Some(_), Some(text)) => command.extend(["-c".to_owned(), text.replace('$', "$$")]),
            _ => {
                let directory = directory_of(self.path);
                let mount = [("name", "script"), ("mountPath", directory)];
                let mount = mount.map(|(key, value)| (text(key), text(value)));
                let own = container.items_of("volumeMounts").cloned();
                let mounts = own.chain([at(Value::Map(mount.to_vec()))]).collect();
                container.set("volumeMounts", at(Value::List(mounts)));
            }
        }
        let mut command = list(command);
        if let Some(own) = own {
            command.place_at(&own);
        }
        container.set("command", command);
        container.set("args", list(arguments));
    }
}

/// The language of a file behind a command, if the command runs nothing but that file, and takes a text with `-c` in its place.
fn language(command: &[String]) -> Option<Language> {
    let command = match command.split_first() {
        Some((first, rest)) if name_of(first) == "env" => rest,
        _ => command,
    };
    let (program, options) = command.split_first()?;
    let name = name_of(program);
    let version = name.strip_prefix("python");
    let is_version = |it: &str| it.chars().all(|it| it.is_ascii_digit() || it == '.');
    // Options that take the text, and those that take the next word.
    let (language, texts, with_values) = match version {
        Some(version) if is_version(version) => (Language::Python, ['c', 'm'], ['X', 'W']),
        _ if SHELLS.contains(&name) => (Language::Shell, ['c', 's'], ['o', 'O']),
        _ => return None,
    };
    let mut is_value = false;
    for option in options {
        let letters = option.strip_prefix(['-', '+']).unwrap_or_default();
        let is_long = letters.starts_with('-');
        match letters {
            _ if std::mem::take(&mut is_value) => {}
            "" | "-" => return None,
            _ if is_long => {}
            _ if letters.contains(texts) => return None,
            _ => is_value = letters.ends_with(with_values),
        }
    }
    Some(language)
}
