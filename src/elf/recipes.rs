//! The recipe table: by which exports a library is known, and where in its bytes its versions stand.
//!
//! A recipe is data (`rules/knowledge/libraries.yaml`); what it can ask for are the primitives of
//! [`constants`](super::constants) and the number formats of [`decode`](super::decode).

use regex::bytes::Regex;
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::embedded;
use crate::error::Result;
use crate::yaml;

use super::constants::Primitive;
use super::decode::Decoder;

/// A recipe table.
#[derive(Debug)]
pub struct Recipes {
    pub(super) libraries: Vec<Library>,
    pub(super) everywhere: Vec<ReadingRecipe>,
    pub(super) unidentified: Option<Unidentified>,
    /// xxh3-64 of every export that a recipe names, sorted.
    names: Vec<u64>,
    /// Patterns of the data objects that recipes ask for.
    objects: Vec<Regex>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    libraries: Vec<Library>,
    #[serde(default)]
    everywhere: Vec<ReadingRecipe>,
    #[serde(default)]
    unidentified: Option<Unidentified>,
}

/// One library.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Library {
    pub library: String,
    /// Where the recipe comes from; for people who read the table.
    #[serde(rename = "source")]
    _source: String,
    /// Its files; the first that fits counts.
    pub parts: Vec<Part>,
    #[serde(default)]
    pub readings: Vec<ReadingRecipe>,
}

/// One file of a library, known by all of the conditions that are given.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct Part {
    /// Name of the part, for a library that comes in several files.
    pub part: Option<String>,
    /// All of these are exported.
    pub exports: Vec<String>,
    /// One of these is exported.
    pub any_export: Vec<String>,
    /// A data object with such a name is exported.
    pub object: Option<Pattern>,
    /// DT_SONAME matches.
    pub soname: Option<Pattern>,
    /// One DT_NEEDED matches.
    pub needed: Option<Pattern>,
    /// The exported function does nothing but return this.
    pub returns: Option<Returns>,
    /// The file is small and contains such a string.
    pub text: Option<Pattern>,
}

/// A function that only returns a constant.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Returns {
    pub export: String,
    pub value: u32,
}

/// One reading.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ReadingRecipe {
    /// The fact that it gives, as in [`Reading::fact`](super::facts::Reading::fact).
    pub fact: String,
    /// How it is read.
    pub from: Primitive,
    /// What the number means; strings need none.
    #[serde(default)]
    pub decode: Decoder,
    /// The parts that have it; all if empty.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Only in the deep reading.
    #[serde(default)]
    pub deep: bool,
    /// In the default reading, only if no earlier reading gave the fact.
    #[serde(default)]
    pub fallback: bool,
}

/// What a file is called that no library claims, but in which one of the readings of `everywhere` was found.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Unidentified {
    pub library: String,
    pub part: Option<String>,
}

/// A regular expression over bytes.
#[derive(Debug, Clone)]
pub(super) struct Pattern(pub Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&format!("(?-u){text}"))
            .map(Pattern)
            .map_err(serde::de::Error::custom)
    }
}

impl Recipes {
    /// The built-in recipes.
    ///
    /// # Errors
    /// The table is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        embedded::knowledge("libraries").map(Recipes::of_file)
    }

    /// Reads a recipe table; `name` is the path of the file as the user gave it.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        yaml::parse(name, text).map(Recipes::of_file)
    }

    fn of_file(file: File) -> Self {
        let mut names = Vec::new();
        let mut objects = Vec::new();
        for library in &file.libraries {
            for part in &library.parts {
                names.extend(part.exports.iter().chain(&part.any_export).cloned());
                names.extend(part.returns.iter().map(|it| it.export.clone()));
                objects.extend(part.object.iter().map(|pattern| pattern.0.clone()));
            }
            for reading in &library.readings {
                names.extend(reading.from.exports().into_iter().map(str::to_owned));
                objects.extend(reading.from.object().map(|pattern| pattern.0.clone()));
            }
        }
        let mut names: Vec<u64> = names.iter().map(|it| xxh3_64(it.as_bytes())).collect();
        names.sort_unstable();
        names.dedup();
        Recipes {
            libraries: file.libraries,
            everywhere: file.everywhere,
            unidentified: file.unidentified,
            names,
            objects,
        }
    }

    /// Whether a recipe looks at this export. `object` is the size of a data object.
    pub(super) fn asks_for(&self, name: &[u8], hash: u64, object: Option<u64>) -> bool {
        self.names.binary_search(&hash).is_ok()
            || object == Some(4) && self.objects.iter().any(|it| it.is_match(name))
    }
}
