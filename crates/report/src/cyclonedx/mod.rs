//! CycloneDX 1.6: the GPU stack of images as components, each with the evidence for its version.
//!
//! The document is reproducible: it contains no time, and its serial number is derived from the images' digests. It lists the
//! GPU stack, not all software of an image, and declares that as an incomplete composition.

mod model;
mod purl;

use super::details::{Unique, evidence_text, gap_text};
use super::escape;
use super::{Inspection, UnreadImage};
use imgcheck_base::digest;
use imgcheck_base::reference::name::Name;
use imgcheck_model::stack::{self, EvidenceKind};
use model::*;

/// A bill of materials. A single image is the subject of the document; several images become components with nested stacks.
/// Images that could not be read are listed as properties of the document.
pub fn report<'i>(
    images: impl Iterator<Item = &'i Inspection> + Clone,
    errors: &[UnreadImage],
) -> serde_json::Result<String> {
    let mut references = Unique::default();
    let mut described: Vec<(Component, Vec<Component>)> = images
        .clone()
        .map(|image| {
            let container = container(image, &mut references);
            (container, stack_of(image, &mut references))
        })
        .collect();
    let dependencies = described.iter().flat_map(dependencies).collect();
    let assemblies = described
        .iter()
        .map(|(image, _)| image.reference.clone())
        .collect();
    let single = match described.len() {
        1 => described.pop(),
        _ => None,
    };
    let (component, components) = match single {
        Some((image, stack)) => (Some(image), stack),
        None => {
            let nested = described.into_iter().map(|(image, stack)| Component {
                components: stack,
                ..image
            });
            (None, nested.collect())
        }
    };
    escape::json(&Bom {
        schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
        bom_format: "CycloneDX",
        spec_version: "1.6",
        serial_number: serial_number(images),
        version: 1,
        metadata: Metadata {
            tools: Tools {
                components: [Tool {
                    kind: "application",
                    name: "imgcheck",
                    version: env!("CARGO_PKG_VERSION"),
                }],
            },
            component,
            properties: errors.iter().map(unread).collect(),
        },
        components,
        dependencies,
        compositions: vec![Composition {
            aggregate: "incomplete",
            assemblies,
        }],
    })
}

fn unread(unread: &UnreadImage) -> Property {
    property("unread", &format!("{}: {}", unread.image, unread.error))
}

