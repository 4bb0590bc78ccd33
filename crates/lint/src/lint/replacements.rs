//! Packages whose installation replaces the framework that the base image or an earlier command has: `lint.replacements`.

mod newest;

use super::facts::{Base, Pin, Stage};
use super::faults::Replacement;
use super::never_built::pythons;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::{Release, is_release};
use imgcheck_base::version::{first_numbers, meets, newer};
use imgcheck_model::claims::Claim;

/// The replacements of all stages.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<Replacement> {
    let installed: Vec<Installed<'_>> = stages
        .iter()
        .map(|stage| Installed::of(stage, knowledge))
        .collect();
    let own = installed.iter().flat_map(|it| it.over_own_build(knowledge));
    let base = installed.iter().flat_map(|it| it.over_base(knowledge));
    let upgraded = installed.iter().flat_map(|it| it.upgraded_base(knowledge));
    let earlier = installed.iter().flat_map(Installed::over_earlier);
    let newest = installed.iter().flat_map(|it| it.by_newest(knowledge));
    let foreign = installed.iter().flat_map(|it| it.foreign(knowledge));
    let mut found: Vec<Replacement> = own
        .chain(base)
        .chain(upgraded)
        .chain(earlier)
        .chain(newest)
        .collect();
    found.extend(newest::all(stages, knowledge));
    found.extend(foreign);
    found
}

/// A stage, and what it installs of the framework and the packages that are released with it.
struct Installed<'s> {
    stage: &'s Stage,
    /// Releases that are certainly installed.
    pins: Vec<&'s Pin>,
    base: Option<&'s Base>,
    /// Whether the base image has a build of the framework that is not on PyPI.
    has_own_build: bool,
}

impl<'s> Installed<'s> {
    fn of(stage: &'s Stage, knowledge: &PinKnowledge) -> Self {
        let is_bound = |pin: &Pin| knowledge.partner(pin).is_some_and(|it| it.bound);
        let is_of_family = |pin: &&Pin| knowledge.is_framework(pin) || is_bound(pin);
        let family = stage.pins.iter().filter(is_of_family);
        let released = family.filter(|pin| pin.version.as_deref().is_some_and(is_release));
        let base = knowledge.kept_base(stage);
        let own = &knowledge.partners.own_builds;
        Installed {
            stage,
            pins: released.filter(|pin| !pin.conditional).collect(),
            base,
            has_own_build: base.is_some_and(|base| base.repository.ends_with(own.as_str())),
        }
    }

