//! What a rule may look at: the roots of its expressions.
//!
//! A fact that is not known is left out, never empty or null: an expression that needs it makes its rule not
//! applicable. So before an image is read there is no `stack`, no `copies` and no `image.env`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{loader, sample, schema};
use crate::claims::Claim;
use crate::policy::{
    ExpectationFacts, IgnoreFacts, Member, PolicyFacts, RequirementFacts, StackFacts,
};
use crate::process::LoaderFacts;
use crate::stack::{Component, ContainerToolkit, Evidence, EvidenceKind, Stack, UnmetRequirement};
use crate::targets::{self, TargetFacts};
use crate::version;

/// The facts of one image, or of a reference alone.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Facts {
    /// What tag, repository, labels and environment promise.
    pub claims: Vec<Claim>,
    /// By name, the copy that the process of the image gets. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<BTreeMap<String, Part>>,
    /// All copies. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<Vec<Part>>,
    /// Versions of the parts of `stack` that are known, and of `cuda`: see [`versions`]. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeMap<String, String>>,
    /// GPU code, as in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<serde_json::Value>,
    /// The driver floor, as in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<serde_json::Value>,
    /// What the loader does in the processes of the image. Absent if no image was read.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "loader::serialize"
    )]
    pub loader: Option<LoaderFacts>,
    /// What the image asks of NVIDIA's container toolkit. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_toolkit: Option<ContainerToolkit>,
    /// What is installed in the Python environments. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<PythonFacts>,
    /// The image itself.
    pub image: ImageFacts,
    /// The machines that the image must run on, judged. Empty if none are given, and if no image was read.
    pub targets: Vec<TargetFacts>,
    /// What the team asked for.
    pub policy: PolicyFacts,
}

/// What is installed in the Python environments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonFacts {
    /// Requirements on distributions of the GPU stack that what is installed does not meet.
    pub unmet_requirements: Vec<UnmetRequirement>,
}

impl PythonFacts {
    /// The layer of a metadata file that is named.
    fn layer_of(&self, path: &str) -> Option<usize> {
        self.unmet_requirements.iter().find_map(|it| {
            let own = (it.path == path).then_some(it.layer).flatten();
            own.or_else(|| (it.found_path == path).then_some(it.found_layer)?)
        })
    }
}

/// One copy of one part of the stack.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// A name of the fixed list: `torch`, `cuda-runtime`, `os` …
    pub name: String,
    /// Its version, absent if nothing tells it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The file or directory that stands for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Index of the layer that put it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Further facts by name: `cuda`, `build`, `compiled-cudnn` …
    #[serde(default)]
    pub details: BTreeMap<String, String>,
    /// All that says something of its version, strongest first.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

impl From<&Component> for Part {
    fn from(component: &Component) -> Self {
        Part {
            name: component.name.clone(),
            version: component.version.clone(),
            path: component.path.clone(),
            layer: component.layer,
            details: component.details.clone(),
            evidence: component.evidence.clone(),
        }
    }
}

/// The image itself: its name and its configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImageFacts {
    /// The reference as the user wrote it.
    pub reference: String,
    /// `docker.io`, `nvcr.io` …
    pub registry: String,
    /// `pytorch/pytorch`, without registry and tag.
    pub repository: String,
    /// The tag, absent if the reference has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The digest that the reference names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// `linux/amd64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// `os` of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// `architecture` of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The environment of the configuration. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// The labels of the configuration. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Number of ELF files of each machine. Absent if no image was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<BTreeMap<String, usize>>,
    /// Whether the image was read, or only its reference.
    pub scanned: bool,
}

impl Facts {
    /// The facts of a reference alone: rules that need the image do not apply.
    pub fn of_reference(image: ImageFacts, claims: Vec<Claim>) -> Self {
        Facts {
            claims,
            image: ImageFacts {
                scanned: false,
                ..image
            },
            ..Facts::default()
        }
    }

