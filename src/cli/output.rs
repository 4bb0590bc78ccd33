//! Where reports go: standard output and files, in one format or several.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::Resettable;
use clap::error::ContextValue;
use clap::{Args, ValueEnum};
use tempfile::NamedTempFile;

use imgcheck::{Error, Format, ImageRequest, Result};

/// How and where a command reports.
#[derive(Debug, Args)]
#[command(next_help_heading = Resettable::Reset)]
pub struct OutputArguments<F: ReportFormat> {
    /// Format of standard output
    ///
    /// It is that of -o FILE, too.
    #[arg(
        short,
        long,
        value_enum,
        default_value = "text",
        env = "IMGCHECK_FORMAT"
    )]
    format: F,
    /// Write to FILE; FORMAT=FILE writes an additional report; repeatable
    #[arg(short, long, value_name = "[FORMAT=]FILE", env = "IMGCHECK_OUTPUT")]
    output: Vec<Destination<F>>,
    /// When to use color
    #[arg(long, value_enum, default_value = "auto", env = "IMGCHECK_COLOR")]
    color: Color,
}

/// Extensions of files, and the formats that people mean by them, where these are not named like them.
const EXTENSIONS: [(&str, &str); 3] = [("htm", "html"), ("md", "markdown"), ("xml", "junit")];

/// The formats of one command.
pub trait ReportFormat: ValueEnum + Copy + Send + Sync + 'static {}

impl<F: ValueEnum + Copy + Send + Sync + 'static> ReportFormat for F {}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
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
                    format!("unknown format `{format}` (expected {names}); for a file with `=` in its name write ./{text}")
                });
                (Some(known?), path)
            }
        };
        if path.is_empty() {
            return Err("the file name is missing".to_owned());
        }
        Ok(Destination {
            format,
            path: path.into(),
        })
    }
}

impl<F: ReportFormat> OutputArguments<F> {
    /// Rejects, before any work is done, files that cannot be written and files that are one of the inputs.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn validate(&self, inputs: &[ImageRequest]) -> Result<()> {
        for Destination { format, path } in &self.output {
            if format.is_none() {
                self.check_name(path)?;
            }
            let usage = |problem: String| {
                Err(Error::Usage {
                    problem,
                    help: Some("-o names the file that the report is written to".to_owned()),
                })
            };
            make_directory("-o", path)?;
            let same = |input: &ImageRequest| {
                let input = input.path().and_then(|path| fs::canonicalize(path).ok());
                input.is_some() && input == fs::canonicalize(path).ok()
            };
            if inputs.iter().any(same) {
                return usage(format!("-o {} is the image itself", path.display()));
            }
        }
        self.check_distinct()
    }

    /// Rejects two reports in one file: the second would overwrite the first.
    fn check_distinct(&self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for Destination { path, .. } in &self.output {
            // A terminal or a pipe takes one report after another.
            if path.exists() && !path.is_file() {
                continue;
            }
            if !seen.insert(resolved(path)) {
                return Err(Error::Usage {
                    problem: format!("-o names {} for two reports", path.display()),
                    help: Some("use a different file for each -o".to_owned()),
                });
            }
        }
        Ok(())
    }

    /// Hands over each format with where it goes, for reports that are written piece by piece. `printed` takes what goes to standard output.
    ///
    /// # Errors
    /// A file cannot be created, or `each` fails.
    pub fn each_sink(
        &self,
        printed: Box<dyn Write + Send>,
        mut each: impl FnMut(F, Box<dyn Write + Send>) -> Result<()>,
    ) -> Result<()> {
        for Destination { format, path } in &self.output {
            let file = File::create(path);
            let file = file.map_err(|error| Error::output(path.display().to_string(), error))?;
            each(
                format.unwrap_or(self.format),
                Box::new(BufWriter::new(file)),
            )?;
        }
        match self.to_standard_output() {
            true => each(self.format, printed),
            false => Ok(()),
        }
    }

    /// Whether a report is written in this format.
    pub fn includes(&self, format: F) -> bool
    where
        F: PartialEq,
    {
        let mut files = self.output.iter();
        let to_file = files.any(|it| it.format.unwrap_or(self.format) == format);
        to_file || self.printed() == Some(format)
    }

    /// Rejects a file without a format whose name suggests a different format from the one that it would get.
    fn check_name(&self, path: &Path) -> Result<()> {
        let name = |format: F| Some(format.to_possible_value()?.get_name().to_owned());
        let own = name(self.format).unwrap_or_default();
        let text = path.to_string_lossy();
        let word = path
            .extension()
            .map_or(text.clone(), |it| it.to_string_lossy());
        let other = F::value_variants().iter().filter_map(|it| name(*it));
        let extensions = EXTENSIONS.iter();
        let mut extensions = extensions.filter(|(extension, _)| *extension == word);
        let meant = extensions.next().map_or(&*word, |(_, format)| format);
        match other
            .into_iter()
            .find(|other| *other == meant && *other != own)
        {
            None => Ok(()),
            Some(other) if word == text => Err(Error::Usage {
                problem: format!("-o {text} would write the format {own} to a file named {text}"),
                help: Some(format!("add the name of the file: -o {other}=FILE")),
            }),
            Some(other) => Err(Error::Usage {
                problem: format!("-o {text} would write the format {own}"),
                help: Some(format!(
                    "name the format: -o {other}={text}, or -o {own}={text}"
                )),
            }),
        }
    }

    /// The format of standard output; `None` if nothing is written there.
    pub fn printed(&self) -> Option<F> {
        self.to_standard_output().then_some(self.format)
    }

    /// Width of the terminal in columns; `None` if standard output is not a terminal: then text is not wrapped.
    pub fn width(&self) -> Option<u16> {
        self.to_standard_output().then(width).flatten()
    }

    fn to_standard_output(&self) -> bool {
        self.output
            .iter()
            .all(|destination| destination.format.is_some())
    }
}