    /// What pip installs where the base image has its framework.
    fn by_pip(&self) -> impl Iterator<Item = &'s Pin> {
        let pins = self.pins.iter().copied();
        pins.filter(|pin| {
            pin.manager == "pip" && pin.environment.is_empty() && !pin.constraint && !pin.replaced
        })
    }

    /// The versions that the tag of the base image promises of a subject.
    fn tagged(&self, subject: &str) -> impl Iterator<Item = &'s str> {
        let claims = self.base.into_iter().flat_map(|base| &base.claims);
        let tagged = claims.filter(move |it: &&Claim| it.subject == subject && it.origin == "tag");
        tagged
            .map(|it| it.version.as_str())
            .filter(|version| version.contains('.'))
    }

    /// Packages of PyPI that replace a build of the base image's publisher.
    fn over_own_build(&self, knowledge: &PinKnowledge) -> Vec<Replacement> {
        if !self.has_own_build {
            return Vec::new();
        }
        let has_framework = self.by_pip().any(|pin| knowledge.is_framework(pin));
        let pins = self
            .by_pip()
            .filter(|pin| knowledge.is_framework(pin) || (!pin.alone && !has_framework));
        pins.map(|pin| Replacement::new("own", pin, pin)).collect()
    }

    /// A framework of a different release or CUDA than the base image has.
    fn over_base(&self, knowledge: &PinKnowledge) -> Vec<Replacement> {
        if self.has_own_build {
            return Vec::new();
        }
        let cudas = self.tagged("cuda");
        let cudas: Vec<String> = cudas.filter_map(|it| first_numbers(it, 2)).collect();
        let frameworks = self.by_pip().filter(|pin| knowledge.is_framework(pin));
        let frameworks: Vec<&Pin> = frameworks.collect();
        let of_claim = |claimed| {
            let pins = frameworks.iter();
            let replacing = pins.filter_map(|pin| over_claimed(claimed, &cudas, pin));
            replacing.collect::<Vec<_>>()
        };
        let claimed = self.tagged(&knowledge.partners.framework);
        claimed.flat_map(of_claim).collect()
    }

    /// The framework of the base image, replaced by its newest release (`pip install -U torch`).
    fn upgraded_base(&self, knowledge: &PinKnowledge) -> Option<Replacement> {
        let pin = self.stage.pins.iter().find(|pin| {
            let is_kept = !(pin.replaced || pin.conditional || pin.constraint);
            let is_newest = pin.upgrade && pin.version.is_none() && pin.specifier.is_empty();
            let is_pip = pin.manager == "pip" && pin.environment.is_empty();
            knowledge.is_framework(pin) && is_pip && is_newest && is_kept
        })?;
        if self.has_own_build {
            return Some(Replacement::new("own", pin, pin));
        }
        let mut claimed = self.tagged(&knowledge.partners.framework);
        claimed.find_map(|version| {
            let newest = self.newest_over(version, pin, knowledge)?;
            Some(Replacement {
                installed: version.to_owned(),
                fitting: vec![newest.to_owned()],
                ..Replacement::new("base", pin, pin)
            })
        })
    }

    /// Packages of which an earlier command installs a different version.
    fn over_earlier(&self) -> Vec<Replacement> {
        let requested = self
            .pins
            .iter()
            .filter(|pin| !pin.constraint && !pin.removed);
        let (earlier, kept): (Vec<&Pin>, Vec<&Pin>) = requested.partition(|pin| pin.replaced);
        let replacement = |pin: &Pin| {
            let other = earlier.iter().find(|other| is_replaced_by(other, pin))?;
            Some(Replacement {
                fitting: pin.version.iter().cloned().collect(),
                ..Replacement::new("replaced", pin, other)
            })
        };
        kept.into_iter().filter_map(replacement).collect()
    }

    /// A framework without a version that replaces an older one with its newest release (`pip install -U torch`).
    fn by_newest(&self, knowledge: &PinKnowledge) -> Option<Replacement> {
        let is_unversioned = |pin: &&Pin| {
            let is_kept = !pin.present && !pin.replaced && !pin.conditional && !pin.constraint;
            let is_newest = pin.version.is_none() && pin.specifier.is_empty() && is_kept;
            knowledge.is_framework(pin) && pin.manager == "pip" && is_newest
        };
        let pin = self.stage.pins.iter().find(is_unversioned)?;
        let earlier = self.pins.iter().filter(|it| knowledge.is_framework(it));
        let mut earlier = earlier.filter(|it| {
            it.environment == pin.environment
                && it.command < pin.command
                && !(it.constraint || it.removed)
        });
        let (other, newest) = earlier.find_map(|it| {
            // pip sees a package of another manager as installed, and keeps it unless it upgrades.
            let is_kept = it.manager != "pip" && !pin.upgrade;
            let is_gone = it.replaced || (!is_kept && it.marker.is_none());
            let newest = self.newest_over(it.version.as_deref()?, pin, knowledge)?;
            is_gone.then_some((it, newest))
        })?;
        Some(Replacement {
            fitting: vec![newest.to_owned()],
            ..Replacement::new("replaced", pin, other)
        })
    }

    /// The newest release of the framework for the Python and the index of a command, if the installed one is older.
    fn newest_over<'k>(
        &self,
        version: &str,
        pin: &Pin,
        knowledge: &'k PinKnowledge,
    ) -> Option<&'k str> {
        let own = knowledge.releases_of(version);
        let pins: Vec<&Pin> = self.stage.pins.iter().collect();
        let known = pythons(self.stage, &pins, pin);
        let known = known.first().or_else(|| self.base_python(pin, knowledge));
        let python = known.or(own.first().map(|it| &it.python.from))?;
        let is_found = |it: &&Release| {
            let has_python = newer(&it.python.from, python) == Some(false)
                && newer(python, &it.python.to) != Some(true);
            let cuda = pin.cuda.as_ref().filter(|_| pin.only_index);
            has_python && cuda.is_none_or(|cuda| it.variants.iter().any(|it| it.cuda == *cuda))
        };
        let newest = knowledge.releases.iter().find(is_found)?;
        (newer(&newest.version, version) == Some(true)).then_some(newest.version.as_str())
    }

    /// The oldest Python that the base image can have, where a command installs into it.
    fn base_python<'k>(&self, pin: &Pin, knowledge: &'k PinKnowledge) -> Option<&'k String> {
        let base = self.base.filter(|_| pin.environment.is_empty())?;
        let version = self.tagged(&knowledge.partners.framework).next()?;
        let mut pythons = knowledge.base_images(&base.repository)?.pythons.iter();
        let found = pythons.find(|it| newer(&it.from, version) == Some(false))?;
        Some(&found.python)
    }

    /// Packages that require a framework of PyPI, on an image with a build of its publisher.
    fn foreign(&self, knowledge: &PinKnowledge) -> Vec<Replacement> {
        let is_pinned = self.pins.iter().any(|pin| knowledge.is_framework(pin));
        if !self.has_own_build || is_pinned {
            return Vec::new();
        }
        let partners = self.stage.pins.iter().filter(|pin| {
            let partner = knowledge.partner(pin);
            partner.is_some_and(|it| it.newest && !it.bound) && pin.manager == "pip"
        });
        let installed = partners.filter(|pin| {
            pin.environment.is_empty()
                && !(pin.conditional || pin.constraint || pin.alone || pin.replaced)
                && !pin.specifier.starts_with('@')
        });
        installed
            .map(|pin| Replacement::new("foreign", pin, pin))
            .collect()
    }
}

