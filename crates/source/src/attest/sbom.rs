//! Bills of materials as scanners attach them to images: CycloneDX (ECMA-424) and SPDX 2, in JSON, alone or as what an in-toto statement
//! says. BuildKit stores such statements unsigned (<https://github.com/moby/buildkit/blob/master/docs/attestations/attestation-storage.md>),
//! cosign in signed envelopes. A signature is not verified: an SBOM is a claim, whoever makes it.

use std::str::FromStr;

use oci_spec::image::{Descriptor, ImageManifest};
use packageurl::PackageUrl;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::artifact::{EMPTY_TYPE, predicate_of};
use super::envelope::{BUNDLE, Envelope};
use imgcheck_base::digest;
use imgcheck_base::excerpt::{shortened, without_controls};

/// The type of a statement that BuildKit stores.
const IN_TOTO: &str = "application/vnd.in-toto+json";
const PREDICATE_TYPE: &str = "in-toto.io/predicate-type";
/// What the types of artifacts, their layers and predicates have in common.
const FORMATS: [&str; 2] = ["cyclonedx", "spdx"];
/// BuildKit names the SBOM of another build stage or of the build context `sbom-NAME`, and that of the image `sbom`.
const OTHER_STAGE: &str = "sbom-";
const UNKNOWN: &str = "it is neither CycloneDX nor SPDX 2 in JSON";
/// The name of this program in the bills of materials of `imgcheck attest --sbom`.
const OWN_NAME: &str = "imgcheck";
/// Longest name of a format and program, in characters.
const LONGEST_TITLE: usize = 60;

/// A bill of materials.
#[derive(Debug, PartialEq, Eq)]
pub struct Sbom {
    /// Its format, and the program that wrote it: `CycloneDX by trivy 0.59.1`.
    pub title: String,
    /// The packages that have a package URL with a version.
    pub packages: Vec<Package>,
}

/// A package that a bill of materials lists.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// As it is written: `pkg:pypi/torch@2.8.0`.
    pub url: String,
    /// The kind of package: `pypi`, `deb`.
    pub kind: String,
    /// Name of the package.
    pub name: String,
    /// Version of the package.
    pub version: String,
}

/// Whether an artifact in a list of referrers may have an SBOM, as its type or annotations say. Where there is no referrers API, cosign
/// lists its bundles under the type of the configuration, and without annotations.
pub fn is_listed(entry: &Descriptor) -> bool {
    let kind = entry.artifact_type().as_ref().map(ToString::to_string);
    let predicate = predicate_of(entry.annotations().as_ref());
    let is_unnamed =
        predicate.is_none() && matches!(kind.as_deref(), None | Some(BUNDLE | EMPTY_TYPE));
    is_unnamed || is_format(kind.as_deref()) || is_format(predicate)
}

/// The layers of an artifact that are SBOMs: all of one whose type or predicate is, statements with such a predicate of others, such as
/// BuildKit's manifest of attestations.
pub fn layers(manifest: &ImageManifest) -> impl Iterator<Item = &Descriptor> {
    let kind = manifest.artifact_type().as_ref().map(ToString::to_string);
    let of_all =
        is_format(kind.as_deref()) || is_format(predicate_of(manifest.annotations().as_ref()));
    manifest.layers().iter().filter(move |layer| {
        let kind = layer.media_type().to_string();
        let predicate = layer.annotations().as_ref();
        let predicate = predicate.and_then(|it| it.get(PREDICATE_TYPE));
        match kind.as_str() {
            IN_TOTO => is_format(predicate.map(String::as_str)),
            // The types of other files need not be named: `oras attach` asks for none.
            kind => kind != EMPTY_TYPE && (of_all || is_format(Some(kind))),
        }
    })
}

fn is_format(kind: Option<&str>) -> bool {
    let kind = kind.unwrap_or_default();
    FORMATS.iter().any(|it| kind.contains(it))
}