/// The canonical path of a file that may not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = fs::canonicalize(parent.unwrap_or(Path::new(".")));
    let missing = directory.map(|it| it.join(path.file_name().unwrap_or_default()));
    fs::canonicalize(path)
        .or(missing)
        .unwrap_or_else(|_| path.to_owned())
}

/// Creates the directory of a file that will be written. `option` is the option that names it. Call it before work that takes long.
///
/// # Errors
/// [`Error::Usage`].
pub fn make_directory(option: &str, path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(parent).map_err(|error| Error::Usage {
        problem: format!(
            "{option} {}: the directory cannot be created: {error}",
            path.display()
        ),
        help: Some(format!("{option} names the file to write")),
    })
}

/// Columns of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<u16> {
    io::stdout()
        .is_terminal()
        .then(|| comfy_table::Table::new().width())
        .flatten()
        // Some terminals report 0.
        .filter(|width| *width > 0)
}

/// Renders the report for each destination, and writes it there.
///
/// # Errors
/// [`Error::Output`] if a file cannot be written. A reader that closes the pipe early is not an error.
pub fn write<F: ReportFormat>(
    arguments: &OutputArguments<F>,
    render: impl Fn(F) -> Result<Rendered>,
) -> Result<()> {
    for destination in &arguments.output {
        let bytes = match render(destination.format.unwrap_or(arguments.format))? {
            Rendered::Text(text) => anstream::adapter::strip_str(&text).to_string().into_bytes(),
            Rendered::Bytes(bytes) => bytes,
        };
        write_file(&destination.path, &bytes)?;
    }
    if arguments.to_standard_output() {
        match render(arguments.format)? {
            Rendered::Text(text) => standard_output(&text, arguments.color)?,
            Rendered::Bytes(bytes) => written(io::stdout().lock().write_all(&bytes))?,
        }
    }
    Ok(())
}

/// [`write`] of a report whose formats are all text.
///
/// # Errors
/// Same as [`write`].
pub fn write_text<F: ReportFormat + Into<Format>>(
    arguments: &OutputArguments<F>,
    render: impl Fn(Format) -> Result<String>,
) -> Result<()> {
    write(arguments, |format| {
        render(format.into()).map(Rendered::Text)
    })
}

