//! All tables about processes, ready for use.

use std::collections::BTreeMap;

use globset::GlobSet;
use serde::Deserialize;

use super::plan::{FirstUse, LoadPlan, Preload, ReleasePlan};
use crate::globs::{broken, globs};
use imgcheck_base::error::Result;
use imgcheck_base::version;
use imgcheck_loader::HostLibrary;

/// The tables of `rules/knowledge/processes/` and `rules/knowledge/loader/`.
#[derive(Debug)]
pub struct Knowledge {
    plans: BTreeMap<String, LoadPlan>,
    /// The packages that are imported, in order.
    order: Vec<String>,
    /// The plan and position of each use, and the patterns of those that open it, side by side.
    uses: Vec<(String, usize)>,
    users: GlobSet,
    pub(super) host: Vec<HostLibrary>,
    pub(super) executables: Executables,
    /// Directories of packages that are installed elsewhere.
    pub(super) package_stores: GlobSet,
    /// Native modules that their packages do without.
    pub(super) optional_modules: GlobSet,
    sonames: BTreeMap<String, String>,
}

/// Which plain programs are processes of interest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExecutablesRow {
    libraries: Vec<String>,
    ignored_names: Vec<String>,
    ignored_directories: Vec<String>,
}

/// A file of `rules/knowledge/processes/`.
#[derive(Debug, Deserialize)]
pub struct PlanFile(LoadPlan);

