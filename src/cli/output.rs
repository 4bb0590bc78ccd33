//! Where reports go: the standard output and files, in one format or several.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::error::ContextValue;
use clap::{Args, ValueEnum};

use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::report::{one_line, printable};

/// How and where a command reports.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments<F: ReportFormat = Format> {
    /// The format of the standard output, or of an -o FILE that names none
    #[arg(
        short,
        long,
        value_enum,
        default_value = "text",
        env = "IMGCHECK_FORMAT"
    )]
    format: F,
    /// Write to a file: FILE in place of the standard output, FORMAT=FILE besides it; repeatable. The
    /// variable holds one
    #[arg(short, long, value_name = "[FORMAT=]FILE", env = "IMGCHECK_OUTPUT")]
    output: Vec<Destination<F>>,
    /// When to use colour
    #[arg(long, value_enum, default_value = "auto", env = "IMGCHECK_COLOR")]
    color: Colour,
}

/// The formats of one command.
pub trait ReportFormat: ValueEnum + Copy + Send + Sync + 'static {}

impl<F: ValueEnum + Copy + Send + Sync + 'static> ReportFormat for F {}

/// The formats of a command whose result is for people and programs only; [`super::formats`] has the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

/// `FILE` or `FORMAT=FILE`.
#[derive(Debug, Clone)]
struct Destination<F> {
    format: Option<F>,
    path: PathBuf,
}

impl<F: ReportFormat> FromStr for Destination<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, path) = match text.split_once('=') {
            None => (None, text),
            Some((format, path)) => {
                let known = F::from_str(format, true).map_err(|_| {
                    let names: Vec<_> = F::value_variants()
                        .iter()
                        .filter_map(|known| Some(known.to_possible_value()?.get_name().to_owned()))
                        .collect();
                    let names = names.join(", ");
                    let (format, text) = (one_line(format), one_line(text));
                    format!("`{format}` is no format ({names}); write a name with `=` as ./{text}")
                });
                (Some(known?), path)
            }
        };
        if path.is_empty() {
            return Err("no file is named".to_owned());
        }
        Ok(Destination {
            format,
            path: path.into(),
        })
    }
}

impl<F: ReportFormat> OutputArguments<F> {
    /// Refuses, before any work is done, files that cannot be written and files that are one of the inputs.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn validate(&self, inputs: &[ImageReference]) -> Result<()> {
        for Destination { format, path } in &self.output {
            if format.is_none() {
                self.fits(path)?;
            }
            let usage = |problem: String| {
                Err(Error::Usage {
                    problem,
                    help: Some("-o names the file that the report is written to".to_owned()),
                })
            };
            check_directory("-o", path)?;
            let same = |input: &ImageReference| {
                let input = input.path().and_then(|path| fs::canonicalize(path).ok());
                input.is_some() && input == fs::canonicalize(path).ok()
            };
            if inputs.iter().any(same) {
                return usage(format!("-o {} is the image itself", path.display()));
            }
        }
        self.differ()
    }

    /// Refuses two reports in one file: the second would be written over the first.
    fn differ(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for Destination { path, .. } in &self.output {
            // A terminal or a pipe takes one report after another.
            if path.exists() && !path.is_file() {
                continue;
            }
            if !seen.insert(resolved(path)) {
                return Err(Error::Usage {
                    problem: format!("-o names {} for two reports", path.display()),
                    help: Some("each -o needs a file of its own".to_owned()),
                });
            }
        }
        Ok(())
    }

    /// Whether something is written in this format.
    pub fn asks_for(&self, format: F) -> bool
    where
        F: PartialEq,
    {
        let mut files = self.output.iter();
        let to_file = files.any(|it| it.format.unwrap_or(self.format) == format);
        to_file || self.printed() == Some(format)
    }

    /// Whether a file that names no format is likely to be meant for the one it gets.
    fn fits(&self, path: &Path) -> Result<()> {
        let name = |format: F| Some(format.to_possible_value()?.get_name().to_owned());
        let own = name(self.format).unwrap_or_default();
        let text = path.to_string_lossy();
        let word = path
            .extension()
            .map_or(text.clone(), |it| it.to_string_lossy());
        let other = F::value_variants().iter().filter_map(|it| name(*it));
        match other
            .into_iter()
            .find(|other| *other == word && *other != own)
        {
            None => Ok(()),
            Some(other) if word == text => Err(Error::Usage {
                problem: format!("-o {text} would write {own} into a file called {text}"),
                help: Some(format!("name the file, too: -o {other}=FILE")),
            }),
            Some(other) => Err(Error::Usage {
                problem: format!("-o {text} would write {own} into it"),
                help: Some(format!(
                    "say which format it is: -o {other}={text}, or -o {own}={text}"
                )),
            }),
        }
    }

    /// The format of the standard output; `None` where nothing is written there.
    pub fn printed(&self) -> Option<F> {
        self.to_standard_output().then_some(self.format)
    }

    /// Columns of the terminal that the text goes to; `None` where it goes elsewhere, so that nothing is wrapped.
    pub fn width(&self) -> Option<u16> {
        self.to_standard_output().then(width).flatten()
    }

    fn to_standard_output(&self) -> bool {
        self.output
            .iter()
            .all(|destination| destination.format.is_some())
    }
}

