//! Writes facts, statements and their signatures.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::lists;
use super::request::{AttestRequest, Signer};
use super::statements::Statements;
use crate::facts::ImageFacts;
use crate::read::source_request;
use crate::{Checker, Format, ImageRequest, Subject, View};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;
use imgcheck_base::reference::only_tag;
use imgcheck_layer::cache;
use imgcheck_model::finding::{IgnoredFinding, Severity};
use imgcheck_report::{ImageReport, Verdict};
use imgcheck_source::attest::artifact::{Artifact, Blob};
use imgcheck_source::attest::envelope::{ENVELOPE, Envelope};
use imgcheck_source::attest::predicate::{
    self, Engine, FACTS, FactsPredicate, ImageVerdict, REQUIREMENTS, SBOM, SUMMARY, VERDICT,
    VerdictPredicate, judged_reference,
};
use imgcheck_source::attest::statement::Statement;
use imgcheck_source::source::registry::{Access, Addition, Artifacts};

/// The predicate types of the statements about an image. A new statement replaces an earlier one by the same key.
const PREDICATES: [&str; 5] = [FACTS, VERDICT, SUMMARY, SBOM, REQUIREMENTS];

/// What was attested.
#[derive(Debug)]
pub struct Attestation {
    /// The images, and the index that lists them, last.
    pub images: Vec<AttestedImage>,
    /// The signed statements in Sigstore bundles: a line of JSON each.
    pub bundles: Vec<u8>,
}

/// An image, or the index of several.
#[derive(Debug)]
pub struct AttestedImage {
    /// Digest of the manifest or index.
    pub digest: String,
    /// `os/architecture[/variant]`; `None` for an index.
    pub platform: Option<String>,
    /// The verdict that the statements carry.
    pub verdict: Verdict,
    /// Bytes of the facts, compressed; 0 for an index.
    pub facts_bytes: usize,
}

/// A statement about one manifest.
struct Said {
    predicate_type: &'static str,
    predicate: Value,
}

/// The work of one request.
struct Attesting<'a> {
    checker: &'a Checker,
    request: &'a AttestRequest,
    signer: &'a Signer,
    artifacts: Option<Artifacts>,
    /// The repository with its registry.
    repository: String,
    /// Digest of the rules and settings.
    rules: String,
    /// The lowest severity that fails.
    fail_on: Severity,
    done: Attestation,
    /// The suppressed findings of all images.
    ignored: Vec<IgnoredFinding>,
    /// What is to be in the lists that tags name.
    additions: Vec<Addition>,
    /// Digests of artifacts that the new ones replace.
    superseded: Vec<String>,
}

impl Checker {
    /// Reads and judges the images of a reference, and writes facts and verdicts to its repository, signed.
    ///
    /// # Errors
    /// No finding can fail by the policy, an image cannot be read or judged, the signer fails, the registry refuses, or other writers change the lists of what is attested for too
    /// long.
    pub fn attest(&self, request: &AttestRequest, signer: &Signer) -> Result<Attestation> {
        let Some(fail_on) = self.policy.fail_on else {
            let problem = "a verdict that no finding can fail attests nothing";
            return Err(Error::usage(problem).with_help(
                "replace `never`, of --fail-on or of `fail-on` in the configuration: --fail-on error",
            ));
        };
        let images = self.images(&request.image)?;
        let report = self.check_facts(&images);
        if let Some(unread) = report.errors.into_iter().next() {
            return Err(unread.error);
        }
        let artifacts = match (request.dry_run, request.image.in_registry()) {
            (true, _) => None,
            (false, Some(reference)) => {
                Some(self.artifacts(&request.image, reference, Access::Push)?)
            }
            (false, None) => {
                let problem = format!("{} is not in a registry", request.image.name());
                return Err(Error::usage(problem)
                    .with_help("push it first, and name it docker://REFERENCE; or write the statements to a file: --output FILE"));
            }
        };
        let mut attesting = Attesting {
            checker: self,
            request,
            signer,
            artifacts,
            repository: repository(&request.image.typed()),
            rules: self.rules_digest(),
            fail_on,
            done: Attestation {
                images: Vec::new(),
                bundles: Vec::new(),
            },
            ignored: Vec::new(),
            additions: Vec::new(),
            superseded: Vec::new(),
        };
        for ((facts, subject), report) in images.iter().zip(&report.images) {
            attesting.image(facts, subject, report)?;
        }
        attesting.index()?;
        attesting.settle()
    }

    /// The repository of a request.
    pub(super) fn artifacts(
        &self,
        request: &ImageRequest,
        reference: &str,
        access: Access,
    ) -> Result<Artifacts> {
        Artifacts::open(reference, access, &source_request(self, request))
    }
}

