//! Limits on what an image can demand of the program that reads it. Exceeding one is an error that names the limit, the value found,
//! and the option that raises it: a limit never shortens silently what is examined.
//!
//! To add a limit, add a row to the table below.

pub mod unit;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::spelling::{InvalidInput, nearest};
use unit::{GIB, KIB, MIB, Unit};

/// A row of the table.
#[derive(Debug)]
struct Description {
    limit: Limit,
    name: &'static str,
    scope: Scope,
    unit: Unit,
    default: u64,
    about: &'static str,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Something of one layer: facts within one value of the limit are not valid within another.
    Layer,
    /// Something of an image, a source or a run.
    Image,
}

/// A row: the limit, its name, its scope, its unit, its default, what it limits.
macro_rules! descriptions {
    ($($limit:ident $name:literal $scope:ident $unit:ident $default:expr, $about:literal;)*) => {
        /// A limit.
        ///
        /// ```
        /// assert_eq!(imgcheck_base::limits::Limit::Layers.name(), "layers");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Limit {
            $(#[doc = $about] $limit,)*
        }

        /// All limits, in the order of [`Limit`].
        pub const ALL: &[Limit] = &[$(Limit::$limit),*];

        const DESCRIPTIONS: &[Description] = &[$(Description {
            limit: Limit::$limit,
            name: $name,
            scope: Scope::$scope,
            unit: Unit::$unit,
            default: $default,
            about: $about,
        }),*];
    };
}

descriptions! {
    Layers "layers" Image Count 1_000, "layers of an image";
    Entries "entries" Layer Count 2_000_000, "files, directories and links of all layers of an image";
    PathBytes "path-bytes" Layer Bytes 16 * KIB, "length of a path or of a link target";
    LayerBytes "layer-bytes" Layer Bytes 256 * GIB, "length of a layer after decompression";
    Ratio "ratio" Layer Count 250, "decompressed bytes per stored byte, for layers of more than 4 GiB";
    ZstdWindow "zstd-window" Layer Bytes 128 * MIB, "window size of a zstd layer";
    PaxBytes "pax-bytes" Layer Bytes MIB, "length of a pax header of an archive";
    SparseSegments "sparse-segments" Layer Count 65_536, "segments of a sparse file";
    SparseBytes "sparse-bytes" Layer Bytes 16 * GIB, "expanded length of all sparse ELF files of a layer";
    DocumentBytes "document-bytes" Image Bytes 4 * MIB, "length of a manifest, index or image configuration";
    DocumentsBytes "documents-bytes" Image Bytes 64 * MIB, "length of all manifests, indexes and configurations of a source";
    Manifests "manifests" Image Count 2_000, "manifests that the indexes of a source list";
    TextBytes "text-bytes" Layer Bytes 32 * MIB, "length of a file that is captured whole, such as package metadata or ld.so.cache";
    TextsBytes "texts-bytes" Layer Bytes 256 * MIB, "length of all files of an image that are captured whole";
    FactsBytes "facts-bytes" Layer Bytes GIB, "memory for the facts of all layers of an image: paths, names, symbols";
    ElfTableBytes "elf-table-bytes" Layer Bytes 256 * MIB, "length of a symbol, string or hash table of an ELF file";
    Symbols "symbols" Layer Count 5_000_000, "symbols of an ELF file";
    GpuContainers "gpu-containers" Layer Count 1_000_000, "GPU fat binaries of an ELF file, and entries in them";
    ElfBytes "elf-bytes" Layer Bytes 768 * MIB, "bytes of an ELF file for which a compressed layer is read again";
    LoaderObjects "loader-objects" Image Count 20_000, "files that all processes map";
    LoaderDirectories "loader-directories" Image Count 4_096, "directories of one library search path";
    LoaderLookups "loader-lookups" Image Count 1_000_000, "directories in which the loader looks for the libraries of all processes";
    LoaderSymbols "loader-symbols" Image Count 50_000_000, "symbol lookups of all processes";
    LoaderFaults "loader-faults" Image Count 50_000, "libraries and versions that all processes miss";
    PythonDirectories "python-directories" Image Count 1_000, "directories that Python imports from, of one environment";
    PythonLookups "python-lookups" Image Count 5_000_000, "directories in which all Pythons look for modules";
    Programs "programs" Image Count 16, "programs linked to GPU libraries that are examined; the report counts the others";
    Requirements "requirements" Image Count 10_000_000, "comparisons of Python requirements with installed packages";
    RuleItems "rule-items" Image Count 10_000, "elements of a list that a rule is evaluated for";
    RuleTime "rule-time" Image Seconds 10, "time to evaluate one rule on one image";
    Time "time" Image Seconds 2 * 60 * 60, "time for the whole run";
}

