//! The recipe table (`rules/knowledge/libraries.yaml`): by which exports a library is known, and which readers know its version.

use std::sync::OnceLock;

use regex::bytes::Regex;
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use imgcheck_base::error::Result;
use imgcheck_base::yaml;

use super::number_format::NumberFormat;
use super::pattern::Pattern;
use super::readers::Reader;

/// A recipe table.
#[derive(Debug)]
pub struct Recipes {
    pub(crate) libraries: Vec<Library>,
    pub(crate) everywhere: Vec<ReadingRecipe>,
    pub(crate) unidentified: Option<Unidentified>,
    /// xxh3-64 of every export that a recipe names, sorted.
    names: Vec<u64>,
    /// Patterns of the exported data objects that recipes ask for, once a file has such an object.
    objects: OnceLock<Vec<Regex>>,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct File {
    libraries: Vec<Library>,
    #[serde(default)]
    everywhere: Vec<ReadingRecipe>,
    #[serde(default)]
    unidentified: Option<Unidentified>,
}

/// One library.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Library {
    pub library: String,
    /// The files that the recipe was established on, for readers of the table.
    #[serde(rename = "source")]
    _source: String,
    /// Its files; the first one that matches counts.
    pub files: Vec<Signature>,
    #[serde(default)]
    pub readings: Vec<ReadingRecipe>,
}

/// By what a file of a library is known. All conditions that are given must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Signature {
    /// What the file is called, in a library that consists of several.
    pub part: Option<String>,
    /// All of these are exported.
    pub exports: Vec<String>,
    /// At least one of these is exported.
    pub any_export: Vec<String>,
    /// A data object of four bytes with such a name is exported.
    pub object: Option<Pattern>,
    /// DT_SONAME matches.
    pub soname: Option<Pattern>,
    /// At least one DT_NEEDED matches.
    pub needed: Option<Pattern>,
    /// An exported function only returns a constant.
    pub returns: Option<Returns>,
    /// The file is small and contains such a string.
    pub text: Option<Pattern>,
}

/// A function that only returns a constant.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Returns {
    pub export: String,
    pub value: u32,
}

/// How one fact is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ReadingRecipe {
    /// As in [`Reading::fact`](super::facts::Reading::fact).
    pub fact: String,
    pub from: Reader,
    /// How an export gives a number.
    #[serde(default)]
    pub decode: NumberFormat,
    /// The parts that have it; all if empty.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Only in the deep reading.
    #[serde(default)]
    pub deep: bool,
    /// Also in the default reading of files with GPU code and little machine code.
    #[serde(default)]
    pub small_gpu_files: bool,
    /// In the default reading, only if no earlier reading gave the fact.
    #[serde(default)]
    pub fallback: bool,
}

/// What a file is called that no library claims but for which a reading of `everywhere` gave a value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Unidentified {
    pub library: String,
    pub part: Option<String>,
}

impl Recipes {
    /// Reads a recipe table; `name` is the path of the file as the user gave it.
    ///
    /// # Errors
    /// The table is invalid; the message says where.
    #[inline] // only tests call it: the program reads the compiled table, and need not hold the reader
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        yaml::parse(name, text).map(Recipes::new)
    }

    /// The recipes of a table.
    pub fn new(file: File) -> Self {
        let mut names = Vec::new();
        for library in &file.libraries {
            for file in &library.files {
                names.extend(file.exports.iter().chain(&file.any_export).map(hash));
                names.extend(file.returns.iter().map(|it| hash(&it.export)));
            }
            for reading in &library.readings {
                names.extend(reading.from.exports().into_iter().map(hash));
            }
        }
        names.sort_unstable();
        names.dedup();
        Recipes {
            libraries: file.libraries,
            everywhere: file.everywhere,
            unidentified: file.unidentified,
            names,
            objects: OnceLock::new(),
        }
    }

    /// Whether a recipe looks at the export with this name and hash. `object` is the size of a data object.
    pub(crate) fn asks_for(&self, name: &[u8], hash: u64, object: Option<u64>) -> bool {
        self.names.binary_search(&hash).is_ok()
            || object == Some(4) && self.objects().iter().any(|it| it.is_match(name))
    }

    fn objects(&self) -> &[Regex] {
        let patterns = |library: &Library| {
            let files = library.files.iter();
            let files = files.filter_map(|it| it.object.as_ref()?.regex().cloned());
            let readings = library.readings.iter();
            let readings = readings.filter_map(|it| it.from.object().cloned());
            files.chain(readings).collect::<Vec<_>>()
        };
        self.objects
            .get_or_init(|| self.libraries.iter().flat_map(patterns).collect())
    }
}

fn hash(name: impl AsRef<str>) -> u64 {
    xxh3_64(name.as_ref().as_bytes())
}
