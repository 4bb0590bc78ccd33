//! Package URLs (<https://github.com/package-url/purl-spec>): the name of a component in other tools.

use super::super::escape::percent;
use crate::reference::name::Name;
use crate::stack::{Component, Evidence, EvidenceKind};
use crate::version;

/// `pkg:oci/name@digest?…`: the last component of the repository, with the whole of it as a qualifier.
pub(super) fn image(name: &Name, digest: Option<&str>, platform: &str) -> String {
    let whole = Name {
        tag: None,
        digest: None,
        ..name.canonical()
    };
    let digest = name.digest.as_deref().or(digest);
    let version = digest.map_or_else(String::new, |digest| format!("@{}", percent(digest, "")));
    let architecture = platform.split('/').nth(1).unwrap_or_default();
    // Qualifiers stand in the order of their names.
    let qualifiers = [
        ("arch", architecture),
        ("repository_url", &whole.to_string()),
        ("tag", name.tag.as_deref().unwrap_or_default()),
    ];
    format!(
        "pkg:oci/{}{version}{}",
        percent(name.last_component(), ""),
        written(&qualifiers)
    )
}

/// The package that brought a part, if it still is what the package brought; else a name that says only what it is.
pub(super) fn part(part: &Component, os: Option<&Component>, platform: &str) -> Option<String> {
    if part.version.is_empty() || part.name == "os" {
        return None;
    }
    let packages = part.evidence.iter();
    let known = packages
        .filter_map(|evidence| package(part, evidence, os, platform))
        .next();
    let generic = || {
        format!(
            "pkg:generic/{}@{}",
            percent(&part.name, ""),
            percent(&part.version, "")
        )
    };
    Some(known.unwrap_or_else(generic))
}

/// The package that a piece of evidence names, as `name version`.
fn package(
    part: &Component,
    evidence: &Evidence,
    os: Option<&Component>,
    platform: &str,
) -> Option<String> {
    let (name, version) = evidence.detail.split_once(' ')?;
    let same = |a: &str, b: &str| version::meets(a, b) == Some(true);
    if !same(&evidence.value, &part.version) && !same(&part.version, &evidence.value) {
        return None;
    }
    let architecture = ("arch", platform.split('/').nth(1).unwrap_or_default());
    let distribution = os.map_or("", |os| os.version.as_str());
    let vendor = distribution.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    let release = distribution.strip_prefix(vendor).unwrap_or_default();
    let distribution = match vendor {
        "" => String::new(),
        _ => format!("{vendor}-{release}"),
    };
    let of_system = [architecture, ("distro", distribution.as_str())];
    let (kind, qualifiers): (String, &[(&str, &str)]) = match evidence.kind {
        EvidenceKind::PythonMetadata => ("pypi".to_owned(), &[]),
        EvidenceKind::Conda => ("conda".to_owned(), &[]),
        EvidenceKind::Dpkg if !vendor.is_empty() => {
            (format!("deb/{}", percent(vendor, "")), &of_system)
        }
        EvidenceKind::Apk if !vendor.is_empty() => {
            (format!("apk/{}", percent(vendor, "")), &of_system)
        }
        EvidenceKind::Rpm if !vendor.is_empty() => {
            (format!("rpm/{}", percent(vendor, "")), &of_system)
        }
        _ => return None,
    };
    let name = name.to_lowercase();
    let name = match evidence.kind {
        EvidenceKind::PythonMetadata => name.replace('_', "-"),
        _ => name,
    };
    Some(format!(
        "pkg:{kind}/{}@{}{}",
        percent(&name, ""),
        percent(version, ""),
        written(qualifiers)
    ))
}

/// `?name=value&…` of the qualifiers that have a value.
fn written(qualifiers: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = qualifiers
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", percent(value, "/")))
        .collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!("?{}", pairs.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(kind: EvidenceKind, value: &str, detail: &str, version: &str) -> String {
        let evidence = Evidence {
            kind,
            value: value.to_owned(),
            path: String::new(),
            detail: detail.to_owned(),
        };
        let component = Component {
            name: "cudnn".to_owned(),
            version: version.to_owned(),
            evidence: vec![evidence],
            ..Component::default()
        };
        let os = Component {
            version: "ubuntu22.04".to_owned(),
            ..Component::default()
        };
        part(&component, Some(&os), "linux/amd64").unwrap_or_default()
    }

    #[test]
    fn a_part_goes_by_the_name_of_its_package() {
        let metadata = EvidenceKind::PythonMetadata;
        assert_eq!(
            with(metadata, "9.10.2", "nvidia-cudnn-cu12 9.10.2.21", "9.10.2"),
            "pkg:pypi/nvidia-cudnn-cu12@9.10.2.21"
        );
        assert_eq!(
            with(metadata, "2.8.0+cu128", "torch 2.8.0+cu128", "2.8.0+cu128"),
            "pkg:pypi/torch@2.8.0%2Bcu128"
        );
        assert_eq!(
            with(
                EvidenceKind::Dpkg,
                "9.10.2",
                "libcudnn9-cuda-12 9.10.2.21-1",
                "9.10.2"
            ),
            "pkg:deb/ubuntu/libcudnn9-cuda-12@9.10.2.21-1?arch=amd64&distro=ubuntu-22.04"
        );
    }

    #[test]
    fn a_part_that_was_replaced_is_not_the_package() {
        let metadata = EvidenceKind::PythonMetadata;
        assert_eq!(
            with(metadata, "9.10.2", "nvidia-cudnn-cu12 9.10.2.21", "9.1.0"),
            "pkg:generic/cudnn@9.1.0"
        );
        assert_eq!(
            with(EvidenceKind::Code, "9.1.0", "cudnnGetVersion", "9.1.0"),
            "pkg:generic/cudnn@9.1.0"
        );
    }

    #[test]
    fn an_image_is_named_with_its_registry_and_digest() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let name = "pytorch/pytorch:2.8.0".parse::<Name>().ok();
        let name = name.map(|name| image(&name, Some(&digest), "linux/amd64"));
        let expected = format!(
            "pkg:oci/pytorch@sha256%3A{}?arch=amd64&repository_url=docker.io/pytorch/pytorch&tag=2.8.0",
            "0".repeat(64)
        );
        assert_eq!(name, Some(expected));
    }
}
