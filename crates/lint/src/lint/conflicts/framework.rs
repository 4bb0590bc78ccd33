//! The framework that packages of one environment are built for.

use std::borrow::Cow;

use crate::lint::facts::{Pin, Stage};
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{Release, is_number, is_release};

/// A framework, and what is installed beside it.
pub struct Framework<'s> {
    pub pin: Cow<'s, Pin>,
    /// Whether it is that of the base image.
    pub is_base: bool,
    /// The other packages of its environment.
    pub others: Vec<&'s Pin>,
    /// The known releases that it may be.
    pub releases: Vec<&'s Release>,
}

impl Framework<'_> {
    /// Whether pip installs it, and nothing replaces it.
    pub fn is_kept_by_pip(&self) -> bool {
        self.pin.manager == "pip" && !self.pin.replaced
    }

    /// The other packages of its environment that are kept.
    pub fn others(&self) -> impl Iterator<Item = &Pin> {
        let pins = self.others.iter().copied();
        pins.filter(|pin| !pin.replaced)
    }

    /// Whether it is the wheel on PyPI.
    pub fn is_from_pypi(&self) -> bool {
        self.pin.cuda.is_none() && self.pin.index.is_none()
    }
}

/// The GPU components of a stage that are certainly installed, except nightly builds, which are paired by their day.
pub fn comparable(stage: &Stage) -> Vec<&Pin> {
    let is_nightly = |pin: &Pin| {
        let index = pin.index.as_deref().unwrap_or_default();
        let version = pin.version.as_deref().unwrap_or_default();
        index.contains("/nightly") || version.contains("dev")
    };
    let pins = stage.pins.iter().filter(|pin| !pin.component.is_empty());
    let certain = pins.filter(|pin| !pin.constraint && !pin.conditional);
    certain.filter(|pin| !is_nightly(pin)).collect()
}

/// The frameworks of a stage: that of its base image, and those that it pins. Of several in one command, the first counts.
pub fn frameworks<'s>(
    stage: &'s Stage,
    pins: &[&'s Pin],
    knowledge: &'s PinKnowledge,
) -> Vec<Framework<'s>> {
    let pinned: Vec<&Pin> = pins
        .iter()
        .copied()
        .filter(|pin| knowledge.is_framework(pin) && is_comparable(pin))
        .collect();
    let is_first = |pin: &Pin| {
        let mut same = pinned
            .iter()
            .filter(|other| (other.command, &other.environment) == (pin.command, &pin.environment));
        same.next().is_some_and(|first| first.text == pin.text)
    };
    let base = of_base(stage, pins, knowledge).into_iter();
    let base = base.map(|pin| (Cow::Owned(pin), true));
    let own = pinned.iter().filter(|pin| is_first(pin) && !is_of_amd(pin));
    base.chain(own.map(|pin| (Cow::Borrowed(*pin), false)))
        .map(|(pin, is_base)| Framework {
            is_base,
            others: others(&pin, pins, knowledge),
            releases: match &pin.version {
                Some(version) => knowledge.releases_of(version),
                None => knowledge.releases_satisfying(&pin.specifier),
            },
            pin,
        })
        .collect()
}

/// Whether it is a release, or a range of them.
fn is_comparable(pin: &Pin) -> bool {
    let is_range = || pin.specifier.starts_with(['<', '>', '~', '!']);
    pin.version.as_deref().map_or_else(is_range, is_release)
}

/// Whether its label has three numbers, as `rocm6.4.1`: a build of AMD, which pairs packages differently.
fn is_of_amd(pin: &Pin) -> bool {
    let numbers = pin.local.as_deref().and_then(|it| it.strip_prefix("rocm"));
    let mut numbers = numbers.unwrap_or_default().splitn(3, '.');
    let mut has_number = || numbers.next().is_some_and(is_number);
    has_number() && has_number() && numbers.next().is_some()
}

/// The framework that the tag of the base image promises, unless a command removes or replaces it.
fn of_base(stage: &Stage, pins: &[&Pin], knowledge: &PinKnowledge) -> Vec<Pin> {
    let name = &knowledge.partners.framework;
    let is_pinned = |pin: &&Pin| knowledge.is_framework(pin) && pin.environment.is_empty();
    if pins.iter().any(is_pinned) {
        return Vec::new();
    }
    let base = knowledge.kept_base(stage).into_iter();
    let claims = base.flat_map(|base| &base.claims);
    let tagged = claims.filter(|it| it.subject == *name && it.origin == "tag");
    tagged
        .filter(|claim| claim.version.contains('.'))
        .map(|claim| Pin {
            manager: "base".to_owned(),
            version: Some(claim.version.clone()),
            specifier: format!("=={}.*", claim.version),
            text: claim.text.clone(),
            ..Pin::default()
        })
        .collect()
}

fn others<'s>(pin: &Pin, pins: &[&'s Pin], knowledge: &PinKnowledge) -> Vec<&'s Pin> {
    let beside = pins.iter().copied();
    beside
        .filter(|it| it.environment == pin.environment && !knowledge.is_framework(it))
        .collect()
}
