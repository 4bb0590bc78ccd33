//! Packages that need another CUDA or cuDNN than their image has: `lint.system_libraries`.
//!
//! A package is reported if everything that is known to install the library installs other majors, and nothing is there whose libraries are
//! unknown.

use std::collections::BTreeSet;

use super::facts::{Pin, Stage};
use super::faults::SystemLibrary;
use super::ngc;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::{LibraryNeed, Release, is_in, is_number, major};

const LIBRARIES: [&str; 2] = ["cuda", "cudnn"];

/// Those of all stages.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<SystemLibrary> {
    let of_stage = |stage| {
        let needing = needing(stage, knowledge);
        needing.into_iter().filter_map(move |(pin, need)| {
            let mut libraries = LIBRARIES.iter();
            let unmet = |library: &&str| unmet(stage, pin, need, library, knowledge);
            // Another stage may bring what no package does.
            libraries
                .find_map(unmet)
                .filter(|it| !it.found.is_empty() || stages.len() == 1)
        })
    };
    stages.iter().flat_map(of_stage).collect()
}

/// The packages that take libraries from elsewhere, each with what it takes.
fn needing<'s>(stage: &'s Stage, knowledge: &'s PinKnowledge) -> Vec<(&'s Pin, &'s LibraryNeed)> {
    let pins = stage
        .pins
        .iter()
        .filter(|pin| is_kept(pin) && !pin.conditional);
    let needing = pins.filter_map(|pin| Some((pin, need_of(pin, knowledge)?)));
    needing.filter(|(pin, need)| !brings(pin, need)).collect()
}

fn is_kept(pin: &Pin) -> bool {
    pin.manager == "pip" && !pin.constraint && !pin.replaced && pin.index.is_none()
}

fn need_of<'k>(pin: &Pin, knowledge: &'k PinKnowledge) -> Option<&'k LibraryNeed> {
    let version = pin.version.as_deref()?;
    let is_of = |need: &&LibraryNeed| need.package == pin.name && is_in(version, &need.releases);
    knowledge.needs.iter().find(is_of)
}

/// Whether it is installed with an extra that brings the libraries.
fn brings(pin: &Pin, need: &LibraryNeed) -> bool {
    pin.extras
        .iter()
        .any(|extra| need.brought_by.contains(extra))
}

/// Something that installs a library, and the majors that it may be.
struct Origin<'s> {
    text: &'s str,
    majors: BTreeSet<String>,
}

fn unmet(
    stage: &Stage,
    pin: &Pin,
    need: &LibraryNeed,
    library: &str,
    knowledge: &PinKnowledge,
) -> Option<SystemLibrary> {
    let needed = need.major(library)?;
    let origins = origins(stage, pin, library, knowledge)?;
    let images = stage.base.as_ref();
    let images = images.and_then(|base| knowledge.base_images(&base.repository));
    let is_for_gpus =
        images.is_some_and(|it| it.has("cuda")) || stage.base.as_ref().is_some_and(ngc::is_release);
    let (found, origin) = match origins.first() {
        _ if is_there(&origins, needed) || (need.optional && !is_for_gpus) => return None,
        Some(first) => (first.majors.iter().cloned().collect(), first.text),
        None if is_for_gpus || need.gpu_only => {
            (Vec::new(), stage.base.as_ref()?.reference.as_deref()?)
        }
        None => return None,
    };
    let fits = |row: &&LibraryNeed| row.package == need.package && fits(stage, pin, row, knowledge);
    let fitting = knowledge.needs.iter().rev().filter(fits);
    Some(SystemLibrary {
        name: pin.name.clone(),
        pin: pin.clone(),
        library: library.to_owned(),
        needed: needed.to_owned(),
        found,
        origin: origin.to_owned(),
        shown: need.shown.clone(),
        fitting: fitting.map(|row| row.releases.clone()).collect(),
        location: pin.location.clone(),
    })
}

