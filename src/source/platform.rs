//! Platforms, and the choice among those of an image.

use std::fmt;

use oci_spec::image::ImageConfiguration;

use super::{Wanted, reference};
use crate::error::{Error, Result};

/// `os/architecture[/variant]` in Go's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Platform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl Platform {
    /// Reads what was typed: `linux/amd64`, `linux/arm64/v8`, `arm64`, `aarch64`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [architecture] if !architecture.is_empty() => {
                Ok(Self::new("linux", architecture, None))
            }
            [os, architecture] if !os.is_empty() && !architecture.is_empty() => {
                Ok(Self::new(os, architecture, None))
            }
            [os, architecture, variant] if parts.iter().all(|part| !part.is_empty()) => {
                Ok(Self::new(os, architecture, Some(variant)))
            }
            _ => Err(Error::Usage {
                problem: format!("`{text}` is not a platform"),
                help: Some(
                    "write os/architecture[/variant], such as linux/amd64 or linux/arm64"
                        .to_owned(),
                ),
            }),
        }
    }

    /// The usual names of the same thing are one: `x86_64` is amd64, `aarch64` and arm64's only variant `v8` are arm64.
    pub fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
        let architecture = match architecture {
            "x86_64" | "x86-64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let implied = architecture == "arm64" && variant == Some("v8");
        Platform {
            os: os.to_owned(),
            architecture: architecture.to_owned(),
            variant: variant
                .filter(|variant| !implied && !variant.is_empty())
                .map(str::to_owned),
        }
    }

    pub fn of_descriptor(platform: &oci_spec::image::Platform) -> Self {
        Self::new(
            &platform.os().to_string(),
            &platform.architecture().to_string(),
            platform.variant().as_deref(),
        )
    }

    pub fn of_config(config: &ImageConfiguration) -> Self {
        Self::new(
            &config.os().to_string(),
            &config.architecture().to_string(),
            config.variant().as_deref(),
        )
    }

    /// As the interface of an engine wants it: JSON with the members of an OCI platform.
    pub fn json(&self) -> String {
        serde_json::json!({
            "os": self.os,
            "architecture": self.architecture,
            "variant": self.variant.as_deref().unwrap_or_default(),
        })
        .to_string()
    }

    /// What build tools write for attestations, which are no images.
    pub fn is_unknown(&self) -> bool {
        self.os == "unknown" && self.architecture == "unknown"
    }

    fn host() -> Self {
        Self::new("linux", std::env::consts::ARCH, None)
    }

    fn meets(&self, wanted: &Platform) -> bool {
        self.os == wanted.os
            && self.architecture == wanted.architecture
            && (wanted.variant.is_none() || self.variant == wanted.variant)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant
            .as_ref()
            .map_or(Ok(()), |variant| write!(f, "/{variant}"))
    }
}

/// An image that a source holds: one reference, one platform.
#[derive(Debug)]
pub(super) struct Candidate<T> {
    pub reference: Option<String>,
    pub platform: Platform,
    pub item: T,
}

/// The wanted images: those of the wanted reference, and of each reference those of the wanted platform.
pub(super) fn select<T>(
    subject: &str,
    mut there: Vec<Candidate<T>>,
    wanted: &Wanted,
) -> Result<Vec<Candidate<T>>> {
    if there.is_empty() {
        return Err(Error::not_found(subject, "holds no image"));
    }
    if let Some(name) = &wanted.reference {
        let names = references(&there);
        there.retain(|candidate| {
            candidate
                .reference
                .as_ref()
                .is_some_and(|recorded| reference::same(name, recorded))
        });
        if there.is_empty() {
            return Err(Error::not_found(
                subject,
                format!("holds no image {name}; it holds {names}"),
            ));
        }
    }
    let mut selected = Vec::new();
    while let Some(first) = there.first() {
        let name = first.reference.clone();
        let (group, rest) = there
            .into_iter()
            .partition(|candidate| candidate.reference == name);
        let group: Vec<Candidate<T>> = group;
        let platforms: Vec<Platform> = group
            .iter()
            .map(|candidate| candidate.platform.clone())
            .collect();
        let image = name.map_or_else(|| subject.to_owned(), |name| format!("{subject}: {name}"));
        let chosen = choose(&image, &platforms, wanted)?;
        let numbered = group
            .into_iter()
            .enumerate()
            .filter(|(at, _)| chosen.contains(at));
        selected.extend(numbered.map(|(_, candidate)| candidate));
        there = rest;
    }
    Ok(selected)
}

