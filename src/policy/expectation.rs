//! What the team wants an image to hold.

use crate::spelling::{InvalidInput, nearest};
use crate::version;
use crate::vocabulary::VERSIONS;

/// The release of the CUDA runtime that the process gets, major and minor: the one subject that is no part of the stack.
pub const CUDA: &str = "cuda";
/// The operating system: its releases have names, and no order.
const OS: &str = "os";
/// In an allowed stack: there must be no such part.
const NONE: &str = "none";

/// A part of the stack, and which versions of it are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// A name of the stack, or `cuda`.
    pub name: String,
    /// Specifiers as [`version::fits()`] takes them; empty if there must be no such part.
    pub specifier: String,
}

/// What each image must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// As it was written: `torch==2.8.*`.
    pub text: String,
    /// Where it was written: `--expect`, or file and line.
    pub origin: String,
    /// What it asks for.
    pub requirement: Requirement,
}

/// A combination that an image may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedStack {
    /// What the team calls it.
    pub name: String,
    /// All of these must hold.
    pub requirements: Vec<Requirement>,
}

/// The names that a requirement may have.
pub fn subjects() -> impl Iterator<Item = &'static str> + Clone {
    VERSIONS.iter().copied()
}

/// Refuses a name that no stack has.
///
/// # Errors
/// With the name that was probably meant.
pub fn check_subject(name: &str) -> Result<(), InvalidInput> {
    if subjects().any(|known| known == name) {
        return Ok(());
    }
    let lower = name.to_ascii_lowercase().replace('_', "-");
    let near = subjects()
        .find(|known| *known == lower || format!("py{known}") == lower)
        .or_else(|| subjects().find(|known| lower.len() > 2 && known.starts_with(&lower)))
        .or_else(|| nearest(&lower, subjects()));
    Err(InvalidInput {
        problem: format!("no part of an image is called `{name}`"),
        help: match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let mut known: Vec<&str> = subjects().collect();
                known.sort_unstable();
                format!("known are {}", known.join(", "))
            }
        },
    })
}

impl Requirement {
    /// Of `torch==2.8.*`: a name, then specifiers.
    ///
    /// # Errors
    /// An unknown name, or what is no specifier.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let operator = text.find(|c: char| "=<>!~".contains(c));
        let (name, specifier) = text.split_at(operator.unwrap_or(text.len()));
        check_subject(name.trim())?;
        if operator.is_none() {
            return Err(InvalidInput {
                problem: format!("`{text}` says no version"),
                help: format!("write specifiers behind it, as in {}>=2.8", name.trim()),
            });
        }
        Requirement::new(name.trim(), specifier.trim())
    }

    /// Of a row of an allowed stack: a version alone means `==`, and `none` that there must be no such part.
    ///
    /// # Errors
    /// As [`Requirement::parse`].
    pub fn of_stack(name: &str, written: &str) -> Result<Self, InvalidInput> {
        check_subject(name)?;
        let written = written.trim();
        if written == NONE {
            return Ok(Requirement {
                name: name.to_owned(),
                specifier: String::new(),
            });
        }
        let bare = written.starts_with(|c: char| c.is_ascii_alphanumeric());
        let specifier = if bare {
            format!("=={written}")
        } else {
            written.to_owned()
        };
        Requirement::new(name, &specifier)
    }

    /// The name is a known one.
    fn new(name: &str, specifier: &str) -> Result<Self, InvalidInput> {
        if name == OS {
            check_system(specifier)?;
        } else {
            version::fits::check_versions(specifier).map_err(|it| no_specifier(specifier, &it))?;
        }
        let too_fine = |specifier: &str| {
            let version = specifier.trim_start_matches(|c: char| !c.is_ascii_digit());
            version.trim_end_matches(".*").matches('.').count() > 1
        };
        if name == CUDA && specifier.split(',').any(too_fine) {
            return Err(InvalidInput {
                problem: format!("`{specifier}`: the CUDA runtime tells its major and minor release only"),
                help: "write cuda==12.8; cuda-runtime and cuda-toolkit have the numbers of their packages".to_owned(),
            });
        }
        Ok(Requirement {
            name: name.to_owned(),
            specifier: specifier.to_owned(),
        })
    }
}

fn no_specifier(specifier: &str, problem: &str) -> InvalidInput {
    InvalidInput {
        problem: format!("`{specifier}` is no version specifier: {problem}"),
        help: "write them as pip does: ==2.8.*, >=2.8,<3, !=2.7.1".to_owned(),
    }
}

/// Refuses what no operating system can be asked. A bound is told before anything is read as Python reads it: `>=ubuntu22.04` has
/// no fault of spelling.
fn check_system(specifier: &str) -> Result<(), InvalidInput> {
    let mut specifiers = specifier.split(',').map(str::trim);
    let bound = specifiers.any(|specifier| specifier.starts_with(['<', '>', '~']));
    if !bound {
        version::fits::check(specifier).map_err(|it| no_specifier(specifier, &it))?;
    }
    if bound || !version::fits::are_exact(specifier) {
        return Err(InvalidInput {
            problem: format!("`{specifier}`: an operating system is not more or less than another"),
            help: "write os==ubuntu22.04 or os!=debian11".to_owned(),
        });
    }
    Ok(())
}

impl Expectation {
    /// Reads one; `origin` is where it was written.
    ///
    /// # Errors
    /// As [`Requirement::parse`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, InvalidInput> {
        Ok(Expectation {
            text: text.trim().to_owned(),
            origin: origin.to_owned(),
            requirement: Requirement::parse(text)?,
        })
    }
}
