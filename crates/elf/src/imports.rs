//! The symbols that a file needs from others.
//!
//! An image of PyTorch has two hundred thousand, so their names are one text: they are read, copied and freed at once.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The undefined dynamic symbols of a file. Text formats have them as a list of [`Import`]s.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imports {
    /// All names, one after the other.
    names: String,
    rows: Vec<Row>,
}

/// An [`Import`], whose name follows that of the row before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    /// Length of the name in bytes.
    length: usize,
    version: Option<u16>,
    weak: bool,
    bound: Bound,
}

/// One undefined dynamic symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Import<'i> {
    /// Mangled name. Source: `st_name`.
    #[serde(borrow)]
    pub name: Cow<'i, str>,
    /// Index into all versions of `version_needs`, counted across files; missing without a version. Source: DT_VERSYM.
    pub version: Option<u16>,
    /// Whether it may stay undefined. Source: STB_WEAK.
    pub weak: bool,
    /// When it is looked up. Source: the relocations that refer to it.
    pub bound: Bound,
}

/// When glibc's loader looks a symbol up.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Never: no relocation refers to it, or it is hidden.
    Never,
    /// At load under RTLD_NOW, LD_BIND_NOW, DF_BIND_NOW or DF_1_NOW, otherwise when the function is first called: only the
    /// procedure linkage table (DT_JMPREL) refers to it.
    #[default]
    Lazy,
    /// Always at load.
    Now,
}

impl Imports {
    /// The symbols in their order.
    pub fn iter(&self) -> impl Iterator<Item = Import<'_>> {
        let mut start = 0_usize;
        self.rows.iter().map(move |row| {
            let name = self.names.get(start..start.saturating_add(row.length));
            start += name.map_or(0, str::len);
            Import {
                name: name.unwrap_or_default().into(),
                version: row.version,
                weak: row.weak,
                bound: row.bound,
            }
        })
    }

    /// Whether the file imports nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.names.len() + self.rows.len() * size_of::<Row>()
    }
}

impl<'i> FromIterator<Import<'i>> for Imports {
    fn from_iter<I: IntoIterator<Item = Import<'i>>>(imports: I) -> Self {
        let mut names = String::new();
        let rows = imports.into_iter().map(|import| {
            names.push_str(&import.name);
            Row {
                length: import.name.len(),
                version: import.version,
                weak: import.weak,
                bound: import.bound,
            }
        });
        Imports {
            rows: rows.collect(),
            names,
        }
    }
}

impl Serialize for Imports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_seq(self.iter()),
            false => (&self.names, &self.rows).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Imports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let imports = Vec::<Import>::deserialize(deserializer)?;
            return Ok(imports.into_iter().collect());
        }
        let (names, rows) = Deserialize::deserialize(deserializer)?;
        Ok(Imports { names, rows })
    }
}
