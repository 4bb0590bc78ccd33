//! `ENTRYPOINT` and `CMD`: the program that a container starts.

use parse_dockerfile::Command;

use super::super::facts::SearchDirectory;
use super::super::text::Text;

/// The programs of `ENTRYPOINT` and `CMD`.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    entrypoint: Program,
    command: Program,
}

/// What an instruction starts.
#[derive(Debug, Clone, Default)]
enum Program {
    /// The stage has no such instruction, or an empty one.
    #[default]
    None,
    /// The first word of the form of a list.
    Listed(SearchDirectory),
    /// A shell.
    Shell,
}

impl Programs {
    /// Handles `ENTRYPOINT`, after which the `CMD` of the base image does not count.
    pub fn entrypoint(&mut self, text: &Text<'_>, command: &Command<'_>) {
        self.entrypoint = Program::of(text, command);
    }

    /// Handles `CMD`.
    pub fn command(&mut self, text: &Text<'_>, command: &Command<'_>) {
        self.command = Program::of(text, command);
    }

    /// The program that starts first; `None` if it is a shell or that of the base image.
    pub fn started(&self) -> Option<SearchDirectory> {
        match (&self.entrypoint, &self.command) {
            (Program::Listed(program), _) | (Program::None, Program::Listed(program)) => {
                Some(program.clone())
            }
            _ => None,
        }
    }
}

impl Program {
    fn of(text: &Text<'_>, command: &Command<'_>) -> Self {
        let Command::Exec(words) = command else {
            return Program::Shell;
        };
        let first = words.value.first();
        first.map_or(Program::None, |word| {
            Program::Listed(SearchDirectory {
                text: word.value.as_ref().to_owned(),
                location: text.location(word.span.clone()),
            })
        })
    }
}
