//! Libraries that the wheel of the framework requires in one version, and that are pinned to a different one.

use serde_json::Value;

use super::framework::Framework;
use crate::lint::facts::Pin;
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{Library, SharedFiles, Variant, distinct, major};
use imgcheck_base::version::{meets, newer, satisfies};
use imgcheck_model::finding::Severity;

/// Libraries of CUDA in a different version than the wheel requires: that of one CUDA if the pin names it, else that on PyPI.
pub fn of_other_versions(
    frameworks: &[Framework<'_>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let by_pip = frameworks.iter().filter(|it| {
        let is_known = it.pin.version.is_some() && (it.pin.cuda.is_some() || it.is_from_pypi());
        it.is_kept_by_pip() && is_known
    });
    let of_framework = |framework| {
        let variants = variants(framework, knowledge);
        let pins = installed_over(framework);
        let conflict = |pin| other_version(framework, pin, &variants, knowledge);
        pins.filter_map(conflict).collect::<Vec<_>>()
    };
    by_pip.flat_map(of_framework).collect()
}

/// The builds that a pin of the framework may mean, if their wheels require libraries.
fn variants<'k>(framework: &Framework<'k>, knowledge: &PinKnowledge) -> Vec<&'k Variant> {
    let releases = framework.releases.iter();
    match &framework.pin.cuda {
        None => releases.flat_map(|it| it.pypi_variants()).collect(),
        Some(cuda) => {
            let first = &knowledge.partners.libraries_outside_from;
            let requiring = releases.filter(|it| newer(first, &it.version) == Some(false));
            let variants = requiring.flat_map(|it| &it.variants);
            variants.filter(|it| it.cuda == *cuda).collect()
        }
    }
}

/// What pip installs into the environment of the framework, in the same command or later.
fn installed_over<'s>(framework: &'s Framework<'_>) -> impl Iterator<Item = &'s Pin> {
    let pins = framework.others.iter().copied();
    pins.filter(|pin| pin.manager == "pip" && !pin.replaced && pin.command >= framework.pin.command)
}

fn is_together(framework: &Framework<'_>, pin: &Pin) -> bool {
    pin.command == framework.pin.command && !pin.alone
}

fn other_version(
    framework: &Framework<'_>,
    pin: &Pin,
    variants: &[&Variant],
    knowledge: &PinKnowledge,
) -> Option<PinConflict> {
    let version = pin.version.as_deref()?;
    let mut libraries = knowledge.partners.libraries.iter();
    let library = libraries.find(|library| library.component == pin.component)?;
    let cudas = match framework.pin.cuda.as_deref() {
        Some(cuda) => vec![cuda],
        None => distinct(variants.iter().map(|it| it.cuda.as_str())),
    };
    if !cudas.iter().any(|cuda| library.is_for(pin, cuda)) {
        return None;
    }
    let required = variants.iter().map(|it| it.library(&library.known_by));
    let required = distinct(required.flatten());
    let is_different = |it: &&str| is_numeric(it) && meets(it, version) == Some(false);
    if required.is_empty() || !required.iter().all(is_different) {
        return None;
    }
    let (kind, severity) = match is_together(framework, pin) {
        true => ("library", Severity::Error),
        false => ("exchanged", Severity::Note),
    };
    Some(PinConflict {
        built_for: cudas.join(" or "),
        fitting: required.into_iter().map(str::to_owned).collect(),
        source: variants.first().map_or("", |it| &it.source).to_owned(),
        ..PinConflict::new(kind, severity, pin, &framework.pin)
    })
}

impl Library {
    fn is_for(&self, pin: &Pin, cuda: &str) -> bool {
        pin.name.strip_prefix(&self.distribution) == Some(major(cuda))
    }
}

/// Whether a version is known: it has nothing but numbers and dots.
fn is_numeric(version: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    !version.is_empty() && version.bytes().all(is_part)
}

