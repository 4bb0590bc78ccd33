//! What stops the loader, in its own words.

use std::fmt;

use super::object::Tried;
use super::system::Family;

/// One reason why a program does not start, or why dlopen fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No file answers.
    Missing {
        /// The name that was asked for.
        name: String,
        /// Path of the object that needs it; `None` where a program asked for it.
        needed_by: Option<String>,
        /// Where it was looked for.
        searched: Vec<Tried>,
    },
    /// The first file of that name cannot be used, and the loader does not look further.
    Broken {
        /// The name that was asked for.
        name: String,
        /// Path of the file.
        path: String,
        /// What the loader says of it.
        problem: String,
        /// Path of the object that needs it; `None` where a program asked for it.
        needed_by: Option<String>,
    },
    /// It was not followed to its end: a limit of this program, of which the loader knows nothing.
    Limit {
        /// The name that was asked for, or the object that was looked at.
        name: String,
        /// Path of the object that needs it; `None` where a program asked for it.
        needed_by: Option<String>,
        /// What is beyond the limit.
        limit: &'static str,
    },
    /// A version that is needed is not defined by the file that answers.
    Version {
        /// Path of the object that needs it.
        object: String,
        /// The version, such as `GLIBCXX_3.4.30`.
        version: String,
        /// Path of the file that answers.
        provider: String,
    },
    /// Nothing in scope defines a symbol.
    Symbol {
        /// Path of the object that needs it.
        object: String,
        /// The symbol, mangled.
        symbol: String,
        /// The version that is asked for.
        version: Option<String>,
        /// Path of the file that answers to the name that the version belongs to.
        provider: Option<String>,
        /// It is only looked up when it is first called.
        lazy: bool,
    },
    /// An object asks for an executable stack, which this release of glibc refuses when a program runs.
    ExecutableStack {
        /// Path of the object.
        object: String,
    },
}

impl Fault {
    /// What musl's `dlerror` gives.
    fn musl(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Fault::Missing {
                name, needed_by, ..
            } => {
                write!(
                    formatter,
                    "Error loading shared library {name}: No such file or directory"
                )?;
                needed(formatter, needed_by)
            }
            Fault::Broken {
                name, needed_by, ..
            } => {
                write!(
                    formatter,
                    "Error loading shared library {name}: Exec format error"
                )?;
                needed(formatter, needed_by)
            }
            Fault::Symbol { object, symbol, .. } => {
                write!(
                    formatter,
                    "Error relocating {object}: {symbol}: symbol not found"
                )
            }
            Fault::Limit { name, limit, .. } => given_up(formatter, name, limit),
            Fault::Version { .. } | Fault::ExecutableStack { .. } => Ok(()),
        }
    }

    fn glibc(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Fault::Missing { name, .. } => write!(
                formatter,
                "{name}: cannot open shared object file: No such file or directory"
            ),
            Fault::Broken { path, problem, .. } => write!(formatter, "{path}: {problem}"),
            Fault::Limit { name, limit, .. } => given_up(formatter, name, limit),
            Fault::Version {
                object,
                version,
                provider,
            } => write!(
                formatter,
                "{provider}: version `{version}' not found (required by {object})"
            ),
            Fault::Symbol {
                object,
                symbol,
                version,
                ..
            } => {
                write!(formatter, "{object}: undefined symbol: {symbol}")?;
                match version {
                    Some(version) => write!(formatter, ", version {version}"),
                    None => Ok(()),
                }
            }
            Fault::ExecutableStack { object } => write!(
                formatter,
                "{object}: cannot enable executable stack as shared object requires: Invalid argument"
            ),
        }
    }

    /// What `dlerror` gives, word for word; for a limit of this program, that it is one.
    pub fn message(&self, family: Family) -> String {
        struct In<'f>(&'f Fault, Family);
        impl fmt::Display for In<'_> {
            fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                match self.1 {
                    Family::Glibc => self.0.glibc(formatter),
                    Family::Musl => self.0.musl(formatter),
                }
            }
        }
        In(self, family).to_string()
    }
}

fn given_up(formatter: &mut fmt::Formatter, name: &str, limit: &str) -> fmt::Result {
    write!(
        formatter,
        "{name}: not examined, because {limit}, which is a limit of imgcheck"
    )
}

fn needed(formatter: &mut fmt::Formatter, by: &Option<String>) -> fmt::Result {
    match by {
        Some(by) => write!(formatter, " (needed by {by})"),
        None => Ok(()),
    }
}