/// Which plain programs are processes of interest.
#[derive(Debug)]
pub(super) struct Executables {
    /// A program that needs one of these is.
    pub libraries: GlobSet,
    /// Tools, by file name.
    pub ignored_names: GlobSet,
    /// Directories of tools.
    pub ignored_directories: GlobSet,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    order: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directories {
    directories: Vec<String>,
}

/// Native modules that their packages do without.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionalModules {
    modules: Vec<OptionalModule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionalModule {
    /// Pattern of the path below the directory of Python's search path.
    file: String,
    #[allow(dead_code, reason = "for readers of the table")]
    source: String,
}

impl OptionalModules {
    fn patterns(&self) -> Vec<String> {
        let files = self.modules.iter().map(|it| &it.file);
        files.map(|file| format!("**/{file}")).collect()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    libraries: Vec<HostLibrary>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sonames {
    cuda: BTreeMap<String, Vec<String>>,
}

impl Knowledge {
    /// What the files say.
    ///
    /// # Errors
    /// The files do not fit together.
    pub fn new(
        files: Vec<PlanFile>,
        order: Order,
        host: Host,
        sonames: Sonames,
        executables: &ExecutablesRow,
        package_stores: &Directories,
        optional_modules: &OptionalModules,
    ) -> Result<Self> {
        let mut plans = BTreeMap::new();
        for PlanFile(plan) in files {
            check(&plan).map_err(|problem| broken(&plan.package, &problem))?;
            plans.insert(plan.package.clone(), plan);
        }
        let (uses, users) = users(&plans)?;
        Ok(Knowledge {
            order: complete(order.order, &plans)?,
            uses,
            users,
            host: host.libraries,
            executables: compile(executables)?,
            package_stores: globs("loader/package-stores", &package_stores.directories)?,
            optional_modules: globs("loader/optional-modules", &optional_modules.patterns())?,
            sonames: by_soname(sonames),
            plans,
        })
    }

    pub(super) fn plan(&self, package: &str) -> Option<&LoadPlan> {
        self.plans.get(package)
    }

    /// The Python packages, in the order of their import.
    pub(super) fn packages(&self) -> impl Iterator<Item = &LoadPlan> {
        self.order.iter().filter_map(|name| self.plans.get(name))
    }

    /// The modules of the packages that are imported for themselves.
    pub fn modules(&self) -> Vec<String> {
        let packages = self.packages();
        let packages = packages.filter(|it| !it.companion && !it.directory.is_empty());
        packages.map(|it| it.directory.replace('/', ".")).collect()
    }

    /// What an object of this SONAME or file name opens at first use.
    pub(super) fn uses(&self, name: &str) -> Vec<(&LoadPlan, &FirstUse)> {
        let mut indices = self.users.matches(name);
        indices.dedup();
        let rows = indices.into_iter().map(|index| &self.uses[index]);
        let mut uses: Vec<&(String, usize)> = rows.collect();
        uses.dedup();
        uses.into_iter()
            .filter_map(|(plan, index)| {
                let plan = self.plans.get(plan)?;
                Some((plan, plan.uses.get(*index)?))
            })
            .collect()
    }

    /// Whether a library comes from the driver of the host.
    pub(super) fn is_host_provided(&self, name: &str) -> bool {
        self.host.iter().any(|library| library.name == name)
    }

    /// Major release of CUDA that a SONAME belongs to.
    pub(super) fn cuda_of(&self, soname: &str) -> Option<&str> {
        self.sonames.get(soname).map(String::as_str)
    }
}

impl LoadPlan {
    /// What the import of a version does; `None` if the table does not know that version.
    pub(super) fn release(&self, version: &str) -> Option<&ReleasePlan> {
        self.releases
            .iter()
            .find(|row| fits(version, &row.releases))
    }

    /// Whether a distribution brings this package.
    pub(super) fn is_brought_by(&self, distribution: &str) -> bool {
        self.distributions
            .iter()
            .any(|name| match name.split_once('*') {
                None => name == distribution,
                Some((before, after)) => {
                    distribution.len() >= before.len() + after.len()
                        && distribution.starts_with(before)
                        && distribution.ends_with(after)
                }
            })
    }
}

/// Whether the release numbers of a version satisfy specifiers; empty ones are satisfied by all, others not by an unknown
/// version. `2.8.0a0` counts as 2.8.0: vendors name their builds of that release so.
pub(super) fn fits(version: &str, specifiers: &str) -> bool {
    let Some(release) = version::release(version) else {
        return specifiers.is_empty();
    };
    let numbers: Vec<String> = release.iter().map(u64::to_string).collect();
    specifiers.is_empty() || version::satisfies(&numbers.join("."), specifiers) == Ok(Some(true))
}

/// The names that lists, layouts and specifiers must have.
fn check(plan: &LoadPlan) -> std::result::Result<(), String> {
    let specifiers = |text: &str| match text {
        "" => Ok(()),
        text => version::satisfies("1", text).map(|_| ()),
    };
    let preload = |preload: &Preload| {
        let known = plan.lists.contains_key(&preload.list);
        match known && plan.layouts.contains_key(&preload.layout) {
            true => Ok(()),
            false => Err(format!(
                "no such list or layout: {}, {}",
                preload.list, preload.layout
            )),
        }
    };
    for row in &plan.releases {
        specifiers(&row.releases)?;
        for step in &row.steps {
            if let super::plan::StepAction::Preload(list) = &step.action {
                preload(list)?;
            }
            if let Some(fallback) = &step.on_failure {
                preload(&fallback.preload)?;
            }
            if step.required && !matches!(step.action, super::plan::StepAction::Import(_)) {
                return Err("only an import is required".to_owned());
            }
            specifiers(&step.if_python)?;
            step.if_installed
                .values()
                .try_for_each(|it| specifiers(it))?;
            if let super::plan::StepAction::Choose(choice) = &step.action
                && (choice.nearest || !choice.override_by.is_empty())
                && !choice.file.contains("{cuda-digits}")
            {
                return Err(format!("choose: {} has no {{cuda-digits}}", choice.file));
            }
        }
    }
    let mut entries = plan.lists.values().flatten();
    entries.try_for_each(|entry| specifiers(&entry.cuda))?;
    for row in &plan.uses {
        specifiers(&row.releases)?;
        specifiers(&row.cuda)?;
    }
    match plan.distributions.is_empty() != plan.releases.is_empty() {
        true => Err("a package has distributions and releases, a library neither".to_owned()),
        false => Ok(()),
    }
}

/// The order of import, each package of the tables once: what the table does not name comes last, by name.
fn complete(order: Vec<String>, plans: &BTreeMap<String, LoadPlan>) -> Result<Vec<String>> {
    if let Some(name) = order.iter().find(|name| !plans.contains_key(*name)) {
        return Err(broken("loader/order", &format!("no such package: {name}")));
    }
    let rest = plans.keys().filter(|name| !order.contains(name)).cloned();
    let rest: Vec<String> = rest.collect();
    Ok(order.into_iter().chain(rest).collect())
}

fn users(plans: &BTreeMap<String, LoadPlan>) -> Result<(Vec<(String, usize)>, GlobSet)> {
    let mut uses = Vec::new();
    let mut patterns = Vec::new();
    for plan in plans.values() {
        for (index, row) in plan.uses.iter().enumerate() {
            for pattern in &row.by {
                uses.push((plan.package.clone(), index));
                patterns.push(pattern.clone());
            }
        }
    }
    Ok((uses, globs("processes", &patterns)?))
}

fn compile(row: &ExecutablesRow) -> Result<Executables> {
    const TABLE: &str = "loader/executables";
    Ok(Executables {
        libraries: globs(TABLE, &row.libraries)?,
        ignored_names: globs(TABLE, &row.ignored_names)?,
        ignored_directories: globs(TABLE, &row.ignored_directories)?,
    })
}

fn by_soname(rows: Sonames) -> BTreeMap<String, String> {
    let mut sonames = BTreeMap::new();
    for (cuda, names) in rows.cuda {
        sonames.extend(names.into_iter().map(|name| (name, cuda.clone())));
    }
    sonames
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_built_in_tables_are_whole() {
        let knowledge = crate::knowledge::processes().unwrap();
        assert!(knowledge.packages().count() > 10);
        assert!(!knowledge.uses("libcudnn.so.9").is_empty());
        assert!(knowledge.is_host_provided("libcuda.so.1"));
        assert_eq!(knowledge.cuda_of("libcudart.so.11.0"), Some("11"));
    }

    #[test]
    fn every_release_of_torch_since_1_13_has_one_row() {
        let knowledge = crate::knowledge::processes().unwrap();
        let torch = knowledge.plan("torch").unwrap();
        for (version, known) in [
            ("1.12.1", false),
            ("1.13.1+cu117", true),
            ("2.5.1", true),
            ("2.8.0a0+34c6371d24.nv25.8", true),
            ("2.10.0", true),
            ("2.99.0", true),
        ] {
            assert_eq!(torch.release(version).is_some(), known, "{version}");
        }
    }
}