    /// The facts of an image that was read. The environment and labels in `image` are those of its configuration.
    pub fn of_image(image: ImageFacts, claims: Vec<Claim>, stack: &Stack) -> Self {
        let mut loaded = BTreeMap::new();
        for component in stack.components.iter().filter(|component| component.loaded) {
            loaded
                .entry(component.name.clone())
                .or_insert_with(|| Part::from(component));
        }
        Facts {
            claims,
            versions: Some(versions(&loaded)),
            stack: Some(loaded),
            copies: Some(stack.components.iter().map(Part::from).collect()),
            container_toolkit: Some(stack.container_toolkit.clone()),
            python: Some(PythonFacts {
                unmet_requirements: stack.unmet_requirements.clone(),
            }),
            image: ImageFacts {
                env: Some(image.env.unwrap_or_default()),
                labels: Some(image.labels.unwrap_or_default()),
                machines: Some(stack.machines.clone()),
                scanned: true,
                ..image
            },
            ..Facts::default()
        }
    }

    /// Facts that have everything an image may have, for trying expressions.
    pub fn sample() -> Self {
        let claim = |subject: &&str| Claim {
            subject: (*subject).to_owned(),
            version: "1.2.3".to_owned(),
            origin: "tag".to_owned(),
            text: "1.2.3".to_owned(),
        };
        let part = |name: &&str| Part {
            name: (*name).to_owned(),
            version: "1.2.3".to_owned(),
            path: format!("/opt/{name}"),
            layer: Some(0),
            details: schema::DETAILS
                .iter()
                .map(|detail| ((*detail).to_owned(), "1.2".to_owned()))
                .collect(),
            evidence: vec![Evidence {
                kind: EvidenceKind::Code,
                value: "1.2.3".to_owned(),
                path: format!("/opt/{name}/lib.so"),
                detail: "constant".to_owned(),
            }],
        };
        let parts: Vec<Part> = schema::PARTS.iter().map(part).collect();
        let pairs = || BTreeMap::from([("NAME".to_owned(), "value".to_owned())]);
        let stack: BTreeMap<String, Part> = parts
            .iter()
            .map(|part| (part.name.clone(), part.clone()))
            .collect();
        Facts {
            claims: crate::claims::SUBJECTS.iter().map(claim).collect(),
            versions: Some(versions(&stack)),
            stack: Some(stack),
            copies: Some(parts),
            loader: Some(loader::sample::sample()),
            container_toolkit: Some(sample::container_toolkit()),
            python: Some(sample::python()),
            targets: vec![target()],
            image: ImageFacts {
                reference: "registry.example/team/image:1.2.3".to_owned(),
                registry: "registry.example".to_owned(),
                repository: "team/image".to_owned(),
                tag: Some("1.2.3".to_owned()),
                digest: Some("sha256:0".to_owned()),
                platform: Some("linux/amd64".to_owned()),
                os: Some("linux".to_owned()),
                architecture: Some("amd64".to_owned()),
                env: Some(pairs()),
                labels: Some(pairs()),
                machines: Some(BTreeMap::from([("x86_64".to_owned(), 1)])),
                scanned: true,
            },
            policy: sample_policy(),
            ..Facts::default()
        }
    }

    /// The copy at a path.
    pub fn part_at(&self, path: &str) -> Option<&Part> {
        let loaded = self.stack.iter().flat_map(BTreeMap::values);
        let copies = self.copies.iter().flatten();
        loaded.chain(copies).find(|part| part.path == path)
    }

    /// The layer of a file that some fact names.
    pub fn layer_of(&self, path: &str) -> Option<usize> {
        let part = self.part_at(path).and_then(|part| part.layer);
        part.or_else(|| self.loader.as_ref()?.layer_of(path))
            .or_else(|| self.container_toolkit.as_ref()?.layer_of(path))
            .or_else(|| self.python.as_ref()?.layer_of(path))
    }
}

/// A target for trying expressions.
fn target() -> TargetFacts {
    let text = || Some("1.2".to_owned());
    let support = targets::Support {
        by: "sm_90".to_owned(),
        isa: text(),
        needs_cuda: text(),
        compiles: Some(false),
        ..targets::Support::default()
    };
    TargetFacts {
        name: "pool".to_owned(),
        gpus: vec![targets::GpuFacts {
            name: "H100".to_owned(),
            sm: "sm_90".to_owned(),
            capability: "9.0".to_owned(),
            torch: Some(support.clone()),
            packages: vec![targets::PackageCode {
                name: "flash_attn".to_owned(),
                support: support.clone(),
                ..targets::PackageCode::default()
            }],
            libraries: vec![targets::LibraryCode {
                path: "/opt/libx.so".to_owned(),
                support,
                ..targets::LibraryCode::default()
            }],
            ..targets::GpuFacts::default()
        }],
        driver: Some(targets::DriverFacts {
            version: "535.183.06".to_owned(),
            cuda: text(),
            needs_cuda: text(),
            native: text(),
            compatible: text(),
            compiles_ptx: Some(false),
            compat: text(),
            ..targets::DriverFacts::default()
        }),
    }
}