fn references<T>(there: &[Candidate<T>]) -> String {
    let mut names: Vec<&str> = there
        .iter()
        .map(|candidate| {
            candidate
                .reference
                .as_deref()
                .unwrap_or("one without a name")
        })
        .collect();
    names.dedup();
    names.join(", ")
}

/// The platforms among `there` (all of one image) that are wanted, as positions. An error lists what there is.
pub(super) fn choose(subject: &str, there: &[Platform], wanted: &Wanted) -> Result<Vec<usize>> {
    if wanted.all_platforms {
        return Ok((0..there.len()).collect());
    }
    let platform = wanted.platform.clone().unwrap_or_else(Platform::host);
    let matching: Vec<usize> = (0..there.len())
        .filter(|&at| there[at].meets(&platform))
        .collect();
    if let Some(&first) = matching.first() {
        // Of several variants the plain one, else the first.
        let best = matching
            .iter()
            .map(|&at| &there[at])
            .find(|found| found.variant == platform.variant);
        let best = best.unwrap_or(&there[first]);
        return Ok(matching
            .iter()
            .copied()
            .filter(|&at| &there[at] == best)
            .collect());
    }
    if wanted.platform.is_none() && there.iter().all(|other| Some(other) == there.first()) {
        return Ok((0..there.len()).collect());
    }
    Err(no_such_platform(subject, &platform, there))
}

fn no_such_platform(subject: &str, platform: &Platform, there: &[Platform]) -> Error {
    let mut names: Vec<String> = there.iter().map(Platform::to_string).collect();
    names.dedup();
    let problem = format!(
        "there is no image for {platform}; there is {}",
        names.join(", ")
    );
    let name = names.first().map_or("PLATFORM", String::as_str);
    Error::not_found(subject, problem).with_help(format!(
        "choose one with --platform {name}, or all with --all-platforms"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn choice(there: &[&str], platform: Option<&str>) -> Result<Vec<usize>> {
        let there: Vec<Platform> = there
            .iter()
            .map(|text| Platform::parse(text).unwrap())
            .collect();
        let platform = platform.map(|text| Platform::parse(text).unwrap());
        choose(
            "x",
            &there,
            &Wanted {
                platform,
                ..Wanted::default()
            },
        )
    }

    #[test]
    fn names_of_one_platform_are_equal() {
        for text in [
            "linux/arm64",
            "arm64",
            "aarch64",
            "linux/arm64/v8",
            "linux/aarch64",
        ] {
            assert_eq!(
                Platform::parse(text).unwrap().to_string(),
                "linux/arm64",
                "{text}"
            );
        }
        for text in ["", "/", "linux/", "a/b/c/d", "linux//v8"] {
            assert_eq!(Platform::parse(text).unwrap_err().exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn the_wanted_platform_else_this_machines_else_the_only_one() {
        let host = Platform::host().to_string();
        let there = ["linux/s390x", host.as_str(), "windows/amd64"];
        assert_eq!(choice(&there, None).unwrap(), [1]);
        assert_eq!(choice(&there, Some("s390x")).unwrap(), [0]);
        assert_eq!(choice(&["linux/s390x"], None).unwrap(), [0]);
        assert_eq!(
            choice(&["linux/arm/v7", "linux/arm"], Some("arm")).unwrap(),
            [1]
        );
        assert_eq!(
            choice(&["linux/arm/v7", "linux/arm/v6"], Some("linux/arm/v6")).unwrap(),
            [1]
        );
    }

    #[test]
    fn a_platform_that_is_not_there_lists_those_that_are() {
        let error = choice(&["linux/s390x", "linux/ppc64le"], None).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("there is linux/s390x, linux/ppc64le"),
            "{error}"
        );
        assert!(choice(&["linux/s390x"], Some("linux/mips")).is_err());
    }
}
