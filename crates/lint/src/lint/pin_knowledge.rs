//! What the tables say of packages that are pinned together: the releases of a framework, and what its partners require.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::facts::{Base, Pin, Stage};
use super::pin_tables::{
    BaseImages, CudaBuilds, CudaCheck, LibraryNeed, NvidiaPins, Partner, Partners, Release,
    RemovedExtra, Requirement, WheelTags, is_in,
};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::version::meets;
use imgcheck_base::version::requirement::normalized;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// The partners of a framework, with the tables that `rules/knowledge/partners.yaml` names.
#[derive(Debug)]
pub struct PinKnowledge {
    /// The partners themselves.
    pub partners: Partners,
    /// The releases of the framework, newest first.
    pub releases: Vec<Release>,
    /// What packages take from the system.
    pub needs: Vec<LibraryNeed>,
    /// The libraries that packages choose by the CUDA, oldest releases first.
    pub cuda_builds: Vec<CudaBuilds>,
    /// Packages that refuse a framework for another CUDA.
    cuda_checks: Vec<CudaCheck>,
    /// Which wheels releases have on PyPI.
    wheel_tags: Vec<WheelTags>,
    /// What releases require of NVIDIA's packages, and of a few others.
    nvidia_pins: Vec<NvidiaPins>,
    /// Extras that releases do not have.
    removed_extras: Vec<RemovedExtra>,
    /// By partner, what each of its releases requires, oldest first.
    requirements: HashMap<String, Vec<Requirement>>,
}

