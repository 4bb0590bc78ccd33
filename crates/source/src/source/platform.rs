//! Platforms, and the selection of images by reference and platform.

use std::fmt;
use std::str::FromStr;

use oci_spec::image::ImageConfiguration;

use super::names;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limits;

/// Which images of a source are requested.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    /// The reference that the source records.
    pub reference: Option<String>,
    pub platform: Option<Platform>,
    pub all_platforms: bool,
    pub limits: Limits,
}

/// `os/architecture[/variant]`, in the names of Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Platform {
    os: String,
    architecture: String,
    variant: Option<String>,
}

impl Platform {
    /// Normalizes names as containerd does (`normalizeOS` and `normalizeArch` in `database.go` of `containerd/platforms`): `Linux` is
    /// linux, `x86_64` and `amd64/v1` are amd64, `aarch64` and `arm64/v8` are arm64, `armhf` is arm/v7.
    pub fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
        let os = match os.to_lowercase().as_str() {
            "" => "linux".to_owned(),
            "macos" => "darwin".to_owned(),
            _ => os.to_lowercase(),
        };
        let architecture = architecture.to_lowercase();
        let variant = variant.unwrap_or_default().to_lowercase();
        let (architecture, variant) = match (architecture.as_str(), variant.as_str()) {
            ("i386", _) => ("386", ""),
            ("x86_64" | "x86-64" | "amd64", "v1") => ("amd64", ""),
            ("x86_64" | "x86-64" | "amd64", variant) => ("amd64", variant),
            ("aarch64" | "arm64", "8" | "v8") => ("arm64", ""),
            ("aarch64" | "arm64", variant) => ("arm64", variant),
            ("armhf", _) | ("arm", "" | "7") => ("arm", "v7"),
            ("armel", _) | ("arm", "6") => ("arm", "v6"),
            ("arm", "5") => ("arm", "v5"),
            ("arm", "8") => ("arm", "v8"),
            other => other,
        };
        Platform {
            os,
            architecture: architecture.to_owned(),
            variant: (!variant.is_empty()).then(|| variant.to_owned()),
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

    /// The JSON form of an OCI platform, for the API of a container engine.
    pub fn json(&self) -> String {
        serde_json::json!({
            "os": self.os,
            "architecture": self.architecture,
            "variant": self.variant.as_deref().unwrap_or_default(),
        })
        .to_string()
    }

    /// Build tools write `unknown/unknown` for attestations, which are not images.
    pub fn is_unknown(&self) -> bool {
        self.os == "unknown" && self.architecture == "unknown"
    }

    fn host() -> Self {
        Self::new("linux", std::env::consts::ARCH, None)
    }

    fn matches(&self, wanted: &Platform) -> bool {
        self.os == wanted.os
            && self.architecture == wanted.architecture
            && (wanted.variant.is_none() || self.variant == wanted.variant)
    }
}

impl FromStr for Platform {
    type Err = Error;

    /// Parses `linux/amd64`, `linux/arm64/v8`, `arm64`, `aarch64`, `amd64/v1`.
    fn from_str(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split('/').collect();
        match words[..] {
            [architecture] if !architecture.is_empty() => {
                Ok(Self::new("linux", architecture, None))
            }
            [architecture, variant] if !architecture.is_empty() && is_variant(variant) => {
                Ok(Self::new("linux", architecture, Some(variant)))
            }
            [os, architecture] if !os.is_empty() && !architecture.is_empty() => {
                Ok(Self::new(os, architecture, None))
            }
            [os, architecture, variant] if words.iter().all(|word| !word.is_empty()) => {
                Ok(Self::new(os, architecture, Some(variant)))
            }
            _ => Err(Error::usage(format!("`{text}` is not a platform"))
                .with_help("write os/architecture[/variant], such as linux/amd64 or linux/arm64")),
        }
    }
}

/// `v1`, `v8`, …: no architecture has such a name.
fn is_variant(text: &str) -> bool {
    let number = text.strip_prefix(['v', 'V']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()))
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant
            .as_ref()
            .map_or(Ok(()), |variant| write!(f, "/{variant}"))
    }
}

/// An image of a source: one reference, one platform.
#[derive(Debug)]
pub(super) struct Candidate<T> {
    pub reference: Option<String>,
    pub platform: Platform,
    pub item: T,
}

/// The selected images: those with the reference, and of each reference those of the platform.
pub(super) fn select<T>(
    subject: &str,
    mut available: Vec<Candidate<T>>,
    selection: &Selection,
) -> Result<Vec<Candidate<T>>> {
    if available.is_empty() {
        return Err(Error::not_found(subject, "contains no image"));
    }
    if let Some(name) = &selection.reference {
        let names = references(&available);
        available.retain(|candidate| {
            candidate
                .reference
                .as_ref()
                .is_some_and(|recorded| names::same(name, recorded))
        });
        if available.is_empty() {
            return Err(Error::not_found(
                subject,
                format!("image {name} not found; it contains {names}"),
            ));
        }
    }
    let mut selected = Vec::new();
    while let Some(first) = available.first() {
        let name = first.reference.clone();
        let (group, rest) = available
            .into_iter()
            .partition(|candidate| candidate.reference == name);
        let group: Vec<Candidate<T>> = group;
        let platforms: Vec<Platform> = group
            .iter()
            .map(|candidate| candidate.platform.clone())
            .collect();
        let image = name.map_or_else(|| subject.to_owned(), |name| format!("{subject}: {name}"));
        let chosen = choose(&image, &platforms, selection)?;
        let numbered = group
            .into_iter()
            .enumerate()
            .filter(|(at, _)| chosen.contains(at));
        selected.extend(numbered.map(|(_, candidate)| candidate));
        available = rest;
    }
    Ok(selected)
}