impl Sbom {
    /// Reads a document about the image with a digest. `None` if it is about something else: another image, or another build stage. One that
    /// imgcheck wrote is no claim, but what it found itself.
    ///
    /// # Errors
    /// The format is unknown.
    pub fn parse(bytes: &[u8], image: &str) -> Result<Option<Self>, String> {
        let parse = |bytes: &[u8]| {
            serde_json::from_slice::<Document>(bytes).map_err(|error| format!("{UNKNOWN}: {error}"))
        };
        let mut document = parse(bytes)?;
        if document.payload.is_some() || document.dsse_envelope.is_some() {
            let statement = Envelope::parse(bytes)?.payload();
            document = parse(&statement.unwrap_or_default())?;
        }
        if !document.is_about(image) {
            return Ok(None);
        }
        let document = match document.predicate {
            Some(predicate) => *predicate,
            None => document,
        };
        match (&document.bom_format, &document.spdx_version) {
            (Some(_), _) if document.tool()["name"] == OWN_NAME => Ok(None),
            (Some(_), _) => Ok(Some(document.cyclonedx())),
            (None, Some(_)) if document.is_other_stage() => Ok(None),
            (None, Some(_)) => Ok(Some(document.spdx())),
            (None, None) => Err(UNKNOWN.to_owned()),
        }
    }
}

/// A document of any of the formats.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Document {
    payload: Option<IgnoredAny>,
    dsse_envelope: Option<IgnoredAny>,
    subject: Vec<Subject>,
    predicate: Option<Box<Document>>,
    bom_format: Option<String>,
    metadata: Metadata,
    components: Vec<Component>,
    spdx_version: Option<String>,
    name: Option<String>,
    creation_info: CreationInfo,
    packages: Vec<SpdxPackage>,
}

