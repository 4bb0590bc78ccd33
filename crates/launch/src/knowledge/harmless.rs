//! Programs that change neither what runs nor what is loaded.

use serde::Deserialize;

use crate::options::Options;
use crate::value::Value;
use imgcheck_base::glob::matches_any;

/// A program that does not change what runs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Harmless {
    names: Vec<String>,
    /// Its options; with others it may do more. All are harmless if there is no list.
    pub options: Option<Options>,
    /// Options whose values are files that it writes.
    #[serde(default)]
    pub files: Vec<String>,
    /// Options with which it writes the files that it reads.
    #[serde(default)]
    pub rewrites: Vec<String>,
    pub writes: Option<Writes>,
    /// It only reads, whatever its options: of others than the listed ones, it is only unknown which operands they leave.
    #[serde(default)]
    pub only_reads: bool,
    /// The operands that are files without which it fails.
    pub needs: Option<Needs>,
    /// Flags with which it does not need them.
    #[serde(default)]
    pub unless: Vec<String>,
    /// It makes links, or copies them.
    #[serde(default)]
    pub links: bool,
    #[serde(default)]
    pub changes: Changes,
    /// It writes the cache of the loader anew.
    #[serde(default)]
    pub refreshes_cache: bool,
    /// Patterns of arguments with which it does more.
    #[serde(default)]
    except: Vec<String>,
    /// Patterns of the first arguments with which alone it is harmless; empty if it always is.
    #[serde(default)]
    only: Vec<String>,
}

/// The operands that are files which a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Writes {
    /// All.
    Operands,
    /// The last one.
    Last,
    /// The second one.
    Second,
    /// All: empty directories.
    Directories,
}

/// The operands of a program that decide whether it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Needs {
    /// All exist.
    Operands,
    /// All but the last exist, and so does the directory of the last.
    Sources,
    /// One of those behind the first exists. With several, the program may end before it opens the others.
    BehindFirst,
    /// The directories of all exist.
    Parents,
    /// The directories of all exist, and they do not.
    New,
}

/// What else a program changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Changes {
    #[default]
    Nothing,
    /// `chown`: the owner of files.
    Owner,
    /// `chmod`: the permissions of files.
    Permissions,
    /// `sed`: a text, by the script in its first operand or its option `-e`.
    Text,
}

impl Harmless {
    pub fn is_called(&self, name: &str) -> bool {
        self.names.iter().any(|it| it == name)
    }

    /// Whether these arguments may be harmless; one that is unknown may be any.
    pub fn may_be(&self, arguments: &[Value]) -> bool {
        let does_more = |argument: &str| matches_any(argument, &self.except);
        let first = arguments.first().and_then(Value::known);
        let is_listed = self.only.is_empty() || first.is_some_and(|it| matches_any(it, &self.only));
        let mut all = arguments.iter().map(Value::known);
        is_listed && all.all(|it| it.map_or(self.except.is_empty(), |it| !does_more(it)))
    }
}
