//! The test of a rule: the facts that are given, and what the rule must report.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::facts::{ComponentFacts, Facts, ImageFacts, PythonFacts, TypedName, versions};
use super::shape::Shape;
use crate::policy::PolicyFacts;
use imgcheck_lint::lint::Sources;
use imgcheck_lint::workload::WorkloadFacts;
use imgcheck_model::claims::Claim;
use imgcheck_model::knowledge;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::stack::{ContainerToolkit, Network, Weights};
use imgcheck_model::targets::TargetFacts;
use imgcheck_tables::vocabulary;

/// One test of a rule.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleTest {
    /// What it shows.
    pub name: String,
    /// The facts.
    pub given: Given,
    /// What the rule must say of them.
    pub expect: Expect,
}

/// Facts of a test. With `stack`, `copies`, `loader`, `container_toolkit`, `network`, `weights`, `python`, or an `image` without a name (such as `image: {}`) an
/// image was read, and what is not given of it is empty; otherwise only its reference is known.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    /// What tag, repository, labels and environment promise.
    claims: Vec<GivenClaim>,
    /// Copies that the process gets.
    stack: Option<Vec<ComponentFacts>>,
    /// Copies that it does not get.
    copies: Option<Vec<ComponentFacts>>,
    /// The image itself.
    image: Option<ImageFacts>,
    /// GPU code, as in the report.
    gpu: Option<Value>,
    /// The driver floor, as in the report.
    driver: Option<Value>,
    /// The loader model, as in the report.
    #[schemars(with = "Option<LoaderFacts>")]
    loader: Option<Value>,
    /// What the environment does not tell: files of the driver, and files that need it. The rest follows from `image.env`.
    #[schemars(with = "Option<ContainerToolkit>")]
    container_toolkit: Option<Value>,
    /// What the image has for the network between GPUs of several machines.
    network: Option<Network>,
    /// Models with quantized weights in the image.
    weights: Option<Vec<Weights>>,
    /// What is installed in the Python environments.
    python: Option<PythonFacts>,
    /// What a file asks for that an image is built from. Conflicts and replacements follow from its packages.
    #[schemars(with = "Option<Sources>")]
    lint: Option<Value>,
    /// The container that starts the image.
    #[schemars(with = "Option<WorkloadFacts>")]
    workload: Option<Value>,
    /// The judged targets, as in the report.
    #[schemars(with = "Option<Vec<TargetFacts>>")]
    targets: Option<Value>,
    /// The policy of the team.
    #[schemars(with = "Option<PolicyFacts>")]
    policy: Option<Value>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GivenClaim {
    /// What it is about.
    subject: String,
    /// What is promised of it.
    version: String,
    /// `tag`, `repository`, `label`, `env` or `sbom`.
    #[serde(default = "tag")]
    origin: String,
    /// The version, if it is not given.
    #[serde(default)]
    text: Option<String>,
    /// The document of the SBOM.
    #[serde(default)]
    document: Option<String>,
}

fn tag() -> String {
    "tag".to_owned()
}

/// What a test expects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How many findings.
    pub findings: usize,
    /// A pattern that the first message matches: `*contains 2.8.0*`.
    #[serde(default)]
    pub message: Option<String>,
    /// A pattern that the first help matches.
    #[serde(default)]
    pub help: Option<String>,
    /// Severity of the first.
    #[serde(default)]
    pub severity: Option<String>,
    /// File of the first.
    #[serde(default)]
    pub path: Option<String>,
}

