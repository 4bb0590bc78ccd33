//! Bounds on what an image may ask of the program that reads it. Each has a name, a default and an option; passing one is an
//! error that says which, what was met, and how to raise it. An image of which something was left out would be a pass that
//! nobody earned, so no limit of these ever shortens what is read. (Where a reading is told to be none, as when a library has more
//! candidates for its version than any real one, that is part of what the reading means.)

pub mod unit;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::spelling::{InvalidInput, nearest};
use unit::{GIB, KIB, MIB, Unit};

/// A limit as users know it.
#[derive(Debug)]
struct Description {
    limit: Limit,
    name: &'static str,
    unit: Unit,
    default: u64,
    about: &'static str,
}

/// A row: the limit, its name, its unit, its default, what it bounds.
macro_rules! descriptions {
    ($($limit:ident $name:literal $unit:ident $default:expr, $about:literal;)*) => {
        /// Everything that is bounded.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Limit {
            $(#[doc = $about] $limit,)*
        }

        /// All limits, in the order of [`Limit`].
        pub const ALL: &[Limit] = &[$(Limit::$limit),*];

        const DESCRIPTIONS: &[Description] = &[$(Description {
            limit: Limit::$limit,
            name: $name,
            unit: Unit::$unit,
            default: $default,
            about: $about,
        }),*];
    };
}

descriptions! {
    Layers "layers" Count 1_000, "layers of an image";
    Entries "entries" Count 2_000_000, "files, directories and links of all layers of an image";
    PathBytes "path-bytes" Bytes 16 * KIB, "length of a path or of the target of a link";
    LayerBytes "layer-bytes" Bytes 256 * GIB, "length of a layer after decompression";
    Ratio "ratio" Count 250, "decompressed bytes for each stored byte of a layer of more than 4 GiB";
    ZstdWindow "zstd-window" Bytes 128 * MIB, "memory that a zstd layer asks for as its window";
    PaxBytes "pax-bytes" Bytes MIB, "length of an extended header of an archive";
    SparseSegments "sparse-segments" Count 65_536, "stored pieces of a sparse file";
    SparseBytes "sparse-bytes" Bytes 16 * GIB, "length of the sparse ELF files of a layer with their holes";
    DocumentBytes "document-bytes" Bytes 4 * MIB, "length of a manifest, index or image configuration";
    DocumentsBytes "documents-bytes" Bytes 64 * MIB, "length of all manifests, indexes and configurations of a source";
    Manifests "manifests" Count 2_000, "manifests that the indexes of a source list";
    TextBytes "text-bytes" Bytes 32 * MIB, "length of a text that is captured, such as package metadata or ld.so.cache";
    TextsBytes "texts-bytes" Bytes 256 * MIB, "length of all captured texts of an image";
    FactsBytes "facts-bytes" Bytes GIB, "memory for what is kept of all layers of an image: paths, names, symbols";
    ElfTableBytes "elf-table-bytes" Bytes 256 * MIB, "length of a symbol, string or hash table of an ELF file";
    Symbols "symbols" Count 5_000_000, "symbols of an ELF file";
    GpuContainers "gpu-containers" Count 1_000_000, "fat binary containers of an ELF file, and entries in them";
    ElfBytes "elf-bytes" Bytes 768 * MIB, "parts of an ELF file for which a compressed layer is read again";
    Requirements "requirements" Count 10_000_000, "comparisons of Python requirements with what is installed";
    RuleItems "rule-items" Count 10_000, "elements of a list that a rule is evaluated for";
    RuleTime "rule-time" Seconds 10, "how long one rule may look at one image";
    Time "time" Seconds 2 * 60 * 60, "how long the whole call may take";
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

    /// What it bounds, as half a sentence.
    pub fn about(self) -> &'static str {
        self.description().about
    }

    /// The limit of this name.
    ///
    /// # Errors
    /// No limit has the name; the text says what was probably meant.
    pub fn named(name: &str) -> Result<Self, InvalidInput> {
        let known = DESCRIPTIONS.iter().find(|it| it.name == name);
        known.map(|it| it.limit).ok_or_else(|| {
            let names = || DESCRIPTIONS.iter().map(|it| it.name);
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            InvalidInput {
                problem: format!("there is no limit `{name}`"),
                help,
            }
        })
    }

    /// A value as users write it: `20000`, `64MiB`, `30s`.
    ///
    /// # Errors
    /// The text is none, or is nothing.
    pub fn parse(self, text: &str) -> Result<u64, InvalidInput> {
        let value = self.unit().parse(text);
        value
            .filter(|&value| value > 0)
            .ok_or_else(|| InvalidInput {
                problem: format!("`{text}` is no value of the limit {}", self.name()),
                help: self.unit().example().to_owned(),
            })
    }

    /// A value as users write it.
    pub fn written(self, value: u64) -> String {
        self.unit().written(value)
    }
}

