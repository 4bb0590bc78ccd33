//! Wheels whose local label names what they are built for: `flash_attn-2.8.1+cu12torch2.7cxx11abiFALSE`.

use super::framework::Framework;
use crate::lint::facts::{Pin, Stage};
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{Requirement, distinct, is_in, is_major_minor, is_number, major};
use imgcheck_base::version::{first_numbers, meets, newer};
use imgcheck_model::finding::Severity;

/// A wheel for one framework and one C++ ABI.
struct Labelled<'p> {
    framework: &'p Framework<'p>,
    pin: &'p Pin,
    /// Major and minor version of the framework that it is built for.
    version: &'p str,
    /// `TRUE` or `FALSE`, for `_GLIBCXX_USE_CXX11_ABI`.
    abi: &'static str,
}

/// Wheels for a different release of the framework.
pub fn for_other_frameworks(
    frameworks: &[Framework<'_>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let labelled = labelled(frameworks, knowledge);
    let conflict = |wheel: Labelled<'_>| {
        let framework = wheel.framework;
        let mut releases = framework.releases.iter();
        let fits = releases.any(|it| meets(&it.version, wheel.version) == Some(true));
        (!fits).then(|| PinConflict {
            built_for: wheel.version.to_owned(),
            ..PinConflict::new("label", Severity::Error, wheel.pin, &framework.pin)
        })
    };
    labelled.filter_map(conflict).collect()
}

/// Wheels of PyTorch Geometric for a different release: `2.1.2+pt20cu118`, or those of its index `torch-2.0.1+cu118.html`.
pub fn for_other_minors(frameworks: &[Framework<'_>]) -> Vec<PinConflict> {
    let kept = frameworks
        .iter()
        .filter(|it| it.pin.version.is_some() && !it.pin.replaced);
    let of_framework = |framework| {
        let pins = Framework::others(framework);
        let conflict = move |pin: &Pin| {
            let version = minor_of_label(pin).or_else(|| minor_of_index(pin))?;
            let mut releases = framework.releases.iter();
            let fits = releases.any(|it| meets(&it.version, &version) == Some(true));
            (!fits && !framework.releases.is_empty()).then(|| PinConflict {
                built_for: version,
                ..PinConflict::new("label", Severity::Error, pin, &framework.pin)
            })
        };
        pins.filter_map(conflict).collect::<Vec<_>>()
    };
    kept.flat_map(of_framework).collect()
}

/// `2.0` of `pt20cu118`.
fn minor_of_label(pin: &Pin) -> Option<String> {
    let (digits, _) = pin.local.as_deref()?.strip_prefix("pt")?.split_once("cu")?;
    let (major, minor) = digits.split_at_checked(1)?;
    is_number(digits).then(|| format!("{major}.{minor}"))
}

/// `2.0` of `https://data.pyg.org/whl/torch-2.0.1+cu118.html`.
fn minor_of_index(pin: &Pin) -> Option<String> {
    let (_, name) = pin
        .index
        .as_deref()?
        .split_once("data.pyg.org/whl/torch-")?;
    first_numbers(name, 2).filter(|it| is_major_minor(it))
}

/// Wheels for a different C++ ABI than the framework has. From `new_abi_from` on, its own indexes may have changed it earlier than PyPI.
pub fn for_other_abis(frameworks: &[Framework<'_>], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let labelled = labelled(frameworks, knowledge);
    let first = knowledge.partners.new_abi_from.as_str();
    let published = labelled.filter(|wheel| {
        let pin = &wheel.framework.pin;
        let version = pin.version.as_deref().unwrap_or_default();
        let is_old = knowledge.is_on_index(pin) && newer(first, version) == Some(true);
        pin.manager == "pip" && (wheel.framework.is_from_pypi() || is_old)
    });
    let conflict = |wheel: Labelled<'_>| {
        let releases = wheel.framework.releases.iter();
        let named = releases.filter(|it| meets(&it.version, wheel.version) == Some(true));
        let abis = named.filter_map(|it| match it.on_pypi("cxx11_abi") {
            Some(abi) if abi.as_i64()? == 1 => Some("TRUE"),
            None if newer(first, &it.version) != Some(true) => None,
            _ => Some("FALSE"),
        });
        let [abi] = *distinct(abis) else { return None };
        (abi != wheel.abi).then(|| PinConflict {
            built_for: wheel.abi.to_owned(),
            fitting: vec![abi.to_owned()],
            ..PinConflict::new("abi", Severity::Error, wheel.pin, &wheel.framework.pin)
        })
    };
    published.filter_map(conflict).collect()
}

/// Wheels with the C++ ABI of PyPI's builds in an image with a build of its publisher, which has the other one.
pub fn for_own_builds(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let of_stage = |stage: &Stage| {
        let base = knowledge.kept_base(stage)?;
        let is_own = base.repository.ends_with(&knowledge.partners.own_builds);
        let other = Pin {
            manager: "base".to_owned(),
            text: base.reference.clone()?,
            ..Pin::default()
        };
        let pins = stage
            .pins
            .iter()
            .filter(|pin| !pin.replaced && pin.environment.is_empty());
        let public = pins.filter(|pin| {
            pin.local
                .as_deref()
                .is_some_and(|it| it.contains("cxx11abiFALSE"))
        });
        let conflict = |pin| PinConflict {
            built_for: "FALSE".to_owned(),
            fitting: vec!["TRUE".to_owned()],
            ..PinConflict::new("abi", Severity::Error, pin, &other)
        };
        is_own.then(|| public.map(conflict).collect::<Vec<_>>())
    };
    stages.iter().filter_map(of_stage).flatten().collect()
}

fn labelled<'p>(
    frameworks: &'p [Framework<'p>],
    knowledge: &'p PinKnowledge,
) -> impl Iterator<Item = Labelled<'p>> {
    let name = knowledge.partners.framework.as_str();
    let kept = frameworks
        .iter()
        .filter(|it| it.pin.version.is_some() && !it.pin.replaced && !it.releases.is_empty());
    kept.flat_map(move |framework| {
        let pins = framework.others.iter().filter(|pin| !pin.replaced);
        pins.filter_map(move |pin| {
            let local = pin.local.as_deref()?;
            let (version, abi) = local.split_once(name)?.1.split_once("cxx11abi")?;
            let is_known = abi.starts_with("TRUE") || abi.starts_with("FALSE");
            (is_known && is_major_minor(version)).then_some(Labelled {
                framework,
                pin,
                version,
                abi: if abi.ends_with("TRUE") {
                    "TRUE"
                } else {
                    "FALSE"
                },
            })
        })
    })
}