fn references<T>(available: &[Candidate<T>]) -> String {
    let mut names: Vec<&str> = available
        .iter()
        .map(|candidate| {
            candidate
                .reference
                .as_deref()
                .unwrap_or("an image without a name")
        })
        .collect();
    names.dedup();
    names.join(", ")
}

/// The positions of the selected platforms among `available`, which are all of one image. The error lists them.
pub(super) fn choose(
    subject: &str,
    available: &[Platform],
    selection: &Selection,
) -> Result<Vec<usize>> {
    if selection.all_platforms {
        return Ok((0..available.len()).collect());
    }
    let platform = selection.platform.clone().unwrap_or_else(Platform::host);
    let matching: Vec<usize> = (0..available.len())
        .filter(|&at| available[at].matches(&platform))
        .collect();
    if let Some(&first) = matching.first() {
        // Of several variants the one without a variant, else the first.
        let best = matching
            .iter()
            .map(|&at| &available[at])
            .find(|found| found.variant == platform.variant);
        let best = best.unwrap_or(&available[first]);
        return Ok(matching
            .iter()
            .copied()
            .filter(|&at| &available[at] == best)
            .collect());
    }
    if selection.platform.is_none()
        && available
            .iter()
            .all(|other| Some(other) == available.first())
    {
        return Ok((0..available.len()).collect());
    }
    Err(no_such_platform(subject, &platform, available))
}

fn no_such_platform(subject: &str, platform: &Platform, available: &[Platform]) -> Error {
    let mut names: Vec<String> = available.iter().map(Platform::to_string).collect();
    names.dedup();
    let problem = format!("no image for {platform}; available: {}", names.join(", "));
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
            .map(|text| text.parse::<Platform>().unwrap())
            .collect();
        let platform = platform.map(|text| text.parse::<Platform>().unwrap());
        choose(
            "x",
            &there,
            &Selection {
                platform,
                ..Selection::default()
            },
        )
    }

    #[test]
    fn platform_names_are_normalized() {
        for (texts, normal) in [
            (
                "linux/arm64 arm64 aarch64 linux/arm64/v8 linux/aarch64 Linux/ARM64/8",
                "linux/arm64",
            ),
            (
                "amd64 AMD64 amd64/v1 linux/amd64/v1 x86_64 x86-64 LINUX/x86_64/V1",
                "linux/amd64",
            ),
            ("linux/amd64/v3 linux/x86_64/V3", "linux/amd64/v3"),
            (
                "arm armhf linux/arm/7 linux/arm/v7 linux/armhf/v6",
                "linux/arm/v7",
            ),
            ("armel linux/arm/6", "linux/arm/v6"),
            ("i386 386 linux/i386/x", "linux/386"),
            ("macOS/aarch64", "darwin/arm64"),
        ] {
            for text in texts.split(' ') {
                let platform = text.parse::<Platform>().unwrap();
                assert_eq!(platform.to_string(), normal, "{text}");
            }
        }
        for text in ["", "/", "linux/", "a/b/c/d", "linux//v8"] {
            assert_eq!(
                text.parse::<Platform>().unwrap_err().exit_code(),
                2,
                "{text}"
            );
        }
    }

    #[test]
    fn the_default_is_the_platform_of_this_machine_else_the_only_one() {
        let host = Platform::host().to_string();
        let there = ["linux/s390x", host.as_str(), "windows/amd64"];
        assert_eq!(choice(&there, None).unwrap(), [1]);
        assert_eq!(choice(&there, Some("s390x")).unwrap(), [0]);
        assert_eq!(choice(&["linux/s390x"], None).unwrap(), [0]);
        assert_eq!(
            choice(&["linux/arm/v6", "linux/arm"], Some("arm")).unwrap(),
            [1]
        );
        assert_eq!(
            choice(&["linux/amd64", "linux/AMD64/v1"], Some("x86_64")).unwrap(),
            [0, 1]
        );
        assert_eq!(
            choice(&["linux/arm/v7", "linux/arm/v6"], Some("linux/arm/v6")).unwrap(),
            [1]
        );
    }

    #[test]
    fn a_missing_platform_lists_the_available_ones() {
        let error = choice(&["linux/s390x", "linux/ppc64le"], None).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("available: linux/s390x, linux/ppc64le"),
            "{error}"
        );
        assert!(choice(&["linux/s390x"], Some("linux/mips")).is_err());
    }
}