impl Attesting<'_> {
    fn image(&mut self, facts: &ImageFacts, subject: &Subject, report: &ImageReport) -> Result<()> {
        let name = subject.named.as_str();
        let digest = subject.origin.digest.clone().ok_or_else(|| {
            Error::unsupported(
                name,
                "the image has no manifest, so nothing can refer to it",
            )
            .with_help("push it to a registry, or save it as an OCI layout")
        })?;
        let judged = report.facts.reference.as_deref();
        if judged.is_some_and(|it| only_tag::tag(it).is_some()) {
            let problem = "only its tag is known, and a statement names the image";
            return Err(Error::unsupported(name, problem)
                .with_help("name it: `--as REPOSITORY:TAG`, as it will be pulled"));
        }
        let manifest = self.manifest(&digest)?;
        let layers = facts.encode_layers()?;
        let facts_bytes = layers.iter().map(Vec::len).sum();
        let (mut artifacts, mut said) = (Vec::new(), Vec::new());
        if self.artifacts.is_some() {
            let artifact = Artifact::facts(&manifest, layers)?;
            let limits = self.checker.limits_of(&self.request.image);
            said.push(Said::new(
                FACTS,
                &FactsPredicate {
                    engine: Engine::this(),
                    facts_version: cache::version(facts.depth(), &limits),
                    artifact: artifact.manifest.digest(),
                },
            )?);
            artifacts.push(artifact);
        }
        let verdict = VerdictPredicate {
            reference: report.facts.reference.as_deref().map(judged_reference),
            platform: Some(report.facts.platform.clone()),
            judged: json!({
                "complete": report.gaps.is_empty(), "gaps": report.gaps, "acknowledged": report.acknowledged,
            }),
            findings: json!(report.findings),
            ignored: json!(report.ignored),
            targets: report.targets.iter().map(|it| it.name.clone()).collect(),
            ..self.verdict(report.verdict)
        };
        said.push(Said::new(VERDICT, &verdict)?);
        said.push(self.summary(&digest, report.verdict));
        let images = [(facts.clone(), subject.clone())];
        if self.request.sbom {
            let report = self.checker.check_facts(&images);
            let sbom = report.render(View::Contents, Format::Cyclonedx, None)?;
            said.push(Said::text(SBOM, &sbom)?);
        }
        if self.request.requirements {
            let report = self.checker.for_all_gpus().check_facts(&images);
            let requirements = report.render(View::Requirements(None), Format::Json, None)?;
            said.push(Said::text(REQUIREMENTS, &requirements)?);
        }
        self.say(&manifest, artifacts, said)?;
        self.ignored.extend_from_slice(&report.ignored);
        self.done.images.push(AttestedImage {
            digest,
            platform: Some(report.facts.platform.clone()),
            verdict: report.verdict,
            facts_bytes,
        });
        Ok(())
    }

    /// The verdict on an index, of which all images were judged.
    fn index(&mut self) -> Result<()> {
        let (Some(artifacts), Some(reference)) =
            (&self.artifacts, self.request.image.in_registry())
        else {
            return Ok(());
        };
        let name = reference.parse::<Name>()?.canonical();
        let top = name.digest.or(name.tag).unwrap_or_default();
        let Some(index) = artifacts.manifest(&top)? else {
            return Ok(());
        };
        let digest = index.digest();
        let is_image = self.done.images.iter().any(|it| it.digest == digest);
        if is_image || !self.request.image.all_platforms {
            return Ok(());
        }
        let images = self.done.images.iter();
        let verdict = images.clone().map(|it| it.verdict).max();
        let verdict = verdict.unwrap_or(Verdict::Incomplete);
        let images = images.map(|it| ImageVerdict {
            platform: it.platform.clone().unwrap_or_default(),
            digest: it.digest.clone(),
            verdict: it.verdict.as_str().to_owned(),
        });
        let predicate = VerdictPredicate {
            reference: Some(judged_reference(&self.request.image.typed())),
            images: images.collect(),
            ignored: json!(self.ignored),
            ..self.verdict(verdict)
        };
        let said = vec![
            Said::new(VERDICT, &predicate)?,
            self.summary(&digest, verdict),
        ];
        self.say(&index, Vec::new(), said)?;
        self.done.images.push(AttestedImage {
            digest,
            platform: None,
            verdict,
            facts_bytes: 0,
        });
        Ok(())
    }

    fn verdict(&self, verdict: Verdict) -> VerdictPredicate {
        VerdictPredicate {
            engine: Engine::this(),
            reference: None,
            platform: None,
            verdict: verdict.as_str().to_owned(),
            judged: Value::Null,
            findings: Value::Null,
            ignored: Value::Null,
            fail_on: Some(self.fail_on.as_str().to_owned()),
            targets: Vec::new(),
            knowledge: self.checker.knowledge.date.clone(),
            rules: Some(self.rules.clone()),
            judged_at: predicate::time(self.request.at),
            images: Vec::new(),
        }
    }

    fn summary(&self, digest: &str, verdict: Verdict) -> Said {
        let resource = format!("{}@{digest}", self.repository);
        let passes = verdict == Verdict::Pass;
        Said {
            predicate_type: SUMMARY,
            predicate: predicate::summary(&resource, &self.rules, passes, self.request.at),
        }
    }

    /// The manifest that statements are about; only its digest is known if nothing is written.
    fn manifest(&self, digest: &str) -> Result<Blob> {
        let Some(artifacts) = &self.artifacts else {
            return Ok(Blob::unread(digest));
        };
        let found = artifacts.manifest(digest)?;
        found.ok_or_else(|| Error::not_found(digest, "the registry does not have it any more"))
    }

    /// Signs statements about a manifest, and writes them with these artifacts, except to lists.
    fn say(&mut self, about: &Blob, artifacts: Vec<Artifact>, said: Vec<Said>) -> Result<()> {
        let created = predicate::time(self.request.at);
        let (mut all, mut envelopes) = (artifacts, Vec::new());
        for one in &said {
            let statement = Statement::new(
                &self.repository,
                &about.digest(),
                one.predicate_type,
                &one.predicate,
            )?;
            let envelope = Envelope::sign(&statement.to_json()?, |it| self.signer.sign(it))?;
            let bundle = envelope.to_bundle(self.signer.public())?;
            self.done.bundles.extend(&bundle);
            self.done.bundles.push(b'\n');
            all.push(Artifact::bundle(
                about,
                bundle,
                one.predicate_type,
                &created,
            )?);
            let envelope = Blob::new(ENVELOPE, envelope.to_json()?);
            envelopes.push((envelope, one.predicate_type));
        }
        let Some(registry) = &self.artifacts else {
            return Ok(());
        };
        let digest = about.digest();
        let keys = [self.signer.public().clone()];
        let before = Statements::read(registry, &digest, &keys, &PREDICATES)?;
        let is_said_again = |it: &str| said.iter().any(|one| one.predicate_type == it);
        self.warn_of_other_references(&before);
        let replaced = before.signed.into_iter();
        let replaced = replaced.filter(|it| is_said_again(&it.statement.predicate_type));
        let (superseded, layers): (Vec<_>, Vec<_>) =
            replaced.map(|it| (it.artifact, it.layer)).unzip();
        let new: Vec<String> = all.iter().map(|it| it.manifest.digest()).collect();
        let superseded = superseded.into_iter().flatten();
        let superseded: Vec<String> = superseded.filter(|it| !new.contains(it)).collect();
        let unlisted = registry.push(&all)?;
        self.superseded.extend_from_slice(&superseded);
        self.additions.push(lists::envelopes(
            &digest,
            envelopes,
            layers,
            unlisted.is_empty(),
        ));
        if !unlisted.is_empty() {
            self.additions
                .push(lists::referrers(&digest, unlisted, superseded));
        }
        Ok(())
    }

    /// Remarks that the new verdict takes the place of one on another tag of the same digest, which made other promises.
    fn warn_of_other_references(&self, before: &Statements) {
        let reference = judged_reference(&self.request.image.typed());
        let verdicts = before.of(VERDICT);
        let references = verdicts.filter_map(|it| it.statement.predicate["reference"].as_str());
        let references: BTreeSet<_> = references.map(judged_reference).collect();
        for other in references.iter().filter(|it| **it != reference) {
            self.checker.remark(format!(
                "{reference}: this verdict replaces the one on {other}, which has the same digest: a policy that does not test the reference \
                 takes it for both"
            ));
        }
    }

    /// Adds the statements to the lists that tags name, all at once, and returns when the lists have settled.
    fn settle(self) -> Result<Attestation> {
        if let Some(registry) = &self.artifacts {
            registry.settle(&self.additions, self.request.settling)?;
            for digest in &self.superseded {
                registry.delete(digest)?;
            }
        }
        Ok(self.done)
    }
}

impl Said {
    fn new(predicate_type: &'static str, predicate: &impl Serialize) -> Result<Self> {
        let predicate = serde_json::to_value(predicate);
        Ok(Said {
            predicate_type,
            predicate: predicate.map_err(|error| Error::output("the statement", error))?,
        })
    }

    /// With a predicate in JSON.
    fn text(predicate_type: &'static str, predicate: &str) -> Result<Self> {
        let predicate = serde_json::from_str(predicate);
        Ok(Said {
            predicate_type,
            predicate: predicate.map_err(|error| Error::output("the statement", error))?,
        })
    }
}

/// The registry and the repository of a reference; empty if the text is not a reference.
fn repository(reference: &str) -> String {
    let name = reference.parse::<Name>().map(|name| name.canonical());
    name.map_or_else(
        |_| String::new(),
        |name| format!("{}/{}", name.registry.unwrap_or_default(), name.repository),
    )
}
