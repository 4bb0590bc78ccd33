//! The built-in knowledge: the only module that reads the tables of `rules/knowledge/`. It hands them to those who need them.
//!
//! The types of the tables are beside the code that uses them. Expressions see the tables as they are (`known.…`): those belong to
//! the rules.

use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::claims::Grammar;
use crate::claims::unpublished::knowledge::{Form, Publications, Release, Tags, Terms};
use crate::imports;
use crate::process;
use crate::settings::{NamesTable, Settings, SettingsTable};
use crate::size::Caches;
use crate::stack::container_toolkit::ToolkitKnowledge;
use crate::stack::{Catalogue, NamingVariables, ToolkitRow};
use crate::targets::{self, DriverTable, GpuNames, GpuTable};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::parallel;
use imgcheck_base::progress::NoProgress;
use imgcheck_elf::{Depth, Recipes};
use imgcheck_launch as launch;
use imgcheck_layer::{FilePatterns, LayerReader, ReadContext};
use imgcheck_source::cache::Cache;

/// All tables that judging an image needs, read once.
#[derive(Debug)]
pub struct Knowledge {
    /// How versions are written into tags, labels and variables.
    pub grammar: Grammar,
    /// Which package belongs to which component.
    pub catalogue: Catalogue,
    /// The releases of the CUDA toolkit with their drivers.
    pub toolkits: Vec<ToolkitRow>,
    /// GPUs and drivers.
    pub targets: targets::Tables,
    /// By which names GPUs are known outside of NVIDIA's tools.
    pub gpu_names: GpuNames,
    /// The day on which the tables were last compared with what is published: `2026-11-21`.
    pub date: String,
    /// What shells and wrappers do before the program of a container runs.
    pub launch: launch::Knowledge,
    /// What the import of a Python module rests on.
    pub modules: imports::Knowledge,
    /// Directories that programs which install fill.
    pub caches: Caches,
    processes: OnFirstUse<process::Knowledge>,
}

impl Knowledge {
    /// Reads the tables.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude. The same holds for all functions of this module.
    pub fn read() -> Result<Self> {
        Ok(Knowledge {
            grammar: grammar()?,
            catalogue: catalogue()?,
            toolkits: toolkits()?,
            targets: targets()?,
            gpu_names: table("gpu-names")?,
            date: date()?,
            launch: launch()?,
            modules: table("python-modules")?,
            caches: caches()?,
            processes: OnFirstUse::default(),
        })
    }

    /// What the import of a Python package loads.
    pub fn processes(&self) -> Result<&process::Knowledge> {
        self.processes.get_or_make(processes)
    }
}

/// Directories that programs which install fill.
pub fn caches() -> Result<Caches> {
    Caches::new(table("size")?)
}

/// How versions are written into tags, labels and variables. The patterns are compiled when a reference first needs them.
pub fn grammar() -> Result<Grammar> {
    Ok(Grammar::new(tables("tags")?))
}

/// What is published, and where.
pub fn publications() -> Result<Publications> {
    #[derive(Deserialize)]
    struct Releases {
        releases: Vec<Release>,
    }
    #[derive(Deserialize)]
    struct Toolkit {
        toolkit: String,
    }
    #[derive(Deserialize)]
    struct Toolkits {
        toolkits: Vec<Toolkit>,
    }
    #[derive(Deserialize)]
    struct Forms {
        tags: Vec<Form>,
    }
    let terms: Terms = table("publications")?;
    let Releases { releases } = table(&terms.framework.releases)?;
    let Toolkits { toolkits } = table(&terms.toolkit.releases)?;
    let tags: Tags = table(&terms.framework.tags)?;
    let Forms { tags: forms } = table("never-published")?;
    Ok(Publications {
        releases,
        tags,
        toolkits: toolkits.into_iter().map(|it| it.toolkit).collect(),
        forms,
        terms,
    })
}

/// Which package belongs to which component.
pub fn catalogue() -> Result<Catalogue> {
    let packages: Catalogue = table("packages")?;
    Ok(packages.with(
        container_toolkit()?,
        table("requirements")?,
        table("python-startup")?,
        table("python-options")?,
        (table("tools")?, table("network")?, naming_variables()?),
    ))
}

/// What the container toolkit brings into a container, and which CUDA each driver branch has.
pub fn container_toolkit() -> Result<ToolkitKnowledge> {
    Ok(ToolkitKnowledge::new(
        table("capabilities")?,
        table("drivers")?,
    ))
}

/// The releases of the CUDA toolkit with their drivers.
pub fn toolkits() -> Result<Vec<ToolkitRow>> {
    #[derive(Deserialize)]
    struct Releases {
        toolkits: Vec<ToolkitRow>,
    }
    table("cuda").map(|releases: Releases| releases.toolkits)
}

