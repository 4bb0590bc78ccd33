//! Why the loader fails, in its own words.

use super::object::{Object, ObjectId, SearchedDirectory};
use super::system::Libc;

/// Why a program does not start, or why dlopen fails.
#[derive(Debug)]
pub struct Failure<'r> {
    /// The first fault is the one that the loader reports before it stops; the others would come next.
    pub faults: Vec<Fault>,
    /// Objects that were mapped for the request and are unmapped again.
    pub discarded: Vec<Object<'r>>,
    /// The id that the first of them had.
    pub first_discarded: ObjectId,
}

/// One reason why a program does not start, or why dlopen fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No file answers.
    Missing {
        /// The requested name.
        name: String,
        /// Path of the object that needs it; `None` if the program opened it.
        needed_by: Option<String>,
        /// The directories that were searched.
        searched: Vec<SearchedDirectory>,
    },
    /// The first file of that name cannot be used, which ends the search.
    Broken {
        /// The requested name.
        name: String,
        /// Path of the file.
        path: String,
        /// The loader's message about the file.
        problem: String,
        /// Path of the object that needs it; `None` if the program opened it.
        needed_by: Option<String>,
    },
    /// The file that answers does not define a required version.
    Version {
        /// Path of the object that requires it.
        object: String,
        /// The version, such as `GLIBCXX_3.4.30`.
        version: String,
        /// Path of the file that answers.
        provider: String,
    },
    /// No object in scope defines a symbol.
    Symbol {
        /// Path of the object that refers to it.
        object: String,
        /// The symbol, mangled.
        symbol: String,
        /// The required version.
        version: Option<String>,
        /// Path of the file that answers to the name that the version belongs to.
        provider: Option<String>,
        /// The symbol is bound lazily, when it is first called.
        lazy: bool,
    },
    /// An object requires an executable stack, which this glibc does not enable in a running program.
    ExecutableStack {
        /// Path of the object.
        object: String,
    },
}

impl Fault {
    /// The message that `dlerror` returns.
    pub fn message(&self, libc: Libc) -> String {
        match libc {
            Libc::Glibc => self.glibc_message(),
            Libc::Musl => self.musl_message(),
        }
    }

    fn glibc_message(&self) -> String {
        match self {
            Fault::Missing { name, .. } => {
                format!("{name}: cannot open shared object file: No such file or directory")
            }
            Fault::Broken { path, problem, .. } => format!("{path}: {problem}"),
            Fault::Version {
                object,
                version,
                provider,
            } => format!("{provider}: version `{version}' not found (required by {object})"),
            Fault::Symbol {
                object,
                symbol,
                version,
                ..
            } => match version {
                Some(version) => format!("{object}: undefined symbol: {symbol}, version {version}"),
                None => format!("{object}: undefined symbol: {symbol}"),
            },
            Fault::ExecutableStack { object } => format!(
                "{object}: cannot enable executable stack as shared object requires: Invalid argument"
            ),
        }
    }

    /// musl checks neither versions nor executable stacks (ldso/dynlink.c).
    fn musl_message(&self) -> String {
        let load = |name: &str, problem: &str, needed_by: &Option<String>| {
            let user = needed_by.iter().map(|by| format!(" (needed by {by})"));
            let user: String = user.collect();
            format!("Error loading shared library {name}: {problem}{user}")
        };
        match self {
            Fault::Missing {
                name, needed_by, ..
            } => load(name, "No such file or directory", needed_by),
            Fault::Broken {
                name, needed_by, ..
            } => load(name, "Exec format error", needed_by),
            Fault::Symbol { object, symbol, .. } => {
                format!("Error relocating {object}: {symbol}: symbol not found")
            }
            Fault::Version { .. } | Fault::ExecutableStack { .. } => String::new(),
        }
    }
}