impl PinKnowledge {
    /// The built-in tables, which are read on first use.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn builtin() -> Result<&'static Self> {
        static KNOWLEDGE: OnFirstUse<PinKnowledge> = OnFirstUse::new();
        KNOWLEDGE.get_or_make(Self::read)
    }

    fn read() -> Result<Self> {
        #[derive(Deserialize)]
        struct Releases {
            releases: Vec<Release>,
        }
        let partners: Partners = table("partners")?;
        let lists: HashMap<String, Value> = table(&partners.requirements)?;
        let of_partner = |partner: &Partner| {
            let rows = lists.get(&partner.component).and_then(Value::as_array);
            let rows = rows.into_iter().flatten();
            let rows = rows.map(|row| Requirement::of_row(row, partner, &partners));
            let rows: Option<Vec<Requirement>> = rows.collect();
            let problem = || Error::Rule {
                problem: format!("a row of {} has no version", partner.component),
            };
            Ok((partner.component.clone(), rows.ok_or_else(problem)?))
        };
        let requirements = partners.partners.iter().map(of_partner);
        let requirements = requirements.collect::<Result<_>>()?;
        let Releases { releases } = table(&partners.releases)?;
        let needs = rows(&lists, "needs")?;
        let mut nvidia_pins: Vec<NvidiaPins> = rows(&lists, "nvidia_pins")?;
        nvidia_pins.extend(rows::<Vec<NvidiaPins>>(&lists, "required_pins")?);
        Ok(PinKnowledge {
            wheel_tags: rows(&lists, "wheel_tags")?,
            removed_extras: rows(&lists, "removed_extras")?,
            cuda_builds: rows(&lists, "cuda_builds")?,
            cuda_checks: rows(&lists, "cuda_checks")?,
            needs,
            nvidia_pins,
            partners,
            releases,
            requirements,
        })
    }

    /// The wheels that PyPI has of a package in one version.
    pub fn wheel_tags(&self, pin: &Pin) -> Option<&WheelTags> {
        let version = pin
            .version
            .as_deref()
            .filter(|_| pin.specifier.starts_with("=="))?;
        let is_of = |row: &&WheelTags| row.package == pin.name && is_in(version, &row.releases);
        self.wheel_tags.iter().find(is_of)
    }

    /// Whether a package refuses a framework for another minor release of CUDA, too.
    pub fn compares_minors(&self, pin: &Pin) -> bool {
        let version = pin.version.as_deref().unwrap_or_default();
        let mut rows = self.cuda_checks.iter();
        rows.any(|it| {
            it.package == pin.name && it.compares == "minor" && is_in(version, &it.releases)
        })
    }

    /// The releases of a package that have a library for a CUDA, newest first.
    pub fn builds_for(&self, package: &str, cuda: &str) -> Vec<String> {
        let rows = self.cuda_builds.iter().rev();
        let with_build = rows.filter(|row| row.package == package && row.has(cuda));
        with_build.map(|row| row.releases.clone()).collect()
    }

    /// What a package requires of NVIDIA's packages and a few others with its extras, in all its releases.
    pub fn nvidia_pins(&self, pin: &Pin) -> impl Iterator<Item = &NvidiaPins> {
        let has = move |extra: &str| extra.is_empty() || pin.extras.iter().any(|it| it == extra);
        let plugin = move |row: &NvidiaPins| {
            let mut plugins = self.partners.plugins.iter();
            plugins.any(|it| {
                it.package == pin.name
                    && has(&it.extra)
                    && (&it.plugin, &it.plugin_extra) == (&row.package, &row.extra)
            })
        };
        let rows = self.nvidia_pins.iter();
        rows.filter(move |row| (row.package == pin.name && has(&row.extra)) || plugin(row))
    }

    /// The extras of a package that its release does not have.
    pub fn removed_extras(&self, pin: &Pin, version: &str) -> impl Iterator<Item = &RemovedExtra> {
        let rows = self.removed_extras.iter();
        rows.filter(move |row| {
            let mut extras = pin.extras.iter().map(|it| normalized(it));
            row.package == pin.name
                && is_in(version, &row.releases)
                && extras.any(|it| it == row.extra)
        })
    }

    /// Whether a package is a library that the framework requires in one version.
    pub fn is_required_library(&self, pin: &Pin) -> bool {
        let mut libraries = self.partners.libraries.iter();
        libraries.any(|it| it.component == pin.component)
    }

    /// Whether a package is the framework.
    pub fn is_framework(&self, pin: &Pin) -> bool {
        pin.component == self.partners.framework
    }

    /// The base image of a stage, unless a command removes its framework, which says that a replacement is intended.
    pub fn kept_base<'s>(&self, stage: &'s Stage) -> Option<&'s Base> {
        let framework = &self.partners.framework;
        let is_removed = stage.removed.iter().any(|it| it == framework || it == "*");
        stage.base.as_ref().filter(|_| !is_removed)
    }

    /// What is known of the images of a repository.
    pub fn base_images(&self, repository: &str) -> Option<&BaseImages> {
        let repository = repository.strip_prefix("library/").unwrap_or(repository);
        let mut rows = self.partners.base_images.iter();
        rows.find(|row| row.repositories.iter().any(|it| it == repository))
    }

    /// Whether a package of pip comes from PyPI or the publisher's index.
    pub fn is_on_index(&self, pin: &Pin) -> bool {
        let index = pin.index.as_deref().unwrap_or_default();
        index.is_empty() || index.contains(&self.partners.index)
    }

    /// Whether a package of conda comes from the publisher's channel.
    pub fn is_on_channel(&self, pin: &Pin) -> bool {
        let conda = &self.partners.conda;
        let index = pin.index.as_deref().unwrap_or_default();
        let is_whole = |at: usize| {
            let (before, after) = (&index[..at], &index[at + conda.channel.len()..]);
            (before.is_empty() || before.ends_with([' ', '/']))
                && (after.is_empty() || after.starts_with(','))
        };
        let mut named = index.match_indices(&conda.channel);
        let mut others = conda.other_channels.iter();
        named.any(|(at, _)| is_whole(at)) && !others.any(|it| index.contains(it))
    }

    /// The partner that a package is.
    pub fn partner(&self, pin: &Pin) -> Option<&Partner> {
        let mut partners = self.partners.partners.iter();
        partners.find(|partner| partner.component == pin.component)
    }

    /// Whether a package is a partner whose version decides which framework is installed.
    pub fn decides_framework(&self, pin: &Pin) -> bool {
        self.partner(pin).is_some_and(|it| it.newest || it.bound)
    }

    /// What the releases of a partner require.
    pub fn requirements(&self, partner: &Partner) -> &[Requirement] {
        let known = self.requirements.get(&partner.component);
        known.map_or(&[], Vec::as_slice)
    }

    /// The releases of a version such as `2.8`.
    pub fn releases_of(&self, version: &str) -> Vec<&Release> {
        let releases = self.releases.iter();
        let meeting = releases.filter(|it| meets(&it.version, version) == Some(true));
        meeting.collect()
    }

    /// The releases that satisfy a specifier.
    pub fn releases_satisfying(&self, specifier: &str) -> Vec<&Release> {
        let releases = self.releases.iter();
        releases.filter(|it| it.satisfies(specifier)).collect()
    }
}

/// The rows of a list of a table.
fn rows<T: serde::de::DeserializeOwned>(lists: &HashMap<String, Value>, key: &str) -> Result<T> {
    let rows = lists.get(key).cloned().unwrap_or_default();
    serde_json::from_value(rows).map_err(|error| Error::Rule {
        problem: format!("{key}: {error}"),
    })
}