/// The values that hold for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits([u64; DESCRIPTIONS.len()]);

impl Default for Limits {
    fn default() -> Self {
        Limits(std::array::from_fn(|at| DESCRIPTIONS[at].default))
    }
}

impl Limits {
    /// The value of one.
    pub fn of(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }

    /// The value of one that is a time.
    pub fn duration(&self, limit: Limit) -> Duration {
        Duration::from_secs(self.of(limit))
    }

    /// Puts another value in its place.
    pub fn set(&mut self, limit: Limit, value: u64) {
        self.0[limit as usize] = value;
    }

    /// Whether so much is allowed.
    ///
    /// # Errors
    /// It is more than the limit.
    pub fn check(&self, limit: Limit, met: u64) -> Result<(), Passed> {
        match met > self.of(limit) {
            true => Err(self.passed(limit, met)),
            false => Ok(()),
        }
    }

    /// The error of meeting more than the limit.
    pub fn passed(&self, limit: Limit, met: u64) -> Passed {
        Passed {
            limit,
            met,
            allowed: self.of(limit),
        }
    }
}

/// A limit that something passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub struct Passed {
    /// Which.
    pub limit: Limit,
    /// How much there is, or how much had been met when the count was ended.
    pub met: u64,
    /// The value of the limit.
    pub allowed: u64,
}

impl fmt::Display for Passed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Passed {
            limit,
            met,
            allowed,
        } = *self;
        let name = limit.name();
        let (met, allowed) = (limit.written(met), limit.written(allowed));
        let has = match limit.unit() {
            Unit::Seconds => "took",
            Unit::Count | Unit::Bytes => "has",
        };
        write!(
            formatter,
            "the limit {name} ({}) is {allowed}, this {has} {met} or more",
            limit.about()
        )
    }
}

impl Passed {
    /// How to raise it.
    pub fn help(&self) -> String {
        let name = self.limit.name();
        let enough = self.met.max(self.allowed.saturating_mul(2));
        let enough = self.limit.written(enough);
        format!(
            "if the image is to be trusted, raise it: --limit {name}={enough}, or `limits: {{{name}: {enough}}}` in the configuration"
        )
    }
}

/// One limit with its value, as on the command line: `NAME=VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub limit: Limit,
    /// Its value.
    pub value: u64,
}

impl FromStr for Setting {
    type Err = InvalidInput;

    fn from_str(text: &str) -> Result<Self, InvalidInput> {
        let (name, value) = text.split_once('=').ok_or_else(|| InvalidInput {
            problem: format!("`{text}` is not of the form NAME=VALUE"),
            help: "write a limit and its value, as in entries=5000000".to_owned(),
        })?;
        let limit = Limit::named(name.trim())?;
        let value = limit.parse(value.trim())?;
        Ok(Setting { limit, value })
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
            assert_eq!(limit.parse(&limit.written(default)), Ok(default));
        }
    }

    #[test]
    fn values_as_people_write_them() {
        for (text, limit, value) in [
            ("entries=5000000", Limit::Entries, 5_000_000),
            ("entries = 5_000_000", Limit::Entries, 5_000_000),
            ("path-bytes=64KiB", Limit::PathBytes, 64 << 10),
            ("layer-bytes=2TB", Limit::LayerBytes, 2_000_000_000_000),
            ("time=90", Limit::Time, 90),
            ("time=2h", Limit::Time, 7200),
        ] {
            assert_eq!(text.parse(), Ok(Setting { limit, value }), "{text}");
        }
        for text in [
            "entries",
            "entries=",
            "entries=0",
            "entries=5MB",
            "entries=-1",
            "time=2 days",
            "layer-bytes=99999999TiB",
        ] {
            assert!(text.parse::<Setting>().is_err(), "{text}");
        }
        let misread = "entrys=5".parse::<Setting>().unwrap_err();
        assert_eq!(misread.help, "did you mean `entries`?");
    }

    #[test]
    fn an_error_says_which_what_and_how() {
        let limits = Limits::default();
        assert_eq!(limits.check(Limit::PathBytes, 16 << 10), Ok(()));
        let passed = limits.check(Limit::PathBytes, 20_000).unwrap_err();
        assert_eq!(
            passed.to_string(),
            "the limit path-bytes (length of a path or of the target of a link) is 16KiB, this has 20000B or more"
        );
        assert!(
            passed.help().contains("--limit path-bytes=32KiB"),
            "{}",
            passed.help()
        );
    }
}
