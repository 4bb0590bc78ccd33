//! Directories that a stage adds to the configuration of the dynamic loader.

use super::super::command::Command;
use super::super::facts::SearchDirectory;
use super::super::install::Argument;
use super::super::script::Script;
use super::super::text::Text;
use super::session::Session;
use super::state::{MAX_PARTS, State};

/// The configuration file of the dynamic loader, and the prefix of the directory with more such files.
const LOADER_CONFIGURATION: &str = "/etc/ld.so.conf";

impl State<'_> {
    /// Handles commands that write or remove configuration files of the dynamic loader.
    pub fn loader_configuration(
        &mut self,
        text: &Text<'_>,
        script: &Script<'_>,
        (command, next): (&Command<'_>, Option<&Command<'_>>),
        (words, body): (&[Argument], Option<Script<'_>>),
        session: &Session,
    ) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        if program.text == "rm" {
            self.written
                .retain(|(path, _)| arguments.iter().all(|argument| argument.text != *path));
            return;
        }
        let mut targets: Vec<String> = Vec::new();
        let values = |name: &str| self.session_value(name, session);
        let outputs = command.outputs();
        targets.extend(outputs.map(|word| script.value(word, &values).text));
        if let Some(next) = next.filter(|_| command.piped) {
            let tee = self.words(script, next, session);
            if tee.first().is_some_and(|program| program.text == "tee") {
                targets.extend(tee.into_iter().skip(1).map(|word| word.text));
            }
        }
        let Some(target) = targets
            .into_iter()
            .find(|path| path.starts_with(LOADER_CONFIGURATION))
        else {
            return;
        };
        let mut directories = Vec::new();
        if matches!(program.text.as_str(), "echo" | "printf") {
            for argument in arguments.iter().take(MAX_PARTS) {
                let lines = argument.text.replace("\\n", "\n");
                directories.extend(
                    lines
                        .split_whitespace()
                        .filter(|line| line.starts_with('/'))
                        .take(MAX_PARTS)
                        .map(|line| SearchDirectory {
                            text: line.to_owned(),
                            location: text.location(argument.span.clone()),
                        }),
                );
            }
        } else if let Some(body) = body {
            directories = document(text, &body);
        }
        self.write(target, directories);
    }

    /// Handles a here-document that is copied to a file.
    pub fn copied_document(&mut self, text: &Text<'_>, body: &Script<'_>, target: String) {
        if target.starts_with(LOADER_CONFIGURATION) {
            self.write(target, document(text, body));
        }
    }

    fn write(&mut self, target: String, mut directories: Vec<SearchDirectory>) {
        directories.truncate(MAX_PARTS);
        if self.written.len() < MAX_PARTS {
            self.written.push((target, directories));
        }
    }
}

/// The directories in a here-document.
fn document(text: &Text<'_>, body: &Script<'_>) -> Vec<SearchDirectory> {
    let mut directories = Vec::new();
    let mut at = 0;
    for line in body.text.split_inclusive('\n') {
        if line.starts_with('/') && directories.len() < MAX_PARTS {
            directories.push(SearchDirectory {
                text: line.trim_end().to_owned(),
                location: text.location(body.span(at..at + line.trim_end().len())),
            });
        }
        at += line.len();
    }
    directories
}