fn is_there(origins: &[Origin<'_>], major: &str) -> bool {
    origins.iter().any(|it| it.majors.contains(major))
}

/// Whether what other releases of a package need is there.
fn fits(stage: &Stage, pin: &Pin, row: &LibraryNeed, knowledge: &PinKnowledge) -> bool {
    LIBRARIES.iter().all(|library| match row.major(library) {
        Some(major) => {
            let origins = origins(stage, pin, library, knowledge);
            origins.is_some_and(|origins| is_there(&origins, major))
        }
        None => true,
    })
}

/// What has a library, the base image first; `None` if that is unknown.
fn origins<'s>(
    stage: &'s Stage,
    pin: &Pin,
    library: &str,
    knowledge: &PinKnowledge,
) -> Option<Vec<Origin<'s>>> {
    let mut origins: Vec<Origin<'_>> = of_base(stage, library, knowledge)?.into_iter().collect();
    let others = beside(stage, pin);
    let is_pinned = |it: &&&Pin| knowledge.is_framework(it) && !it.constraint;
    let installs = |it: &&&Pin| knowledge.partners.installs_framework(it);
    if others.iter().any(|it| installs(&it)) && !others.iter().any(|it| is_pinned(&it)) {
        return None;
    }
    for other in others {
        origins.extend(of_pin(other, library, knowledge)?);
    }
    Some(origins)
}

/// The other packages that a process with a package sees.
fn beside<'s>(stage: &'s Stage, pin: &Pin) -> Vec<&'s Pin> {
    let others = stage.pins.iter();
    let others = others.filter(|it| it.text != pin.text && !it.replaced);
    let is_seen = |it: &&Pin| it.environment == pin.environment || it.manager == "apt";
    others.filter(is_seen).collect()
}

/// What a base image has of a library; `Some(None)` for nothing, `None` if that is unknown. A list of packages has no base image.
fn of_base<'s>(
    stage: &'s Stage,
    library: &str,
    knowledge: &PinKnowledge,
) -> Option<Option<Origin<'s>>> {
    let Some(base) = &stage.base else {
        return Some(None);
    };
    let text = base.reference.as_deref()?;
    if ngc::is_release(base) {
        let version = ngc::version_of(base, library)?;
        let majors = BTreeSet::from([major(version).to_owned()]);
        return Some(Some(Origin { text, majors }));
    }
    let images = knowledge.base_images(&base.repository)?;
    let claims = base.claims.iter();
    let claims = claims.filter(|it| it.subject == library && it.origin == "tag");
    let mut majors: BTreeSet<String> = claims.map(|it| major(&it.version).to_owned()).collect();
    if majors.is_empty() {
        majors.extend(images.unnumbered(library, text).map(str::to_owned));
    }
    match majors.is_empty() {
        true => (!images.has(library)).then_some(None),
        false => Some(Some(Origin { text, majors })),
    }
}

/// What a package installs of a library; `Some(None)` for nothing, `None` if that is unknown.
fn of_pin<'s>(pin: &'s Pin, library: &str, knowledge: &PinKnowledge) -> Option<Option<Origin<'s>>> {
    let need = need_of(pin, knowledge).filter(|need| brings(pin, need));
    let mut packages = knowledge.partners.library_packages.iter();
    let package = packages.find(|it| it.library == library && it.is(pin));
    let majors = match (need, package) {
        _ if knowledge.is_framework(pin) => of_framework(pin, library, knowledge)?,
        (Some(need), _) => need.major(library).into_iter().map(str::to_owned).collect(),
        (None, Some(package)) => BTreeSet::from([package.major(pin)?.to_owned()]),
        (None, None) => return Some(None),
    };
    let text = pin.text.as_str();
    Some((!majors.is_empty()).then_some(Origin { text, majors }))
}

/// The majors that the framework brings; `None` if its release is unknown.
fn of_framework(pin: &Pin, library: &str, knowledge: &PinKnowledge) -> Option<BTreeSet<String>> {
    if pin.manager != "pip" || pin.constraint || pin.conditional || !knowledge.is_on_index(pin) {
        return None;
    }
    let releases = match &pin.version {
        Some(version) => knowledge.releases_of(version),
        None => knowledge.releases_satisfying(&pin.specifier),
    };
    let majors = releases
        .iter()
        .flat_map(|release| of_release(pin, release, library));
    let majors: Option<BTreeSet<String>> = majors.collect();
    majors.filter(|it| !it.is_empty())
}

/// The majors of the builds that a pin may mean; `None` among them for one that is unknown.
fn of_release(pin: &Pin, release: &Release, library: &str) -> Vec<Option<String>> {
    let variants = release.variants.iter().filter(|it| match &pin.cuda {
        Some(cuda) => it.cuda == *cuda,
        None => it.is_on_pypi(),
    });
    let majors = variants.map(|variant| match library {
        "cuda" => Some(major(&variant.cuda).to_owned()),
        _ => {
            let version = variant.library(library).map(major)?;
            is_number(version).then(|| version.to_owned())
        }
    });
    majors.collect()
}