/// A report in one format.
pub enum Rendered {
    /// Text, which may have ANSI styles.
    Text(String),
    /// A binary format.
    Bytes(Vec<u8>),
}

/// Writes a file. One that does not fit on the disk is left empty: half a report could be mistaken for a whole one.
///
/// # Errors
/// [`Error::Output`].
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        let is_file = file.metadata()?.is_file();
        let written = file.write_all(bytes).and_then(|()| match is_file {
            // Network file systems report only now that the disk is full.
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

/// Writes a file beside its place and then renames it: a run that is killed leaves no half of it. Without permissions only its owner
/// may read it.
///
/// # Errors
/// [`Error::Output`], or `write` fails.
pub fn write_whole(
    path: &Path,
    permissions: Option<fs::Permissions>,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let failed = |error| Error::output(path.display().to_string(), error);
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    let file = NamedTempFile::new_in(parent.unwrap_or(Path::new(".")));
    let mut writer = BufWriter::new(file.map_err(failed)?);
    write(&mut writer)?;
    let file = writer.into_inner();
    let file = file.map_err(|error| failed(error.into_error()))?;
    if let Some(permissions) = permissions {
        let set = file.as_file().set_permissions(permissions);
        set.map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Prints the text of a command that has no report formats, such as a list of rules.
pub fn print(text: &str) -> Result<()> {
    standard_output(text, Color::Auto)
}

fn standard_output(text: &str, color: Color) -> Result<()> {
    let choice = match color {
        Color::Auto => anstream::AutoStream::choice(&io::stdout()),
        Color::Always => anstream::ColorChoice::AlwaysAnsi,
        Color::Never => anstream::ColorChoice::Never,
    };
    let mut stream = anstream::AutoStream::new(io::stdout().lock(), choice);
    let result = stream.write_all(text.as_bytes());
    written(result.and_then(|()| stream.flush()))
}

/// A reader that closes the pipe early is not an error.
fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::output("standard output", error))
        }
        _ => Ok(()),
    }
}

/// Text from an image or a user on one line, with control characters escaped.
pub fn one_line(text: &str) -> String {
    Format::printable(text).replace('\n', "\\n")
}

/// Prints a remark on standard error; the text is escaped.
pub fn remark(text: &str) {
    styled_remark(&Format::printable(text));
}

/// Prints a text with ANSI styles on standard error; what it quotes must have been escaped.
pub fn styled_remark(text: &str) {
    // Nothing can be done if even standard error is closed.
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Prints what is wrong with the command line, or the requested help, and exits.
pub fn misuse(mut error: clap::Error) -> ! {
    let quoted = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) => Some((kind, ContextValue::String(one_line(text)))),
        _ => None,
    });
    for (kind, value) in quoted.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    match error.to_string().strip_prefix("error: ") {
        Some(problem) => print_error(problem.trim_end()),
        None => error.exit(),
    }
    std::process::exit(error.exit_code())
}

/// Prints an error on standard error.
pub fn error(error: &Error) {
    error_about("", error);
}

/// Prints the error of an image, with the name of the image if the error does not contain it.
pub fn error_about(image: &str, error: &Error) {
    // The subject of a registry's error is the reference without `docker://`.
    let is_subject = error
        .subject()
        .is_some_and(|subject| !subject.is_empty() && image.ends_with(subject));
    let text = match error.to_string() {
        text if is_subject || text.contains(image) => text,
        _ => format!("{}: {}", one_line(image), error.quoted()),
    };
    match error {
        // The error of a rule or configuration file is a rendered diagnostic.
        Error::Rule { .. } | Error::Config { .. } | Error::Malformed { .. }
            if text.starts_with("error") =>
        {
            remark(&format!("{text}\n"))
        }
        _ => print_error(&text),
    }
}

fn print_error(problem: &str) {
    let red = anstyle::AnsiColor::Red.on_default().bold();
    styled_remark(&format!(
        "{red}error{red:#}: {}\n",
        Format::printable(problem)
    ));
}
