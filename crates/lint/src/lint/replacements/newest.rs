//! Packages without a version, whose newest release requires a newer framework than the installed one.

use crate::lint::facts::{Pin, Stage};
use crate::lint::faults::Replacement;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{Partner, Release, Requirement};
use imgcheck_base::version::newer;

/// A package without a version, beside an installed framework.
struct Joined<'s> {
    pin: &'s Pin,
    partner: &'s Partner,
    /// The pin of the framework; `None` if the base image has it.
    framework: Option<&'s Pin>,
    /// The version of the framework.
    version: &'s str,
}

/// The packages of all stages whose newest release replaces the framework.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<Replacement> {
    let beside_pins = stages.iter().flat_map(|it| beside_pins(it, knowledge));
    let on_official = stages.iter().flat_map(|it| on_official(it, knowledge));
    let joined = beside_pins.chain(on_official);
    let replacing = joined.filter(|it| it.requires_newer(knowledge) == Some(true));
    replacing.map(|it| it.replacement(knowledge)).collect()
}

/// The packages of a stage of which pip installs the newest release.
fn loose<'s>(
    stage: &'s Stage,
    knowledge: &'s PinKnowledge,
) -> impl Iterator<Item = (&'s Pin, &'s Partner)> {
    let pins = stage.pins.iter().filter(|pin| is_newest(pin));
    let partners = pins.filter_map(|pin| Some((pin, knowledge.partner(pin)?)));
    partners.filter(|(_, partner)| partner.newest)
}

fn is_newest(pin: &Pin) -> bool {
    let limit = pin.specifier.strip_prefix('>');
    let limit = limit.map(|it| it.strip_prefix('=').unwrap_or(it));
    let is_lower = limit.is_some_and(|it| {
        let mut bytes = it.bytes();
        !it.is_empty() && bytes.all(|byte| byte.is_ascii_digit() || byte == b'.')
    });
    let index = pin.index.as_deref().unwrap_or_default();
    pin.manager == "pip"
        && pin.version.is_none()
        && (pin.specifier.is_empty() || is_lower)
        && !(pin.conditional || pin.constraint || pin.alone || pin.present || pin.replaced)
        && !index.contains("/nightly")
}

/// Packages beside a framework that an earlier command, or the same one as a dependency, installs.
fn beside_pins<'s>(stage: &'s Stage, knowledge: &'s PinKnowledge) -> Vec<Joined<'s>> {
    let frameworks = stage.pins.iter().filter(|it| knowledge.is_framework(it));
    let frameworks: Vec<&Pin> = frameworks.collect();
    let of_pin = |(pin, partner): (&'s Pin, &'s Partner)| {
        let beside = frameworks.iter().copied();
        let beside: Vec<&Pin> = beside
            .filter(|it| it.environment == pin.environment)
            .collect();
        let decides =
            |it: &&Pin| it.constraint || (it.command >= pin.command && !it.specifier.is_empty());
        if beside.iter().any(decides) {
            return Vec::new();
        }
        let installed = beside
            .into_iter()
            .filter(|it| it.manager == "pip" && !it.conditional && !it.replaced);
        let joined = installed.filter_map(|it| {
            Some(Joined {
                pin,
                partner,
                framework: Some(it),
                version: it.version.as_deref()?,
            })
        });
        joined.collect()
    };
    loose(stage, knowledge).flat_map(of_pin).collect()
}

/// Packages on an image of the framework's publisher, which has those that are released with it.
fn on_official<'s>(stage: &'s Stage, knowledge: &'s PinKnowledge) -> Vec<Joined<'s>> {
    let partners = &knowledge.partners;
    let is_unpinned = |pin: &Pin| pin.specifier.is_empty() && pin.version.is_none();
    let mut frameworks = stage.pins.iter().filter(|it| knowledge.is_framework(it));
    let base = knowledge.kept_base(stage);
    let official = base.filter(|it| it.repository.ends_with(partners.official.as_str()));
    let Some(base) = official.filter(|_| frameworks.all(is_unpinned)) else {
        return Vec::new();
    };
    let claims = base.claims.iter();
    let tagged = claims.filter(|it| it.subject == partners.framework && it.origin == "tag");
    let guests = || {
        let loose = loose(stage, knowledge);
        loose.filter(|(pin, partner)| !partner.bound && pin.environment.is_empty())
    };
    let joined = tagged.flat_map(|claim| {
        guests().map(|(pin, partner)| Joined {
            pin,
            partner,
            framework: None,
            version: &claim.version,
        })
    });
    joined.collect()
}

impl Joined<'_> {
    /// Whether the newest release requires a newer framework. A Python that the installed framework supports may be too old for it, so
    /// that a release for that Python must require a newer one, too.
    fn requires_newer(&self, knowledge: &PinKnowledge) -> Option<bool> {
        let is_exact = self.version.split('.').count() == 3
            && self
                .version
                .bytes()
                .all(|it| it.is_ascii_digit() || it == b'.');
        let mut releases = knowledge.releases.iter();
        let own = releases.find(|it| is_exact && it.version == self.version)?;
        let required: Vec<Vec<&Release>> = self.required(knowledge);
        let is_newer = |releases: &[&Release]| {
            let mut newer = releases.iter().map(|it| newer(&it.version, self.version));
            !releases.is_empty() && newer.all(|it| it == Some(true))
        };
        let supports = |it: &&Release| newer(&it.python.from, &own.python.from) == Some(false);
        let last = required.last().is_some_and(|it| is_newer(it));
        let mut newer = required.iter().filter(|it| is_newer(it));
        Some(last && newer.any(|it| it.iter().any(supports)))
    }

    /// For each release of the package, the frameworks that it requires and that the index has; a release that requires none has an empty list, and one
    /// that requires others is left out.
    fn required<'k>(&self, knowledge: &'k PinKnowledge) -> Vec<Vec<&'k Release>> {
        let cuda = self.pin.cuda.as_ref().filter(|_| self.pin.only_index);
        let is_available = |release: &&Release| {
            let mut variants = release.variants.iter();
            cuda.is_none_or(|cuda| variants.any(|it| it.cuda == *cuda))
        };
        let available: Vec<&Release> = knowledge.releases.iter().filter(is_available).collect();
        let of_row = |row: &Requirement| {
            let Some(specifier) = &row.framework else {
                return Some(Vec::new());
            };
            let releases = available.iter().copied();
            let releases: Vec<&Release> = releases.filter(|it| it.satisfies(specifier)).collect();
            (!releases.is_empty()).then_some(releases)
        };
        let rows = knowledge.requirements(self.partner).iter();
        rows.filter_map(of_row).collect()
    }

    fn replacement(&self, knowledge: &PinKnowledge) -> Replacement {
        let exact = format!("=={}", self.version);
        let rows = knowledge.requirements(self.partner).iter();
        let fitting = rows.filter(|it| it.framework.as_ref() == Some(&exact));
        let installed = match self.framework {
            Some(_) => "",
            None => self.version,
        };
        Replacement {
            installed: installed.to_owned(),
            fitting: fitting.map(|it| it.version.clone()).collect(),
            ..Replacement::new("newest", self.pin, self.framework.unwrap_or(self.pin))
        }
    }
}