/// The day on which the tables were last compared with what is published.
pub fn date() -> Result<String> {
    #[derive(Deserialize)]
    struct Collected {
        date: String,
    }
    table("collected").map(|collected: Collected| collected.date)
}

/// The day on which each table was compared with what is published, by its path below `rules/knowledge/` without an ending; tables
/// that do not say it are left out.
pub fn dates() -> Vec<(&'static str, &'static str)> {
    let texts = imgcheck_tables::files("knowledge").into_iter();
    let dates = texts.filter_map(|(path, text)| {
        let mut lines = text.lines();
        let date = lines.find_map(|line| line.strip_prefix("# Collected "))?;
        let path = path.strip_prefix("knowledge/")?.strip_suffix(".yaml")?;
        Some((path, date.trim_end_matches('.')))
    });
    dates.collect()
}

/// GPUs and drivers.
pub fn targets() -> Result<targets::Tables> {
    Ok(targets::Tables {
        gpus: gpus()?,
        drivers: DriverTable::new(table("drivers")?, table("cuda")?),
    })
}

/// GPUs.
pub fn gpus() -> Result<GpuTable> {
    Ok(GpuTable::new(table("gpus")?, table("cuda")?))
}

/// What shells and wrappers do before the program of a container runs.
pub fn launch() -> Result<launch::Knowledge> {
    table("launch")
}

/// What the variables of GPU packages may say.
pub fn settings() -> Result<Settings> {
    let flags: NamesTable = table("xla-flags")?;
    Ok(Settings::new(table::<SettingsTable>("settings")?, flags))
}

/// The variables whose values name files or modules.
fn naming_variables() -> Result<NamingVariables> {
    #[derive(Deserialize)]
    struct Modules {
        builtin: Vec<String>,
    }
    let settings = settings()?;
    let Modules { builtin } = table("python-modules")?;
    Ok(NamingVariables {
        directories: settings.of_directories(),
        modules: settings.of_modules(),
        builtin,
    })
}

/// What the import of a Python package loads.
pub fn processes() -> Result<process::Knowledge> {
    process::Knowledge::new(
        tables("processes")?,
        table("loader/order")?,
        table("loader/host")?,
        table("loader/sonames")?,
        &table("loader/executables")?,
        &table("loader/package-stores")?,
        &table("loader/optional-modules")?,
    )
}

/// By which exports a library is known, and where its version is.
pub fn recipes() -> Result<Recipes> {
    table("libraries").map(Recipes::new)
}

/// Which files of a layer are captured.
pub fn file_patterns() -> Result<FilePatterns> {
    FilePatterns::new(&table("files")?)
}

/// A reader of layers, with its own capacity.
pub fn layer_reader(cache: Cache) -> Result<LayerReader> {
    let (patterns, recipes) = parallel::both(file_patterns, recipes);
    Ok(LayerReader::new(patterns?, recipes?, cache))
}

/// A request to read layers, with the default limits, no cache and no progress: for tests.
pub fn read_context(depth: Depth) -> Result<ReadContext<'static>> {
    let reader = layer_reader(Cache::default())?;
    Ok(reader.request(depth, Bounds::default(), &NoProgress))
}

/// One table, by its path below `rules/knowledge/` without an ending.
pub fn table<T: DeserializeOwned>(path: &str) -> Result<T> {
    imgcheck_tables::read(path).map_err(|problem| Error::Rule { problem })
}

/// The tables of a directory of `rules/knowledge/`, in order of their names.
fn tables<T: DeserializeOwned>(directory: &str) -> Result<Vec<T>> {
    let paths = imgcheck_tables::tables_in(directory).into_iter();
    paths.map(table).collect()
}

/// A value that is expensive to make, and that many commands do not need.
#[derive(Debug)]
pub struct OnFirstUse<T>(OnceLock<T>);

impl<T> Default for OnFirstUse<T> {
    fn default() -> Self {
        OnFirstUse::new()
    }
}

impl<T> OnFirstUse<T> {
    /// Not made yet.
    pub const fn new() -> Self {
        OnFirstUse(OnceLock::new())
    }

    /// The value; `make` makes it if it does not exist yet.
    ///
    /// # Errors
    /// The errors of `make`; the next call tries again.
    pub fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(value) = self.0.get() {
            return Ok(value);
        }
        let made = make()?;
        Ok(self.0.get_or_init(|| made))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_date_is_that_of_the_newest_table() {
        let newest = dates().into_iter().map(|(_, date)| date).max();
        assert_eq!(
            newest,
            Some(date().unwrap().as_str()),
            "set the date in rules/knowledge/collected.yaml"
        );
    }
}