impl Given {
    /// The facts that the test describes.
    ///
    /// # Errors
    ///
    /// A name or value that no facts have.
    pub fn facts(&self) -> Result<Facts, String> {
        let scanned = self.stack.is_some()
            || self.copies.is_some()
            || self.loader.is_some()
            || self.container_toolkit.is_some()
            || self.network.is_some()
            || self.weights.is_some()
            || self.python.is_some()
            || self.image.as_ref().is_some_and(has_no_name);
        let loaded = self.stack.clone().unwrap_or_default();
        let others = self.copies.clone().unwrap_or_default();
        for component in loaded.iter().chain(&others) {
            if !vocabulary::COMPONENTS.contains(&component.name.as_str()) {
                return Err(format!("no component is called `{}`", component.name));
            }
        }
        let stack: BTreeMap<String, ComponentFacts> = loaded
            .iter()
            .map(|component| (component.name.clone(), component.clone()))
            .collect();
        let given_image = self.image.clone().unwrap_or_default();
        let image = ImageFacts {
            scanned,
            env: scanned.then(|| given_image.env.clone().unwrap_or_default()),
            process_env: scanned.then(|| {
                let own = given_image.process_env.clone();
                own.or(given_image.env.clone()).unwrap_or_default()
            }),
            labels: scanned.then(|| given_image.labels.clone().unwrap_or_default()),
            machines: scanned.then(|| given_image.machines.clone().unwrap_or_default()),
            ..given_image
        };
        let toolkit = scanned
            .then(|| self.container_toolkit(&image))
            .transpose()?;
        Ok(Facts {
            claims: self.claims.iter().map(GivenClaim::claim).collect(),
            versions: scanned.then(|| versions(&stack)),
            stack: scanned.then_some(stack),
            copies: scanned.then(|| loaded.into_iter().chain(others).collect()),
            image,
            gpu: self.gpu.clone(),
            driver: self.driver.clone(),
            loader: given("loader", self.loader.as_ref())?.map(Arc::new),
            container_toolkit: toolkit,
            network: scanned.then(|| self.network.clone().unwrap_or_default()),
            weights: scanned.then(|| self.weights.clone().unwrap_or_default()),
            python: scanned.then(|| self.python.clone().unwrap_or_default().into()),
            lint: self.sources()?,
            workload: given("workload", self.workload.as_ref())?,
            targets: given("targets", self.targets.as_ref())?.unwrap_or_default(),
            policy: given("policy", self.policy.as_ref())?.unwrap_or_default(),
            typed: TypedName::default(),
        })
    }
}

/// Whether the image is not given as a reference.
fn has_no_name(image: &ImageFacts) -> bool {
    let names = [&image.reference, &image.registry, &image.repository];
    names.iter().all(|it| it.is_empty()) && image.tag.is_none() && image.digest.is_none()
}

impl Given {
    /// The file of a test, with what follows from its packages.
    fn sources(&self) -> Result<Option<Sources>, String> {
        let mut given: Option<Sources> = given("lint", self.lint.as_ref())?;
        if let Some(sources) = &mut given {
            sources.compare().map_err(|error| error.to_string())?;
        }
        Ok(given)
    }

    /// What the environment of a test asks of the container toolkit, with the files that the test gives.
    fn container_toolkit(&self, image: &ImageFacts) -> Result<ContainerToolkit, String> {
        let given: ContainerToolkit =
            given("container_toolkit", self.container_toolkit.as_ref())?.unwrap_or_default();
        let knowledge = knowledge::container_toolkit().map_err(|error| error.to_string())?;
        let environment = image.env.clone().unwrap_or_default();
        Ok(ContainerToolkit {
            driver_files: given.driver_files,
            needs: given.needs,
            ..ContainerToolkit::of_environment(&environment, &knowledge)
        })
    }
}

/// The facts of a test about one root: what is not given is empty, and a field that the type does not have is an error.
fn given<T: JsonSchema + DeserializeOwned>(
    root: &str,
    value: Option<&Value>,
) -> Result<Option<T>, String> {
    let Some(value) = value else {
        return Ok(None);
    };
    Shape::of_type::<T>().check(root, value)?;
    serde_json::from_value(value.clone())
        .map(Some)
        .map_err(|error| format!("{root}: {error}"))
}

impl GivenClaim {
    fn claim(&self) -> Claim {
        Claim {
            subject: self.subject.clone(),
            version: self.version.clone(),
            origin: self.origin.clone(),
            text: self.text.clone().unwrap_or_else(|| self.version.clone()),
            document: self.document.clone(),
        }
    }
}