/// The one way to write the path of a file that may not be there yet.
fn resolved(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = fs::canonicalize(parent.unwrap_or(Path::new(".")));
    let absent = directory.map(|it| it.join(path.file_name().unwrap_or_default()));
    fs::canonicalize(path)
        .or(absent)
        .unwrap_or_else(|_| path.to_owned())
}

/// Refuses a file whose directory is not there; `option` names it.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_directory(option: &str, path: &Path) -> Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.is_dir()) {
        return Err(Error::Usage {
            problem: format!("{option} {}: there is no such directory", path.display()),
            help: Some(format!("{option} names the file that is written")),
        });
    }
    Ok(())
}

/// Columns of the terminal, if the standard output is one.
pub fn width() -> Option<u16> {
    io::stdout()
        .is_terminal()
        .then(|| comfy_table::Table::new().width())
        .flatten()
        // Some terminals do not say.
        .filter(|width| *width > 0)
}

/// Renders each format that is asked for, once a destination, and writes it there.
///
/// # Errors
/// [`Error::Output`] when a file cannot be written. A reader that closes the pipe early is no error.
pub fn write<F: ReportFormat>(
    arguments: &OutputArguments<F>,
    render: impl Fn(F) -> serde_json::Result<String>,
) -> Result<()> {
    let rendered =
        |format, subject: &str| render(format).map_err(|error| Error::output(subject, error));
    for destination in &arguments.output {
        let format = destination.format.unwrap_or(arguments.format);
        let text = rendered(format, &destination.path.display().to_string())?;
        let plain = anstream::adapter::strip_str(&text).to_string();
        write_file(&destination.path, &plain)?;
    }
    if arguments.to_standard_output() {
        let text = rendered(arguments.format, "standard output")?;
        standard_output(&text, arguments.color)?;
    }
    Ok(())
}

/// Writes a file to the disk. One that does not fit is left empty: half a report would be taken for a whole one.
///
/// # Errors
/// [`Error::Output`].
pub fn write_file(path: &Path, text: &str) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        let is_file = file.metadata()?.is_file();
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| match is_file {
                // File systems of a network tell only now that there is no room.
                true => file.sync_all(),
                false => Ok(()),
            });
        if written.is_err() && is_file {
            file.set_len(0)?;
        }
        written
    });
    written.map_err(|error| Error::output(path.display().to_string(), error))
}

/// Writes lines of a command that has no report formats, such as a list of rules.
pub fn print(text: &str) -> Result<()> {
    standard_output(text, Colour::Auto)
}

fn standard_output(text: &str, colour: Colour) -> Result<()> {
    let choice = match colour {
        Colour::Auto => anstream::AutoStream::choice(&io::stdout()),
        Colour::Always => anstream::ColorChoice::AlwaysAnsi,
        Colour::Never => anstream::ColorChoice::Never,
    };
    let mut stream = anstream::AutoStream::new(io::stdout().lock(), choice);
    let written = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::output("standard output", error))
        }
        _ => Ok(()),
    }
}

/// Writes a remark beside the report on the standard error stream, whatever it quotes.
pub fn remark(text: &str) {
    styled_remark(&printable(text));
}

/// The same of a text with styles, in which what is quoted was escaped.
pub fn styled_remark(text: &str) {
    // Nothing can be done where even the error stream is closed.
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Tells on the standard error stream what is wrong with the command line, and ends the program; shows help that was asked for.
pub fn misuse(mut error: clap::Error) -> ! {
    let quoted = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) => Some((kind, ContextValue::String(one_line(text)))),
        _ => None,
    });
    for (kind, value) in quoted.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    match error.to_string().strip_prefix("error: ") {
        Some(problem) => tell(problem.trim_end()),
        None => error.exit(),
    }
    std::process::exit(error.exit_code())
}

/// Tells an error on the standard error stream.
pub fn error(error: &Error) {
    error_about("", error);
}

/// The same of the error of an image, which is named if the error does not do so.
pub fn error_about(image: &str, error: &Error) {
    let text = match error.to_string() {
        text if text.contains(image) => text,
        _ => format!("{}: {}", one_line(image), error.quoted()),
    };
    match error {
        // A fault of a rule or configuration file comes as a diagnostic of its own.
        Error::Rule { .. } if text.starts_with("error") => remark(&format!("{text}\n")),
        _ => tell(&text),
    }
}

fn tell(problem: &str) {
    let red = anstyle::AnsiColor::Red.on_default().bold();
    styled_remark(&format!("{red}error{red:#}: {}\n", printable(problem)));
}
