//! What can go wrong, by stage, always with the thing that was being read and the way out.

use thiserror::Error;

use crate::limits::Passed;
use crate::spelling::Misread;

/// The result of every fallible step of the pipeline.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that ends the check of one image, or the whole run.
///
/// `subject` names the thing that was being read (a path, a digest, a rule file); `problem` says what is wrong
/// with it; `help`, where there is one, says what to do. [`Error::exit_code`] maps the stage to the exit code.
#[derive(Debug, Error)]
pub enum Error {
    /// The command line, a configuration or an option is wrong.
    #[error("{}{}", line(.problem), with_help(.help))]
    Usage {
        /// What is wrong.
        problem: String,
        /// What to do.
        help: Option<String>,
    },
    /// A rule file or a knowledge table is wrong; `problem` is a rendered diagnostic with file, line and column.
    #[error("{problem}")]
    Rule {
        /// The rendered diagnostic.
        problem: String,
    },
    /// The image could not be found, opened or understood.
    #[error("{}: {}{}", line(.subject), line(.problem), with_help(.help))]
    Source {
        /// The archive, layout, directory or reference.
        subject: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        help: Option<String>,
    },
    /// A layer could not be read whole, so nothing can be said of the image.
    #[error("layer {}: {}", line(.subject), line(.problem))]
    Layer {
        /// The digest or name of the layer, and the entry within it where one was being read.
        subject: String,
        /// What is wrong.
        problem: String,
    },
    /// Something asks for more than a limit allows, so it was not read whole and nothing can be said of it.
    #[error("{}: {passed}\n  help: {}", line(.subject), passed.help())]
    Limit {
        /// What was being read, and where in it.
        subject: String,
        /// The limit, and what was met.
        passed: Passed,
    },
    /// The report could not be written.
    #[error("{}: {}", line(.subject), line(.problem))]
    Output {
        /// The file or stream.
        subject: String,
        /// What is wrong.
        problem: String,
    },
}

fn with_help(help: &Option<String>) -> String {
    help.as_ref()
        .map_or_else(String::new, |text| format!("\n  help: {}", line(text)))
}

/// What an image says stays on its line, so that it cannot pass for help or for another message.
fn line(text: &str) -> String {
    text.replace('\n', "\\n")
}

impl Error {
    /// An [`Error::Usage`] for a text of the command line.
    pub fn misread(misread: Misread) -> Self {
        Error::Usage {
            problem: misread.problem,
            help: Some(misread.help),
        }
    }

    /// A [`Error::Source`] without help.
    pub fn source(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Source {
            subject: subject.into(),
            problem: problem.into(),
            help: None,
        }
    }

    /// A [`Error::Layer`].
    pub fn layer(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Layer {
            subject: subject.into(),
            problem: problem.into(),
        }
    }

    /// A [`Error::Limit`].
    pub fn limit(subject: impl Into<String>, passed: Passed) -> Self {
        Error::Limit {
            subject: subject.into(),
            passed,
        }
    }

    /// A [`Error::Limit`] that a layer passes at a place in it: an entry, or bytes of an archive.
    pub fn layer_limit(layer: &str, place: &str, passed: Passed) -> Self {
        Error::limit(format!("layer {layer}: {place}"), passed)
    }

    /// A [`Error::Layer`] for bytes that are not those that were promised; `what` is the kind of digest.
    pub fn damaged_layer(subject: &str, what: &str, found: &str, expected: &str) -> Self {
        Self::layer(
            subject,
            format!("damaged: its {what} is {found}, it should be {expected}"),
        )
    }

    /// The text for a sentence that is about this error: without the word that a diagnostic begins with.
    pub fn quoted(&self) -> String {
        let text = self.to_string();
        match text.strip_prefix("error: ") {
            Some(rest) => rest.to_owned(),
            None => text,
        }
    }

    /// 2 for what the user wrote, 3 for what could not be read. A failed scan is never a pass.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage { .. } | Error::Rule { .. } => 2,
            Error::Source { .. }
            | Error::Layer { .. }
            | Error::Limit { .. }
            | Error::Output { .. } => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_quoted_has_a_line_of_its_own() {
        let error = Error::Source {
            subject: "x\n  help: run this".to_owned(),
            problem: "a\nb".to_owned(),
            help: Some("c\nd".to_owned()),
        };
        assert_eq!(
            error.to_string(),
            "x\\n  help: run this: a\\nb\n  help: c\\nd"
        );
        assert_eq!(Error::layer("a\nb", "c").to_string(), "layer a\\nb: c");
    }
}
