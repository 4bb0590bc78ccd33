//! Installed Python distributions: `METADATA` of dist-info directories and `PKG-INFO` of egg-info ones (the core metadata
//! specification of the Python Packaging User Guide).

use crate::stack::catalogue::Catalogue;
use crate::stack::evidence::{is_version, refines};
use crate::stack::inventory::{Inventory, TextFile};
use crate::stack::{Distribution, EvidenceKind};
use imgcheck_base::version::requirement::normalized;

use super::listed_files::is_removed;
use super::package::{Owned, Package, Record};
use super::record::{Records, lines};
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_python::syntax::assigned_texts;

/// All distributions with readable metadata, sorted by path.
pub fn distributions(inventory: &Inventory) -> Vec<Distribution> {
    inventory
        .texts
        .iter()
        .filter_map(|file| distribution(file, site_of(&file.path)?))
        .collect()
}

/// The directory on Python's search path that a metadata file belongs to.
fn site_of(path: &str) -> Option<&str> {
    let directory = directory_of(path);
    match name_of(path) {
        "METADATA" if directory.ends_with(".dist-info") => Some(directory_of(directory)),
        "PKG-INFO" if directory.ends_with(".egg-info") => Some(directory_of(directory)),
        name if name.ends_with(".egg-info") => Some(directory),
        _ => None,
    }
}

fn distribution(file: &TextFile, site: &str) -> Option<Distribution> {
    let header = || file.text.lines().take_while(|line| !line.is_empty());
    let field = |name: &'static str| {
        header().filter_map(move |line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
    };
    let name = field("Name").next().filter(|name| !name.is_empty())?;
    let version = field("Version").next().filter(|text| is_version(text))?;
    Some(Distribution {
        name: normalized(name),
        version: version.to_owned(),
        requires: field("Requires-Dist").map(str::to_owned).collect(),
        site: site.to_owned(),
        path: file.path.clone(),
        layer: file.layer,
    })
}

/// The packages of the distributions, whose files are those that their RECORD lists; without one, those of the usual directory.
pub(super) fn packages(
    inventory: &Inventory,
    distributions: &[Distribution],
    records: &Records,
    catalogue: &Catalogue,
) -> Vec<Package> {
    let mut packages = Vec::new();
    for (number, distribution) in distributions.iter().enumerate() {
        let metadata = TextFile {
            path: distribution.path.clone(),
            layer: distribution.layer,
            text: "",
        };
        let file = version_file(inventory, distribution, catalogue);
        let (version, source) = match &file {
            Some((version, file)) => (*version, file),
            None => (distribution.version.as_str(), &metadata),
        };
        let record = Record {
            manager: EvidenceKind::PythonMetadata,
            name: &distribution.name,
            written: version,
            version,
            source,
            installed_in: distribution.site.clone(),
        };
        packages.extend(record.packages(catalogue, |row| {
            let directory = row.under.as_deref().unwrap_or(&row.component);
            let pattern = format!("{directory}/*");
            let Some(files) = records.owned(number, &pattern) else {
                return Some(Owned::Under(pattern));
            };
            let listed = lines(inventory, distribution).into_iter().flatten();
            let paths = listed.map(|it| format!("{}/{}", distribution.site, it.path));
            let is_removed = files.is_empty() && is_removed(inventory, catalogue, row, paths);
            (!is_removed).then_some(Owned::Files(files))
        }));
    }
    packages
}

/// `2.11.0+cu130` in the file that a distribution says its version in, if its metadata only say `2.11.0`.
fn version_file<'r>(
    inventory: &Inventory<'r>,
    distribution: &Distribution,
    catalogue: &Catalogue,
) -> Option<(&'r str, TextFile<'r>)> {
    let mut rows = catalogue.rows(EvidenceKind::PythonMetadata, &distribution.name);
    let path = rows.find_map(|row| row.version_file.as_ref())?;
    let file = inventory.text(&format!("{}/{path}", distribution.site))?;
    let version = assigned_texts(file.text).remove("__version__")?;
    (is_version(version) && refines(version, &distribution.version)).then_some((version, file))
}