/// The versions of a stack by name, where they can be read. `cuda` is the release of the CUDA runtime that the process gets, major and
/// minor; without one, of the CUDA that its PyTorch was built with.
pub fn versions(stack: &BTreeMap<String, Part>) -> BTreeMap<String, String> {
    let readable = stack
        .values()
        .filter(|part| version::release(&part.version).is_some());
    let mut versions: BTreeMap<String, String> = readable
        .map(|part| (part.name.clone(), part.version.clone()))
        .collect();
    let runtime = versions.get("cuda-runtime");
    let cuda = runtime
        .filter(|version| version.contains('.'))
        .or_else(|| stack.get("torch")?.details.get("cuda"))
        .and_then(|version| version::release(version));
    if let Some(numbers) = cuda {
        let numbers: Vec<String> = numbers.iter().take(2).map(u64::to_string).collect();
        versions.insert("cuda".to_owned(), numbers.join("."));
    }
    versions
}

fn sample_policy() -> PolicyFacts {
    let text = |text: &str| text.to_owned();
    let versions = BTreeMap::from([(text("cudnn"), text("1.2.3"))]);
    PolicyFacts {
        expect: Some(vec![ExpectationFacts {
            text: text("torch==2.8.*"),
            name: text("torch"),
            specifier: text("==2.8.*"),
            origin: text("--expect"),
        }]),
        stacks: Some(vec![StackFacts {
            name: text("current"),
            parts: vec![RequirementFacts {
                name: text("torch"),
                specifier: text("==2.8.*"),
            }],
        }]),
        consistent: Some(vec![text("cudnn")]),
        fleet: Some(vec![Member {
            image: text("registry.example/team/image:1.2.3"),
            versions,
        }]),
        ignores: Some(vec![IgnoreFacts {
            rule: text("load-*"),
            file: text(".imgcheck.yaml"),
            ..IgnoreFacts::default()
        }]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{Shape, roots};
    use super::*;

    /// The facts and the shapes that rules are checked against are written down twice; this keeps them together.
    #[test]
    fn the_schema_knows_every_fact() {
        let facts = Facts::sample();
        let mut sample = serde_json::to_value(&facts).unwrap_or_default();
        let mapped = facts.loader.as_ref().map(loader::mapped);
        sample["loader"]["mapped"] = serde_json::to_value(mapped).unwrap_or_default();
        for (root, shape) in roots() {
            if let Some(value) = sample.get(root) {
                assert_fits(root, &Shape::of(value), &shape);
            }
        }
        let names = roots();
        let fields = sample.as_object().into_iter().flatten();
        for (name, _) in fields {
            assert!(names.contains_key(name.as_str()), "{name} is no root");
        }
    }

    fn assert_fits(place: &str, value: &Shape, schema: &Shape) {
        match (value, schema) {
            (_, Shape::Any) | (Shape::Never, _) => {}
            (Shape::List(value), Shape::List(schema)) => {
                assert_fits(&format!("{place}[]"), value, schema)
            }
            (Shape::Record(fields), Shape::Record(known)) => {
                assert!(
                    fields.keys().eq(known.keys()),
                    "{place}: {:?} {:?}",
                    fields.keys(),
                    known.keys()
                );
                for (name, field) in fields {
                    assert_fits(&format!("{place}.{name}"), field, &known[name]);
                }
            }
            (Shape::Record(fields), Shape::Map(inner) | Shape::Keys(_, inner)) => {
                for (name, field) in fields {
                    assert_fits(&format!("{place}.{name}"), field, inner);
                }
            }
            (value, schema) => assert_eq!(value, schema, "{place}"),
        }
    }
}