/// Wheels for a different CUDA major than the framework: `cu12torch2.7`, `cu130torch2.9`. Without a pin of the framework, it is the one that another
/// package requires.
pub fn for_other_cudas(installed: &[Vec<&Pin>], knowledge: &PinKnowledge) -> Vec<PinConflict> {
    let mut conflicts = Vec::new();
    for pins in installed {
        let by_pip = |pin: &&Pin| pin.manager == "pip" && !pin.replaced;
        let pins: Vec<&Pin> = pins.iter().copied().filter(by_pip).collect();
        for pin in &pins {
            let Some(own) = cuda_major(pin, &knowledge.partners.framework) else {
                continue;
            };
            for host in hosts(pin, &pins, knowledge) {
                let Some(cuda) = cuda_of(host, knowledge).filter(|it| major(it) != own) else {
                    continue;
                };
                conflicts.push(PinConflict {
                    built_for: cuda.to_owned(),
                    fitting: vec![major(cuda).to_owned()],
                    ..PinConflict::new("major", Severity::Warning, pin, host)
                });
            }
        }
    }
    conflicts
}

/// The CUDA major in the label of a wheel for a framework: `13` of `cu130torch2.9`.
fn cuda_major<'p>(pin: &'p Pin, framework: &str) -> Option<&'p str> {
    let (cuda, version) = pin.local.as_deref()?.split_once(framework)?;
    let digits = cuda.strip_prefix("cu").filter(|it| is_number(it))?;
    let is_versioned = version.starts_with(|c: char| c.is_ascii_digit());
    let major = digits.get(..2).filter(|it| it.starts_with('1'));
    major.filter(|_| is_versioned)
}

/// The packages beside a wheel that decide which framework it gets.
fn hosts<'p>(pin: &Pin, pins: &[&'p Pin], knowledge: &PinKnowledge) -> Vec<&'p Pin> {
    let beside = pins.iter().copied();
    let beside = beside.filter(|it| it.environment == pin.environment && it.version.is_some());
    let (frameworks, others): (Vec<&Pin>, Vec<&Pin>) =
        beside.partition(|it| knowledge.is_framework(it));
    if !frameworks.is_empty() {
        return frameworks;
    }
    let brings = |pin: &&Pin| {
        let is_exact = knowledge.partner(pin).is_some_and(|it| it.requires_exactly);
        is_exact && pin.specifier.starts_with("==") && pin.index.is_none() && !pin.alone
    };
    others.into_iter().filter(brings).collect()
}

/// The CUDA of the framework that a package is or requires, if it is one.
pub fn cuda_of<'k>(host: &'k Pin, knowledge: &'k PinKnowledge) -> Option<&'k str> {
    let exact = format!("=={}", host.version.as_deref()?);
    let required = match knowledge.partner(host) {
        None => exact,
        Some(partner) => {
            let rows = knowledge.requirements(partner).iter();
            let is_meant = |it: &&Requirement| is_in(&it.version, &exact);
            let meant = rows.filter(is_meant);
            let required = distinct(meant.filter_map(|it| it.framework.as_deref()));
            let [required] = *required else { return None };
            required.to_owned()
        }
    };
    if !required.starts_with("==") {
        return None;
    }
    let own = host
        .cuda
        .as_deref()
        .filter(|_| knowledge.is_framework(host));
    let releases = knowledge.releases_satisfying(&required).into_iter();
    let on_pypi = releases.flat_map(|it| it.pypi_variants());
    let cudas = match own {
        Some(cuda) => vec![cuda],
        None if host.index.is_some() => return None,
        None => distinct(on_pypi.map(|it| it.cuda.as_str())),
    };
    let [cuda] = *cudas else { return None };
    Some(cuda).filter(|cuda| cuda.contains('.'))
}
