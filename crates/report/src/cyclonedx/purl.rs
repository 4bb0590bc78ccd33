//! Package URLs (<https://github.com/package-url/purl-spec>): the name of a component in other tools.

use packageurl::PackageUrl;

use super::super::escape::percent;
use imgcheck_base::reference::name::Name;
use imgcheck_base::version;
use imgcheck_model::stack::{Component, Evidence, EvidenceKind};
use imgcheck_source::source::SourceKind;

/// `pkg:oci/NAME@DIGEST?…`: the last path component of the repository; the full repository is a qualifier if its registry is known: the
/// image was read from it, or the name has it. An archive of a local build names none.
pub(super) fn image(
    name: &Name,
    digest: Option<&str>,
    platform: &str,
    source: SourceKind,
) -> Option<String> {
    let repository = Name {
        tag: None,
        digest: None,
        ..name.canonical()
    };
    let repository = match source == SourceKind::Registry || name.registry.is_some() {
        true => repository.to_string(),
        false => String::new(),
    };
    purl(
        ("oci", None),
        name.last_component(),
        name.digest.as_deref().or(digest).unwrap_or_default(),
        &[
            ("arch", architecture(platform)),
            ("repository_url", &repository),
            ("tag", name.tag.as_deref().unwrap_or_default()),
        ],
    )
}

/// The package that installed a component, if the file is still that of the package; otherwise a generic name.
pub(super) fn of_component(
    component: &Component,
    os: Option<&Component>,
    platform: &str,
) -> Option<String> {
    if component.version.is_empty() || component.name == "os" {
        return None;
    }
    let mut evidence = component.evidence.iter();
    evidence
        .find_map(|evidence| package(component, evidence, os, platform))
        .or_else(|| purl(("generic", None), &component.name, &component.version, &[]))
}

/// The package that a piece of evidence names as `name version`.
fn package(
    component: &Component,
    evidence: &Evidence,
    os: Option<&Component>,
    platform: &str,
) -> Option<String> {
    let (name, version) = evidence.detail.split_once(' ')?;
    let meets = |a: &str, b: &str| version::meets(a, b) == Some(true);
    let (found, concluded) = (&evidence.value, &component.version);
    if !meets(found, concluded) && !meets(concluded, found) {
        return None;
    }
    let kind = match evidence.kind {
        EvidenceKind::PythonMetadata => return purl(("pypi", None), name, version, &[]),
        EvidenceKind::Conda => return purl(("conda", None), name, version, &[]),
        EvidenceKind::Dpkg => "deb",
        EvidenceKind::Apk => "apk",
        EvidenceKind::Rpm => "rpm",
        _ => return None,
    };
    // `ubuntu22.04` is written `ubuntu-22.04`.
    let system = os.map_or("", |os| os.version.as_str());
    let vendor = system.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    if vendor.is_empty() {
        return None;
    }
    let release = system.strip_prefix(vendor).unwrap_or_default();
    purl(
        (kind, Some(vendor)),
        &name.to_lowercase(),
        version,
        &[
            ("arch", architecture(platform)),
            ("distro", &format!("{vendor}-{release}")),
        ],
    )
}

/// `amd64` of `linux/amd64`.
fn architecture(platform: &str) -> &str {
    platform.split('/').nth(1).unwrap_or_default()
}

/// A package URL; empty versions and qualifiers are left out. `None` if the type or name is invalid.
fn purl(
    (kind, namespace): (&str, Option<&str>),
    name: &str,
    version: &str,
    qualifiers: &[(&'static str, &str)],
) -> Option<String> {
    let mut purl = PackageUrl::new(kind, name).ok()?;
    if let Some(namespace) = namespace {
        purl.with_namespace(namespace).ok()?;
    }
    if !version.is_empty() {
        purl.with_version(version).ok()?;
    }
    for (key, value) in qualifiers.iter().filter(|(_, value)| !value.is_empty()) {
        purl.add_qualifier(*key, value.to_string()).ok()?;
    }
    // The crate keeps characters such as quotes, which the specification wants encoded.
    Some(percent(&purl.to_string(), "%:/@?=&"))
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
        of_component(&component, Some(&os), "linux/amd64").unwrap_or_default()
    }

    #[test]
    fn a_component_has_the_name_of_its_package() {
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
    fn a_replaced_component_is_not_the_package() {
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
    fn an_image_is_named_with_its_digest_and_its_registry_if_that_is_known() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let named = |name: &str, source| {
            let name = name.parse::<Name>().ok();
            name.and_then(|name| image(&name, Some(&digest), "linux/amd64", source))
        };
        let expected = |repository: &str| {
            let url = format!("pkg:oci/pytorch@{digest}?arch=amd64{repository}&tag=2.8.0");
            Some(url)
        };
        let short = "pytorch/pytorch:2.8.0";
        assert_eq!(
            named(short, SourceKind::Registry),
            expected("&repository_url=docker.io%2Fpytorch%2Fpytorch")
        );
        assert_eq!(named(short, SourceKind::DockerArchive), expected(""));
        assert_eq!(
            named("ghcr.io/pytorch:2.8.0", SourceKind::Oci),
            expected("&repository_url=ghcr.io%2Fpytorch")
        );
    }
}