/// A UUID of version 8 (RFC 9562, section 5.8), derived from the digests of the images.
fn serial_number<'i>(images: impl Iterator<Item = &'i Inspection>) -> String {
    let mut hasher = digest::Hasher::default();
    for image in images {
        let layers = image.layers.iter().map(|layer| layer.diff_id.as_str());
        let identity = image.config_digest.as_deref().into_iter().chain(layers);
        for text in identity.chain([image.name(), ";"]) {
            hasher.update(text.as_bytes());
            hasher.update(b"\n");
        }
    }
    let digest = hasher.finish();
    let hexadecimal = digest::hexadecimal(&digest).unwrap_or_default();
    let mut bytes = [0; 16];
    for (byte, position) in bytes.iter_mut().zip((0..).step_by(2)) {
        let digits = hexadecimal.get(position..position + 2).unwrap_or("0");
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    uuid::Uuid::new_v8(bytes).urn().to_string()
}

fn property(name: &str, value: &str) -> Property {
    Property {
        name: format!("imgcheck:{name}"),
        value: value.to_owned(),
    }
}

fn container(image: &Inspection, references: &mut Unique) -> Component {
    let name = image
        .reference
        .as_deref()
        .and_then(|text| text.parse::<Name>().ok());
    let digest = image.digest.as_deref();
    let mut properties: Vec<Property> = [
        ("platform", Some(image.platform.as_str())),
        ("config-digest", image.config_digest.as_deref()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(property(name, value.filter(|value| !value.is_empty())?)))
    .collect();
    if let Some(driver) = &image.driver
        && let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(driver)
    {
        for (name, value) in fields {
            if let Some(value) = value.as_str() {
                properties.push(property(&format!("driver:{name}"), value));
            }
        }
    }
    if let Some(torch) = &image.gpu.torch {
        let covered = [("torch:sass", &torch.sass), ("torch:ptx", &torch.ptx)];
        let covered = covered.iter().filter(|(_, list)| !list.is_empty());
        properties.extend(covered.map(|(name, list)| property(name, &list.join(" "))));
    }
    let gaps = image.gaps.iter().map(gap_text);
    properties.extend(gaps.map(|gap| property("not-judged", &gap)));
    let tag = name.as_ref().and_then(|name| name.tag.clone());
    Component {
        kind: "container",
        reference: references.name(format!("image:{}", image.name()), "#"),
        name: match &name {
            Some(name) => Name {
                tag: None,
                digest: None,
                ..name.clone()
            }
            .to_string(),
            None => image.name().to_owned(),
        },
        version: tag
            .or_else(|| digest.map(str::to_owned))
            .unwrap_or_default(),
        hashes: digest
            .and_then(digest::hexadecimal)
            .map(|hexadecimal| Hash {
                alg: "SHA-256",
                content: hexadecimal.to_owned(),
            })
            .into_iter()
            .collect(),
        purl: name.and_then(|name| purl::image(&name, digest, &image.platform, image.source)),
        properties,
        ..Component::default()
    }
}

fn stack_of(image: &Inspection, references: &mut Unique) -> Vec<Component> {
    let os = image.stack.iter().find(|component| component.name == "os");
    image
        .stack
        .iter()
        .map(|component| {
            let mut properties = vec![
                property("loaded", &component.loaded.to_string()),
                property("path", &component.path),
            ];
            if let Some(layer) = component.layer {
                properties.push(property("layer", &layer.to_string()));
                let layer = image.layers.get(layer).map(|layer| &layer.diff_id);
                // A root directory is one layer without a digest.
                if let Some(diff_id) = layer.filter(|it| !it.is_empty()) {
                    properties.push(property("layer:diff-id", diff_id));
                }
            }
            let details = component.details.iter();
            properties.extend(details.map(|(name, value)| property(name, value)));
            let reference = format!(
                "{}/{}@{}:{}",
                image.name(),
                component.name,
                component.version,
                component.path
            );
            Component {
                kind: kind(&component.name),
                reference: references.name(reference, "#"),
                name: component.name.clone(),
                version: component.version.clone(),
                purl: purl::of_component(component, os, &image.platform),
                properties,
                evidence: Some(evidence(component)),
                ..Component::default()
            }
        })
        .collect()
}

/// The CycloneDX type of a component.
fn kind(name: &str) -> &'static str {
    match name {
        "os" => "operating-system",
        "python" => "platform",
        "torch" | "tensorflow" | "jax" | "paddle" => "framework",
        _ => "library",
    }
}

fn evidence(component: &stack::Component) -> Evidence {
    let methods: Vec<Method> = component
        .evidence
        .iter()
        .map(|evidence| {
            let (technique, confidence) = technique(evidence.kind);
            Method {
                technique,
                confidence,
                value: evidence_text(evidence, Some("")),
            }
        })
        .collect();
    let mut paths: Vec<&str> = vec![&component.path];
    for evidence in &component.evidence {
        if !paths.contains(&evidence.path.as_str()) {
            paths.push(&evidence.path);
        }
    }
    let identity = (!methods.is_empty()).then(|| Identity {
        field: "version",
        confidence: methods.iter().map(|it| it.confidence).fold(0.0, f32::max),
        concluded_value: component.version.clone(),
        methods,
    });
    Evidence {
        identity: identity.into_iter().collect(),
        occurrences: paths
            .into_iter()
            .filter(|path| !path.is_empty())
            .map(|path| Occurrence {
                location: path.to_owned(),
            })
            .collect(),
    }
}

/// How a piece of evidence was read, and its confidence, which follows the order in which evidence wins.
fn technique(kind: EvidenceKind) -> (&'static str, f32) {
    match kind {
        EvidenceKind::Code => ("binary-analysis", 1.0),
        EvidenceKind::String => ("binary-analysis", 0.9),
        EvidenceKind::BuildId => ("hash-comparison", 0.9),
        EvidenceKind::PythonMetadata
        | EvidenceKind::Dpkg
        | EvidenceKind::Apk
        | EvidenceKind::Rpm
        | EvidenceKind::Conda => ("manifest-analysis", 0.8),
        EvidenceKind::HeaderFile => ("source-code-analysis", 0.7),
        EvidenceKind::Soname => ("binary-analysis", 0.5),
        EvidenceKind::FileName => ("filename", 0.4),
        EvidenceKind::Env | EvidenceKind::Label => ("other", 0.2),
    }
}

/// The image depends on its loaded components.
fn dependencies((image, stack): &(Component, Vec<Component>)) -> Vec<Dependency> {
    let is_loaded = |component: &&Component| {
        let properties = component.properties.iter();
        properties
            .clone()
            .any(|it| it.name == "imgcheck:loaded" && it.value == "true")
    };
    let loaded = stack.iter().filter(is_loaded);
    vec![Dependency {
        reference: image.reference.clone(),
        depends_on: loaded.map(|it| it.reference.clone()).collect(),
    }]
}