impl Limit {
    fn description(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    /// All limits.
    pub fn all() -> &'static [Limit] {
        ALL
    }

    /// The name on the command line and in the configuration file.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        self.description().unit
    }

    /// What it limits, as a noun phrase.
    pub fn about(self) -> &'static str {
        self.description().about
    }

    /// Whether the facts of a layer depend on it.
    pub fn applies_to_layers(self) -> bool {
        self.description().scope == Scope::Layer
    }

    /// Finds a limit by name.
    ///
    /// # Errors
    /// No limit has the name.
    pub fn named(name: &str) -> Result<Self, InvalidInput> {
        let known = DESCRIPTIONS.iter().find(|it| it.name == name);
        known.map(|it| it.limit).ok_or_else(|| {
            let names = || DESCRIPTIONS.iter().map(|it| it.name);
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known limits: {}", names().collect::<Vec<_>>().join(", ")),
            };
            InvalidInput {
                problem: format!("unknown limit `{name}`"),
                help,
            }
        })
    }

    /// Parses a value: `20000`, `64MiB`, `30s`.
    ///
    /// # Errors
    /// The text is not a value of this limit, or zero.
    pub fn parse(self, text: &str) -> Result<u64, InvalidInput> {
        let value = self.unit().parse(text);
        value
            .filter(|&value| value > 0)
            .ok_or_else(|| InvalidInput {
                problem: format!(
                    "`{text}` is not a valid value for the limit {}",
                    self.name()
                ),
                help: self.unit().example().to_owned(),
            })
    }

    /// Parses a limit and its value, as on the command line: `NAME=VALUE`.
    ///
    /// # Errors
    /// Same as [`named`](Self::named) and [`parse`](Self::parse), or the text has no `=`.
    pub fn parse_setting(text: &str) -> Result<(Self, u64), InvalidInput> {
        let (name, value) = text.split_once('=').ok_or_else(|| InvalidInput {
            problem: format!("`{text}` is not of the form NAME=VALUE"),
            help: "expected a limit and its value, such as entries=5000000".to_owned(),
        })?;
        let limit = Self::named(name.trim())?;
        Ok((limit, limit.parse(value.trim())?))
    }

    /// A value as text.
    pub fn format(self, value: u64) -> String {
        self.unit().format(value)
    }
}

/// A value for each limit.
///
/// ```
/// use imgcheck_base::limits::{Limit, Limits};
///
/// let mut limits = Limits::default();
/// limits.set(Limit::Layers, 200);
/// assert_eq!(limits.of(Limit::Layers), 200);
/// assert_eq!(Limit::parse_setting("path-bytes=64KiB").ok(), Some((Limit::PathBytes, 65_536)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits([u64; DESCRIPTIONS.len()]);

impl Default for Limits {
    fn default() -> Self {
        Limits(std::array::from_fn(|at| DESCRIPTIONS[at].default))
    }
}

impl Limits {
    /// The value of a limit.
    pub fn of(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }

    /// The value of a limit in seconds.
    pub fn duration(&self, limit: Limit) -> Duration {
        Duration::from_secs(self.of(limit))
    }

    /// Sets the value of a limit.
    pub fn set(&mut self, limit: Limit, value: u64) {
        self.0[limit as usize] = value;
    }

    /// Checks a value against a limit.
    ///
    /// # Errors
    /// It is larger.
    pub fn check(&self, limit: Limit, found: u64) -> Result<(), LimitExceeded> {
        match found > self.of(limit) {
            true => Err(self.exceeded(limit, found)),
            false => Ok(()),
        }
    }

