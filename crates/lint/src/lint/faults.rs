//! What is wrong with the packages and variables of a file, as facts for rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Pin;
use imgcheck_model::finding::{Location, Severity};
use imgcheck_model::settings::Fault;

/// Two packages that contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinConflict {
    /// What contradicts: `partner` (built for a different PyTorch than the same command requests), `successor` (than another command installs), `newest`
    /// (its newest release, which pip installs, is),
    /// `guest` (than the base image has), `mixed` (for a different CUDA than PyTorch), `library` or `required` (PyTorch requires a different
    /// version), `exchanged` (a later command replaces what PyTorch requires), `files` (overwrites files that PyTorch requires), `label`, `abi` or
    /// `major` (a wheel for a different PyTorch, C++ ABI or CUDA major), `build` (has no library for the CUDA of PyTorch), `toolkit` (a build of conda for a
    /// different CUDA than the toolkit), `wheels` (they require different versions of one NVIDIA package), `twice` (two versions of one package).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `error` if an installation or an import fails.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// What it contradicts: PyTorch, a package that requires it, or the other version. The PyTorch of a base image has the manager `base`.
    pub other: Pin,
    /// What one of them is built for, and the other is not: releases of PyTorch, a CUDA or a C++ ABI; empty if that is not the reason.
    pub built_for: String,
    /// What would fit in place of the package: versions, a CUDA major, or a C++ ABI (`TRUE`, `FALSE`).
    pub fitting: Vec<String>,
    /// The source of the table that says so; empty if the pins say it themselves.
    #[serde(default)]
    pub source: String,
    /// The location of the package.
    pub location: Location,
}

impl PinConflict {
    /// A conflict of this kind, of which nothing more is known.
    pub fn new(kind: &str, severity: Severity, pin: &Pin, other: &Pin) -> Self {
        PinConflict {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            other: other.clone(),
            built_for: String::new(),
            fitting: Vec::new(),
            source: String::new(),
            location: pin.location.clone(),
        }
    }
}

/// A package whose installation replaces an installed PyTorch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Replacement {
    /// Why: `base` (a different release or CUDA than the base image has), `own` (the base image has a build of its publisher), `foreign` (the
    /// package requires one of PyPI there), `replaced` (an earlier command installs a different one), `newest` (the newest release of the package
    /// requires a newer one).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// What it replaces; the package itself if that is the PyTorch of the base image.
    pub other: Pin,
    /// The PyTorch of the base image that is replaced, such as `2.8.0 for CUDA 12.8`; empty if its version does not matter.
    pub installed: String,
    /// What would replace nothing: a PyTorch for the base image, or releases of the package for the installed PyTorch.
    pub fitting: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

impl Replacement {
    /// A replacement of this kind, of which nothing more is known.
    pub fn new(kind: &str, pin: &Pin, other: &Pin) -> Self {
        Replacement {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            pin: pin.clone(),
            other: other.clone(),
            location: pin.location.clone(),
            ..Replacement::default()
        }
    }
}

/// A package that is requested for something that no build exists for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeverBuilt {
    /// What no build is for: `variant` (the CUDA) or `python`; `wheel`, a file for another Python; `release`, a version that was never released; `channel`, a release after the last one of conda's channel pytorch; or `extra`, an extra that the release does not have.
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `error` if nothing else can be installed in its place.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// The CUDA, the Python or the version.
    pub requested: String,
    /// What builds are for: CUDA versions, or ranges of Python; for `release` the releases of the same line.
    pub built_for: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

impl NeverBuilt {
    /// What a package is requested for, and what is built.
    pub fn new(
        kind: &str,
        severity: Severity,
        pin: &Pin,
        requested: &str,
        built_for: Vec<String>,
    ) -> Self {
        NeverBuilt {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            requested: requested.to_owned(),
            built_for,
            location: pin.location.clone(),
        }
    }
}

/// A PyTorch that is installed for a different CUDA than intended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OtherCuda {
    /// Why: `pypi` (the build on PyPI is for a different CUDA major than the base image), `extra` (pip takes the newest release of all indexes, and
    /// the additional one has only older ones), `cpu` (a build for CPUs on a base image with CUDA), `path` (an address below PyTorch's that is no
    /// index).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// The CUDA that is intended: that of the base image or of the index; empty for `path`.
    pub intended: String,
    /// The CUDA versions that the build on PyPI is for.
    pub built_for: Vec<String>,
    /// For `extra`, the release that is installed.
    pub release: String,
    /// The releases with a build for the intended CUDA, newest first.
    pub builds: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

/// A library whose major version is not the one a package needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SystemLibrary {
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// The library: `cuda` or `cudnn`.
    pub library: String,
    /// The major that the package needs.
    pub needed: String,
    /// The majors that there are, or may be.
    pub found: Vec<String>,
    /// What has them: the base image or another package, as written.
    pub origin: String,
    /// What the user sees.
    pub shown: String,
    /// The releases of the package that fit, newest first: the last of each range of the table.
    pub fitting: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

/// A build that an index does not have, or that it chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexFault {
    /// Why: `label` (PyPI has no versions with a label), `other` (the index has builds for another CUDA), `nightly` (the index no longer has this
    /// build), `absent` (the index of PyTorch builds, the only one, does not have the package), `builder` (uv chooses the build by the driver of the machine that builds the image).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `error` if the installation fails.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// The location of the package.
    pub location: Location,
}

impl IndexFault {
    /// A fault of a package.
    pub fn new(kind: &str, severity: Severity, pin: &Pin) -> Self {
        IndexFault {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            location: pin.location.clone(),
        }
    }
}

/// A package that pip compiles, and whose build lacks something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceBuild {
    /// What it lacks: `isolated` (it imports PyTorch, and pip does not show it the installed one) or `compiler` (nvcc).
    pub kind: String,
    /// The name of the package.
    pub name: String,
    /// How severe it is: `note` if it depends on the release of pip.
    pub severity: Severity,
    /// The package.
    pub pin: Pin,
    /// The base image without a compiler; empty otherwise.
    #[serde(default)]
    pub base: String,
    /// The location of the package.
    pub location: Location,
}

impl SourceBuild {
    /// What the build of a package lacks.
    pub fn new(kind: &str, severity: Severity, pin: &Pin) -> Self {
        SourceBuild {
            kind: kind.to_owned(),
            name: pin.name.clone(),
            severity,
            pin: pin.clone(),
            base: String::new(),
            location: pin.location.clone(),
        }
    }
}

/// A PyTorch without a version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Unpinned {
    /// The name of the package.
    pub name: String,
    /// The package.
    pub pin: Pin,
    /// The CUDA of a base image that has CUDA alone; empty for other images, or if its tag names none.
    pub cuda: String,
    /// The releases that could be pinned, newest first: with a build for that CUDA, if there is one.
    pub builds: Vec<String>,
    /// The location of the package.
    pub location: Location,
}

/// An environment variable with which a package fails.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingFault {
    /// What fails, and why.
    pub fault: Fault,
    /// Where the variable is set.
    pub location: Location,
}