#[derive(Debug, Deserialize)]
struct Subject {
    #[serde(default)]
    digest: Digests,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Digests {
    sha256: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    /// A list up to version 1.4, an object from 1.5 on.
    tools: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Component {
    purl: Option<String>,
    components: Vec<Component>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CreationInfo {
    creators: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SpdxPackage {
    external_refs: Vec<ExternalReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ExternalReference {
    reference_type: String,
    reference_locator: String,
}

impl Document {
    /// Whether it is no statement, or a statement about this image.
    fn is_about(&self, image: &str) -> bool {
        let image = digest::hexadecimal(image).unwrap_or_default();
        let mut subjects = self.subject.iter();
        self.predicate.is_none() || subjects.any(|it| it.digest.sha256 == image)
    }

    fn is_other_stage(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        name.starts_with(OTHER_STAGE)
    }

    /// The program that wrote a document in CycloneDX.
    fn tool(&self) -> &Value {
        let tools = &self.metadata.tools;
        match &tools["components"] {
            Value::Null => &tools[0],
            components => &components[0],
        }
    }

    fn cyclonedx(self) -> Sbom {
        let tool = self.tool();
        let word = |key: &str| tool[key].as_str().unwrap_or_default();
        let tool = format!("{} {}", word("name"), word("version"));
        let mut packages = Vec::new();
        let mut left = self.components;
        while let Some(component) = left.pop() {
            packages.extend(component.purl.as_deref().and_then(Package::parse));
            left.extend(component.components);
        }
        Sbom::new("CycloneDX", &tool, packages)
    }

    fn spdx(self) -> Sbom {
        let mut creators = self.creation_info.creators.iter();
        let tool = creators.find_map(|it| it.strip_prefix("Tool:"));
        let references = self.packages.iter().flat_map(|it| &it.external_refs);
        let urls = references.filter(|it| it.reference_type == "purl");
        let packages = urls.filter_map(|it| Package::parse(&it.reference_locator));
        Sbom::new("SPDX", tool.unwrap_or_default(), packages.collect())
    }
}

impl Sbom {
    fn new(format: &str, tool: &str, packages: Vec<Package>) -> Self {
        let tool = without_controls(tool);
        let title = match tool.trim() {
            "" => format.to_owned(),
            tool => format!("{format} by {}", shortened(tool, LONGEST_TITLE)),
        };
        Sbom { title, packages }
    }
}

impl Package {
    /// `None` for what has no version, or is no package URL.
    fn parse(url: &str) -> Option<Self> {
        let parsed = PackageUrl::from_str(url).ok()?;
        Some(Package {
            kind: parsed.ty().to_owned(),
            name: parsed.name().to_owned(),
            version: parsed.version()?.to_owned(),
            url: url.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const IMAGE: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

    fn versions(bytes: &str) -> Vec<(String, String)> {
        let sbom = Sbom::parse(bytes.as_bytes(), IMAGE).unwrap().unwrap();
        let packages = sbom.packages.into_iter();
        packages.map(|it| (it.name, it.version)).collect()
    }

    #[test]
    fn what_programs_write_is_read() {
        for (text, title) in [
            (
                include_str!("../../../../testdata/sbom/trivy.cdx.json"),
                "CycloneDX by trivy 0.59.1",
            ),
            (
                include_str!("../../../../testdata/sbom/trivy.spdx.json"),
                "SPDX by trivy-0.59.1",
            ),
            (
                include_str!("../../../../testdata/sbom/syft.cdx.json"),
                "CycloneDX by syft 1.18.1",
            ),
            (
                include_str!("../../../../testdata/sbom/syft.spdx.json"),
                "SPDX by syft-1.18.1",
            ),
            (
                include_str!("../../../../testdata/sbom/buildkit.spdx.json"),
                "SPDX by syft-1.18.1",
            ),
        ] {
            let sbom = Sbom::parse(text.as_bytes(), IMAGE).unwrap().unwrap();
            assert_eq!(sbom.title, title);
            for (name, version) in [("torch", "2.8.0"), ("nvidia-cudnn-cu12", "9.10.2.21")] {
                let listed = sbom.packages.iter().find(|it| it.name == name);
                assert_eq!(listed.map(|it| &*it.version), Some(version), "{title}");
            }
        }
    }

    #[test]
    fn versions_are_decoded_and_components_may_be_nested() {
        let text = r#"{"bomFormat": "CycloneDX", "components": [{"components": [
            {"purl": "pkg:pypi/torch@2.8.0%2Bcu128"}, {"purl": "pkg:pypi/numpy"}, {"purl": "torch"}, {}]}]}"#;
        assert_eq!(
            versions(text),
            [("torch".to_owned(), "2.8.0+cu128".to_owned())]
        );
    }

    #[test]
    fn a_statement_about_another_image_or_stage_is_passed_over() {
        let statement = |digest: &str, name: &str| {
            format!(
                r#"{{"subject": [{{"digest": {{"sha256": "{digest}"}}}}], "predicate": {{"spdxVersion": "SPDX-2.3", "name": "{name}"}}}}"#
            )
        };
        let about = |text: String| Sbom::parse(text.as_bytes(), IMAGE).unwrap().is_some();
        assert!(about(statement(&"1".repeat(64), "/run/src/core/sbom")));
        assert!(!about(statement(&"2".repeat(64), "/run/src/core/sbom")));
        assert!(!about(statement(&"1".repeat(64), "sbom-builder")));
    }

    #[test]
    fn what_imgcheck_attested_itself_is_no_claim() {
        for tools in [
            r#"{"components": [{"type": "application", "name": "imgcheck", "version": "0.1.0"}]}"#,
            r#"[{"name": "imgcheck", "version": "0.1.0"}]"#,
        ] {
            let text = format!(r#"{{"bomFormat": "CycloneDX", "metadata": {{"tools": {tools}}}}}"#);
            assert_eq!(Sbom::parse(text.as_bytes(), IMAGE), Ok(None));
        }
    }

    #[test]
    fn what_is_no_sbom_is_an_error() {
        for text in [
            "",
            "[]",
            "{}",
            "<bom/>",
            r#"{"bomFormat": 1}"#,
            r#"{"@graph": []}"#,
        ] {
            assert!(Sbom::parse(text.as_bytes(), IMAGE).is_err(), "{text}");
        }
    }
}
