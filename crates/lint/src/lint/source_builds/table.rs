//! The table of packages that are built from source.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::lint::facts::Pin;
use crate::lint::pin_tables::is_in;
use imgcheck_base::error::Result;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// `rules/knowledge/source-builds.yaml`, which says what each field means.
#[derive(Debug, Deserialize)]
pub struct Builds {
    pub pip: Vec<Pip>,
    pub compilers: Vec<Compiler>,
    pub builds: Vec<Build>,
}

#[derive(Debug, Deserialize)]
pub struct Pip {
    pub releases: String,
    pub in_place: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Compiler {
    pub manager: String,
    pub prefix: String,
}

#[derive(Debug, Deserialize)]
pub struct Build {
    pub package: String,
    pub releases: Option<String>,
    pub origin: String,
    /// The repository, as `github.com/NVIDIA/apex`, and the addresses from which it moved.
    #[serde(default)]
    repository: String,
    #[serde(default)]
    moved_from: Vec<String>,
    #[serde(default, deserialize_with = "known")]
    pub pyproject: Option<bool>,
    #[serde(default, deserialize_with = "known")]
    pub imports_torch: Option<bool>,
    #[serde(default)]
    pub needs_nvcc: String,
    #[serde(default)]
    pub variables: Vec<String>,
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(default)]
    pub containing: Vec<String>,
    pub unless: Option<String>,
    pub nvcc_unless: Option<String>,
    #[serde(default, deserialize_with = "known")]
    pub wheels_on_pypi: Option<bool>,
}

/// `unknown` is a word of the table.
fn known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<bool>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_bool())
}

/// Whether the table has the build of a package that names its origin.
///
/// # Errors
/// The table is broken, which the tests exclude.
pub fn is_built_from(pin: &Pin) -> Result<bool> {
    Ok(Builds::builtin()?.of(pin).is_some())
}

/// An address without scheme, user, `.git`, branch and fragment: `github.com/NVIDIA/apex`.
pub fn without_git(address: &str) -> &str {
    let address = address.strip_prefix("git+").unwrap_or(address);
    let address = address.split_once("://").map_or(address, |(_, it)| it);
    let address = address.split('#').next().unwrap_or(address);
    let last = address.rfind('/').unwrap_or(0);
    let end = address[last..]
        .find('@')
        .map_or(address.len(), |it| it + last);
    let address = address[..end].trim_end_matches('/');
    let address = address.strip_suffix(".git").unwrap_or(address);
    address.rsplit_once('@').map_or(address, |(_, it)| it)
}

/// Whether the address of a package names a commit, so that its build may be an older one than the table is about.
pub fn names_commit(pin: &Pin) -> bool {
    let address = pin.specifier.split('#').next().unwrap_or_default();
    address.contains("git+") && address.rsplit('/').next().unwrap_or_default().contains('@')
}

impl Builds {
    /// The built-in table, which is read on first use.
    ///
    /// # Errors
    /// The table is broken, which the tests exclude.
    pub fn builtin() -> Result<&'static Self> {
        static BUILDS: OnFirstUse<Builds> = OnFirstUse::new();
        BUILDS.get_or_make(|| table("source-builds"))
    }

    /// The row of a package: of its release, of the newest one, or of its repository.
    pub fn of(&self, pin: &Pin) -> Option<&Build> {
        let address = pin.specifier.strip_prefix("@ ");
        let address = address.map(|it| it.strip_prefix("git+"));
        let origin = match address {
            Some(Some(_)) => "git",
            Some(None) => return None,
            None => "pypi",
        };
        let mut rows = self.builds.iter().rev();
        rows.find(|row| {
            let is_release = match (&row.releases, &pin.version) {
                (Some(releases), Some(version)) => is_in(version, releases),
                (None, _) => true,
                (_, None) => pin.specifier.is_empty() || origin == "git",
            };
            let is_named = row.package == pin.name;
            let is_same = is_named || address.flatten().is_some_and(|it| row.is_at(it));
            is_same && row.origin == origin && is_release
        })
    }
}

impl Build {
    /// Whether an address is that of its repository, and of the package in it.
    fn is_at(&self, address: &str) -> bool {
        // `git@github.com:NVIDIA/apex.git`
        let found = without_git(address).replace(':', "/");
        let below = address.split_once("subdirectory=").map(|(_, it)| it);
        let mut known = self.moved_from.iter().chain([&self.repository]);
        known.any(|it| {
            let (repository, own) = it.split_once("#subdirectory=").unwrap_or((it, ""));
            !it.is_empty()
                && found.eq_ignore_ascii_case(repository)
                && below.unwrap_or_default() == own
        })
    }
}