/// Whether a framework replaces the one that a base image claims, for one of these CUDAs.
fn over_claimed(claimed: &str, cudas: &[String], pin: &Pin) -> Option<Replacement> {
    let version = pin.version.as_deref()?;
    let is_met = meets(claimed, version)?;
    let is_part = meets(version, &first_numbers(claimed, usize::MAX)?)?;
    let label = pin.local.as_ref().map(|label| format!("+{label}"));
    let cuda = pin.cuda.as_ref().filter(|_| label.is_some());
    let is_of_other_cuda = !cudas.is_empty() && cuda.is_some_and(|cuda| !cudas.contains(cuda));
    let for_cuda = cudas.first().filter(|_| is_met);
    let for_cuda = for_cuda.map(|cuda| format!(" for CUDA {cuda}"));
    (is_of_other_cuda || !(is_met || is_part)).then(|| Replacement {
        installed: format!("{claimed}{}", for_cuda.unwrap_or_default()),
        fitting: vec![format!("{version}{}", label.unwrap_or_default())],
        ..Replacement::new("base", pin, pin)
    })
}

/// Whether a later command requests a package in a version that neither is, nor is part of, the installed one.
fn is_replaced_by(other: &Pin, pin: &Pin) -> bool {
    let same = |key: fn(&Pin) -> &str| key(other) == key(pin);
    let (Some(version), Some(installed)) = (&pin.version, &other.version) else {
        return false;
    };
    let is_same_package = same(|pin| &pin.name) && same(|pin| &pin.manager);
    // pip finds the metadata of conda's package, and removes its files.
    let is_of_conda = (other.manager.as_str(), pin.manager.as_str()) == ("conda", "pip")
        && same(|pin| &pin.component)
        && !pin.component.is_empty();
    other.command < pin.command
        && (is_same_package || is_of_conda)
        && same(|pin| &pin.environment)
        && meets(version, installed) == Some(false)
        && meets(installed, version) == Some(false)
}
