//! Packages that are built for a different release or a different CUDA than the framework beside them.

use std::collections::HashMap;

use super::framework::Framework;
use super::proposals::{self, MAX_PROPOSALS};
use super::wheels::cuda_of;
use crate::lint::facts::Pin;
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{Partner, Requirement, distinct, is_in, major};
use imgcheck_base::version::meets;
use imgcheck_model::finding::Severity;

/// A framework and a partner in one environment.
struct Pair<'p> {
    framework: &'p Framework<'p>,
    pin: &'p Pin,
    partner: &'p Partner,
    /// Whether one command installs both.
    is_together: bool,
}

/// Partners that require a different release.
pub fn of_other_releases(
    frameworks: &[Framework<'_>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let mut required = HashMap::new();
    let mut conflicts = Vec::new();
    for framework in frameworks.iter().filter(|it| !it.releases.is_empty()) {
        let mut fitting = HashMap::new();
        let first = conflicts.len();
        for pair in pairs(framework, knowledge) {
            let pin = pair.pin;
            let key = (&pin.component, &pin.specifier, &pin.version, &pin.extras);
            let required = required
                .entry(key)
                .or_insert_with(|| requirements(&pair, knowledge));
            let specifiers = distinct(required.iter().filter_map(|it| it.framework.as_deref()));
            if specifiers.is_empty() || specifiers.iter().any(|it| framework.satisfies(it)) {
                continue;
            }
            let fitting = fitting
                .entry(&pin.component)
                .or_insert_with(|| fitting_versions(&pair, knowledge));
            let (kind, severity) = pair.kind();
            let is_loaded = |it: &&Requirement| {
                let specifier = it.loads_with.as_deref();
                it.is_warning || specifier.is_some_and(|it| framework.satisfies(it))
            };
            let severity = match required.iter().all(is_loaded) {
                true => Severity::Warning,
                false => severity,
            };
            conflicts.push(PinConflict {
                built_for: match specifiers.as_slice() {
                    [first, _, .., last] => format!("{first} to {last}"),
                    few => few.join(" or "),
                }
                .replace("==", ""),
                fitting: match pair.has_own(&specifiers, frameworks) {
                    true => Vec::new(),
                    false => fitting.clone(),
                },
                source: required.first().map_or("", |it| &it.source).to_owned(),
                ..PinConflict::new(kind, severity, pin, &framework.pin)
            });
        }
        proposals::agree(&mut conflicts[first..], framework, knowledge);
    }
    conflicts
}

/// Partners without a version whose newest release does not say which framework it needs: pip installs it beside any.
pub fn of_newest_release(
    frameworks: &[Framework<'_>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let kept = frameworks
        .iter()
        .filter(|it| it.pin.version.is_some() && !it.releases.is_empty());
    let of_framework = |framework| {
        let pins = Framework::unversioned(framework);
        let conflict = |pin| newest(framework, pin, knowledge);
        pins.filter_map(conflict).collect::<Vec<_>>()
    };
    kept.flat_map(of_framework).collect()
}

fn newest(framework: &Framework<'_>, pin: &Pin, knowledge: &PinKnowledge) -> Option<PinConflict> {
    let partner = knowledge
        .partner(pin)
        .filter(|it| it.bound || it.undeclared)?;
    // An image with the framework has what is released with it, and pip keeps that.
    if framework.is_base && partner.bound && !pin.upgrade {
        return None;
    }
    let row = knowledge.requirements(partner).last()?;
    let needed = row.framework.as_deref().filter(|_| !row.is_declared)?;
    // An index for one CUDA has only what was built for it.
    let is_built = |cuda: &str| {
        let mut releases = knowledge.releases_of(&row.version).into_iter();
        releases.any(|it| it.variants.iter().any(|it| it.cuda == cuda))
    };
    // A package that requires one framework brings the partners for it.
    let is_decided = |it: &&&Pin| knowledge.partner(it).is_some_and(|it| it.requires_exactly);
    if framework.others.iter().any(|it| is_decided(&it)) {
        return None;
    }
    let is_there = !pin.only_index || pin.cuda.as_deref().is_some_and(is_built);
    let pair = Pair {
        framework,
        pin,
        partner,
        is_together: false,
    };
    (is_there && !framework.satisfies(needed)).then(|| PinConflict {
        built_for: format!("{} for PyTorch {needed}", row.version),
        fitting: fitting_versions(&pair, knowledge)
            .into_iter()
            .take(MAX_PROPOSALS)
            .collect(),
        source: row.source.clone(),
        ..PinConflict::new("newest", Severity::Error, pin, &framework.pin)
    })
}

/// Partners that are released with the framework, but installed for a different CUDA.
pub fn of_other_cudas(frameworks: &[Framework<'_>], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let pairs = frameworks.iter().flat_map(|it| pairs(it, knowledge));
    let bound = pairs.filter(|pair| pair.partner.bound && !pair.framework.is_base);
    let mixed = bound.filter_map(|pair| {
        let own = pair.cuda(knowledge)?;
        let other = build_cuda(&pair.framework.pin, knowledge)?;
        let is_of_cuda = own.contains('.') && other.contains('.');
        let has_one_major = is_of_cuda && major(own) == major(other);
        let severity = match has_one_major && !knowledge.compares_minors(pair.pin) {
            true => Severity::Warning,
            false => Severity::Error,
        };
        let pin = Pin {
            cuda: Some(own.to_owned()),
            ..pair.pin.clone()
        };
        (own != other).then(|| PinConflict {
            built_for: other.to_owned(),
            ..PinConflict::new("mixed", severity, &pin, &pair.framework.pin)
        })
    });
    mixed.collect()
}

/// The partners that are surely installed beside a framework. A conda command replaces what an earlier one installed.
fn pairs<'p>(
    framework: &'p Framework<'p>,
    knowledge: &'p PinKnowledge,
) -> impl Iterator<Item = Pair<'p>> {
    let pairs = framework.others.iter().filter_map(|pin| {
        let partner = knowledge.partner(pin)?;
        let is_together = !framework.is_base && pin.command == framework.pin.command;
        // The tables have all releases of what is released with the framework.
        let is_range = partner.bound && is_together && is_range(pin);
        (pin.version.is_some() || is_range).then_some(Pair {
            framework,
            pin,
            partner,
            is_together,
        })
    });
    pairs.filter(Pair::is_sure)
}

/// Whether a package may be one of several releases.
fn is_range(pin: &Pin) -> bool {
    pin.version.is_none() && pin.specifier.starts_with(['<', '>'])
}

impl Pair<'_> {
    fn is_sure(&self) -> bool {
        let (pin, framework) = (self.pin, &self.framework.pin);
        let remain =
            framework.version.is_some() && !pin.replaced && !framework.replaced && !pin.present;
        let is_installed_on = match self.framework.is_base {
            true => pin.manager == "pip",
            false => pin.manager != "conda" || framework.manager != "conda" || self.is_together,
        };
        (!pin.alone || self.partner.bound) && (self.is_together || remain) && is_installed_on
    }

    /// Whether the command of the partner installs a framework that fits it, so that it was replaced by another command.
    fn has_own(&self, specifiers: &[&str], frameworks: &[Framework<'_>]) -> bool {
        let beside = |it: &&Framework<'_>| {
            let mut others = it.others.iter();
            !it.is_base
                && it.pin.command == self.pin.command
                && others.any(|it| std::ptr::eq(*it, self.pin))
        };
        let mut own = frameworks.iter().filter(beside);
        own.any(|it| specifiers.iter().any(|specifier| it.satisfies(specifier)))
    }

    /// The CUDA that the partner is built for; that of its wheel on PyPI only if it is for the framework.
    fn cuda<'k>(&'k self, knowledge: &'k PinKnowledge) -> Option<&'k str> {
        let is_for_framework = || {
            let required = requirements(self, knowledge);
            let mut required = required.iter().filter_map(|it| it.framework.as_deref());
            required.any(|it| self.framework.satisfies(it))
        };
        let pin = self.pin;
        build_cuda(pin, knowledge).filter(|_| pin.cuda.is_some() || is_for_framework())
    }

    fn kind(&self) -> (&'static str, Severity) {
        match self.framework.is_base {
            true if self.partner.undeclared => ("guest", Severity::Error),
            true => ("guest", Severity::Warning),
            false if self.partner.undeclared => ("partner", Severity::Error),
            false if self.is_together || self.partner.bound => ("partner", Severity::Error),
            false => ("successor", Severity::Warning),
        }
    }
}