    /// The error for a value that is larger than the limit.
    pub fn exceeded(&self, limit: Limit, found: u64) -> LimitExceeded {
        LimitExceeded {
            limit,
            found,
            allowed: self.of(limit),
        }
    }
}

/// What was used of limits that count for several pieces of work together. Clones share it.
#[derive(Debug, Clone)]
pub struct Usage(Arc<[AtomicU64; DESCRIPTIONS.len()]>);

impl Default for Usage {
    fn default() -> Self {
        Usage(Arc::new(std::array::from_fn(|_| AtomicU64::new(0))))
    }
}

impl Usage {
    /// Uses more of a limit, and returns what was used of it in all.
    pub fn add(&self, limit: Limit, more: u64) -> u64 {
        self.0[limit as usize].fetch_add(more, Ordering::Relaxed) + more
    }
}

/// A limit was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub struct LimitExceeded {
    /// The limit.
    pub limit: Limit,
    /// The value found, or the count at which counting stopped.
    pub found: u64,
    /// The value of the limit.
    pub allowed: u64,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitExceeded {
            limit,
            found,
            allowed,
        } = *self;
        write!(
            formatter,
            "exceeds the limit {} ({}): at least {}, {} allowed",
            limit.name(),
            limit.about(),
            limit.format(found),
            limit.format(allowed)
        )
    }
}

impl LimitExceeded {
    /// How to raise the limit.
    pub fn help(&self) -> String {
        let name = self.limit.name();
        let enough = self.found.max(self.allowed.saturating_mul(2));
        let enough = self.limit.format(enough);
        let condition = match self.limit {
            Limit::Time => "if everything answers, and only takes longer",
            _ => "if you trust the image",
        };
        format!(
            "{condition}, raise the limit: --limit {name}={enough}, or `limits: {{{name}: {enough}}}` in the configuration"
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_limit_has_its_own_row() {
        assert_eq!(ALL.len(), DESCRIPTIONS.len());
        for (at, limit) in ALL.iter().enumerate() {
            assert_eq!(*limit as usize, at);
            assert_eq!(Limit::named(limit.name()), Ok(*limit));
            let default = Limits::default().of(*limit);
            assert_eq!(limit.parse(&limit.format(default)), Ok(default));
        }
    }

    #[test]
    fn settings_are_parsed() {
        for (text, limit, value) in [
            ("entries=5000000", Limit::Entries, 5_000_000),
            ("entries = 5_000_000", Limit::Entries, 5_000_000),
            ("path-bytes=64KiB", Limit::PathBytes, 64 << 10),
            ("layer-bytes=2TB", Limit::LayerBytes, 2_000_000_000_000),
            ("layer-bytes=1.5GB", Limit::LayerBytes, 1_500_000_000),
            ("layer-bytes=0.25 GiB", Limit::LayerBytes, 256 << 20),
            ("time=90", Limit::Time, 90),
            ("time=2h", Limit::Time, 7200),
        ] {
            assert_eq!(Limit::parse_setting(text), Ok((limit, value)), "{text}");
        }
        for text in [
            "entries",
            "entries=",
            "entries=0",
            "entries=5MB",
            "entries=-1",
            "time=2 days",
            "layer-bytes=99999999TiB",
            "layer-bytes=1.5",
            "layer-bytes=1.5B",
            "layer-bytes=1.GB",
            "layer-bytes=.5GB",
        ] {
            assert!(Limit::parse_setting(text).is_err(), "{text}");
        }
        let misread = Limit::parse_setting("entrys=5").unwrap_err();
        assert_eq!(misread.help, "did you mean `entries`?");
    }

    #[test]
    fn an_error_names_the_limit_and_the_option() {
        let limits = Limits::default();
        assert_eq!(limits.check(Limit::PathBytes, 16 << 10), Ok(()));
        let exceeded = limits.check(Limit::PathBytes, 20_000).unwrap_err();
        assert_eq!(
            exceeded.to_string(),
            "exceeds the limit path-bytes (length of a path or of a link target): at least 20000B, 16KiB allowed"
        );
        assert!(
            exceeded.help().contains("--limit path-bytes=32KiB"),
            "{}",
            exceeded.help()
        );
    }
}