/// A compiler in a different version than the wheel on PyPI requires. Those of the framework's own indexes for CUDA require the same, builds for
/// the CPU none, and those for ROCm one of a different name.
pub fn of_other_compilers(
    frameworks: &[Framework<'_>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let compiler = &knowledge.partners.compiler;
    let released = frameworks.iter().filter(|it| it.pin.version.is_some());
    let of_framework = |framework| {
        let required = required_compilers(framework, compiler);
        let pins = installed_over(framework).filter(|pin| pin.name == compiler.distribution);
        let conflict = |pin| other_compiler(framework, pin, &required);
        pins.filter_map(conflict).collect::<Vec<_>>()
    };
    let for_cuda = released.filter(|it| is_for_cuda(it));
    for_cuda.flat_map(of_framework).collect()
}

/// Whether it is kept, and built for CUDA.
fn is_for_cuda(framework: &Framework<'_>) -> bool {
    let is_on_pypi = framework.pin.version.is_some() && framework.is_from_pypi();
    let cuda = framework.pin.cuda.as_deref();
    framework.is_kept_by_pip() && cuda.map_or(is_on_pypi, |cuda| cuda.contains('.'))
}

/// The specifiers of the compiler that the wheels on PyPI require, with the source that says so.
fn required_compilers<'k>(
    framework: &Framework<'k>,
    compiler: &Library,
) -> Vec<(&'k str, &'k str)> {
    let releases = framework.releases.iter();
    let required = releases.filter_map(|release| {
        let specifier = release.on_pypi(&compiler.known_by)?.as_str()?;
        let version = specifier.trim_start_matches(['~', '<', '>', '=']);
        let source = release.on_pypi("source").and_then(Value::as_str);
        let is_known = version.starts_with(|c: char| c.is_ascii_digit());
        is_known.then_some((specifier, source.unwrap_or_default()))
    });
    required.collect()
}

fn other_compiler(
    framework: &Framework<'_>,
    pin: &Pin,
    required: &[(&str, &str)],
) -> Option<PinConflict> {
    let version = pin.version.as_deref()?;
    let (_, source) = required.first()?;
    let is_one = pin.specifier.starts_with("==") && !pin.specifier.contains('*');
    let accepts = |required: &str| match required.starts_with(|c: char| c.is_ascii_digit()) {
        true => satisfies(required, &pin.specifier) != Ok(Some(false)),
        false => !is_one || satisfies(version, required) != Ok(Some(false)),
    };
    if required.iter().any(|(it, _)| accepts(it)) {
        return None;
    }
    let (kind, severity) = match is_together(framework, pin) {
        true => ("required", Severity::Error),
        false => ("exchanged", Severity::Warning),
    };
    Some(PinConflict {
        fitting: distinct(required.iter().map(|(it, _)| (*it).to_owned())),
        source: (*source).to_owned(),
        ..PinConflict::new(kind, severity, pin, &framework.pin)
    })
}

/// Libraries for a different CUDA major, with files of the same names as those that the framework requires.
pub fn with_shared_files(
    frameworks: &[Framework<'_>],
    knowledge: &PinKnowledge,
) -> Vec<PinConflict> {
    let mut conflicts = Vec::new();
    for framework in frameworks.iter().filter(|it| is_for_cuda(it)) {
        let variants = framework.releases.iter().flat_map(|it| it.pypi_variants());
        let majors = match framework.pin.cuda.as_deref() {
            Some(cuda) => vec![major(cuda)],
            None => distinct(variants.map(|it| major(&it.cuda))),
        };
        let [required] = *majors else { continue };
        let others = framework.others.iter().filter(|pin| pin.manager == "pip");
        for pin in others.filter(|pin| !pin.replaced) {
            let mut shared = knowledge.partners.shared_files.iter();
            let Some(shared) = shared.find(|it| it.are_overwritten(pin, required)) else {
                continue;
            };
            conflicts.push(PinConflict {
                built_for: required.to_owned(),
                source: shared.source.clone(),
                ..PinConflict::new("files", Severity::Warning, pin, &framework.pin)
            });
        }
    }
    conflicts
}

impl SharedFiles {
    /// Whether a package has the files for a different CUDA major than the required one.
    fn are_overwritten(&self, pin: &Pin, required: &str) -> bool {
        let mut names = self.distributions.iter();
        let own = names.find_map(|name| pin.name.strip_prefix(name.as_str()));
        let is_known = |major: &str| self.majors.iter().any(|it| it == major);
        own.is_some_and(|own| own != required && is_known(own)) && is_known(required)
    }
}