impl Framework<'_> {
    /// The packages beside it for which pip takes the newest release.
    fn unversioned(&self) -> impl Iterator<Item = &Pin> {
        let pins = self.others.iter().copied();
        pins.filter(|pin| {
            let is_kept = !pin.replaced && !pin.present && !pin.alone;
            pin.manager == "pip" && pin.version.is_none() && pin.specifier.is_empty() && is_kept
        })
    }

    fn satisfies(&self, specifier: &str) -> bool {
        self.releases.iter().any(|it| it.satisfies(specifier))
    }
}

/// The CUDA that a package is built for: as its pin says, or as the wheel on PyPI.
fn build_cuda<'k>(pin: &'k Pin, knowledge: &'k PinKnowledge) -> Option<&'k str> {
    let is_from_pypi = pin.manager == "pip" && pin.index.is_none();
    let on_pypi = || cuda_of(pin, knowledge).filter(|_| is_from_pypi);
    pin.cuda.as_deref().or_else(on_pypi)
}

/// What the releases require that a pin of a partner may be, with its extras.
fn requirements<'k>(pair: &Pair<'_>, knowledge: &'k PinKnowledge) -> Vec<&'k Requirement> {
    let (pin, implied) = (pair.pin, &pair.partner.extras);
    let version = pin.version.as_deref().unwrap_or_default();
    let is_exact = pin.specifier.starts_with("==") && !pin.specifier.contains('*');
    let exact = format!("=={version}");
    let has_extra = |extra: &String| {
        let mut own = pin.extras.iter();
        extra.is_empty() || own.any(|it| it == extra || implied.get(it) == Some(extra))
    };
    let is_meant = |release: &str| match is_exact {
        true => is_in(release, &exact),
        false if is_range(pin) => is_in(release, &pin.specifier),
        false => meets(release, version) == Some(true),
    };
    let rows = knowledge.requirements(pair.partner).iter();
    rows.filter(|it| it.framework.is_some() && has_extra(&it.extra) && is_meant(&it.version))
        .collect()
}

/// The releases of a partner that accept the framework, newest first.
fn fitting_versions(pair: &Pair<'_>, knowledge: &PinKnowledge) -> Vec<String> {
    let rows = knowledge.requirements(pair.partner).iter().rev();
    // A release that is built for one framework and does not say so was not built for a later one.
    let is_open = |specifier: &str| {
        pair.partner.requires_exactly && specifier.starts_with('>') && !specifier.contains(',')
    };
    let accepts = |it: &&Requirement| {
        let specifier = it.framework.as_deref().filter(|it| !is_open(it));
        specifier.is_some_and(|specifier| pair.framework.satisfies(specifier))
    };
    distinct(rows.filter(accepts).map(|it| it.version.clone()))
}
