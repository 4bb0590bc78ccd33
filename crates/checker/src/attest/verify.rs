//! Verifies what lies beside an image, and judges the image again from it.

use std::time::Instant;

use chrono::{DateTime, Utc};
use ring::rand::{SecureRandom, SystemRandom};

use super::attested::{self, Found, foreign};
use super::request::VerifyRequest;
use super::statements::Statements;
use super::verification::{SuppressedFinding, Verification, VerifiedImage, VerifiedIndex};
use crate::facts::ImageFacts;
use crate::read::{source_request, subject};
use crate::report::Unread;
use crate::{Checker, Subject};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;
use imgcheck_layer::is_extended;
use imgcheck_model::knowledge;
use imgcheck_source::attest::artifact::INDEX;
use imgcheck_source::attest::predicate::{
    FACTS, FactsPredicate, VERDICT, VerdictPredicate, judged_reference,
};
use imgcheck_source::cache::Cache;
use imgcheck_source::source::registry::{Access, Artifacts};
use imgcheck_source::source::{self, Image};

/// How far the clock of who signed may be ahead, in seconds.
const AHEAD: i64 = 300;
const SECONDS_A_DAY: i64 = 24 * 60 * 60;
/// The types of an index.
const INDEX_TYPES: [&str; 2] = [
    INDEX,
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

impl Checker {
    /// Verifies the statements about the images of a reference, and judges the images again from the facts that were signed. No layer is
    /// read, except for samples.
    ///
    /// # Errors
    /// The reference is not one of a registry, the registry does not have it or did not answer, or the request was cancelled. An image
    /// that nobody attested is an error of the report.
    pub fn verify(&self, request: &VerifyRequest) -> Result<Verification> {
        let Some(reference) = request.image.in_registry() else {
            let problem = format!("{} is not in a registry", request.image.name());
            return Err(Error::usage(problem).with_help("name it docker://REFERENCE"));
        };
        if let Some(reference) = &request.image.reference {
            reference.parse::<Name>()?;
        }
        let artifacts = self.artifacts(&request.image, reference, Access::Pull)?;
        let opened = source::open(&request.image.target, &source_request(self, &request.image))?;
        let (mut images, mut known, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for image in opened {
            request.image.cancellation.check()?;
            let platform = image.platform.clone();
            match self.verified(request, &artifacts, image) {
                Ok((verified, facts)) => {
                    images.push(verified);
                    known.extend(facts);
                }
                Err(error) if error.is_interrupted() => return Err(error),
                Err(error) => {
                    let name = format!("{} ({platform})", request.image.name());
                    errors.push(Unread::unjudged(name, error));
                }
            }
        }
        let mut report = self.check_facts(&known);
        report.errors.extend(errors);
        let index = match images.is_empty() {
            true => None,
            false => self.verified_index(request, &artifacts, reference, &images)?,
        };
        Ok(Verification {
            index,
            images,
            report,
            rules: self.rules_digest(),
        })
    }

    /// The attestation of the index of a reference; `None` if it names an image, or no trusted key signed one.
    fn verified_index(
        &self,
        request: &VerifyRequest,
        artifacts: &Artifacts,
        reference: &str,
        images: &[VerifiedImage],
    ) -> Result<Option<VerifiedIndex>> {
        let name = reference.parse::<Name>()?.canonical();
        let top = name.digest.or(name.tag).unwrap_or_default();
        if images.iter().any(|it| it.digest == top) {
            return Ok(None);
        }
        let manifest = artifacts.manifest(&top)?;
        let Some(index) = manifest.filter(|it| INDEX_TYPES.contains(&&*it.media_type)) else {
            return Ok(None);
        };
        let digest = index.digest();
        let statements = Statements::read(artifacts, &digest, &request.keys, &[VERDICT])?;
        let newest = Newest::of(&statements, request);
        let Some(verdict) = newest.verdict else {
            return Ok(None);
        };
        let mut problems = newest.problems;
        for image in images {
            if !verdict.images.iter().any(|it| it.digest == image.digest) {
                let (platform, image) = (&image.platform, &image.digest);
                problems.push(format!(
                    "the verdict on the index does not cover {image} ({platform})"
                ));
            }
        }
        Ok(Some(VerifiedIndex {
            digest,
            attested: Some(verdict.verdict),
            judged_reference: verdict.reference,
            judged_at: Some(verdict.judged_at),
            rules: verdict.rules,
            images: verdict.images,
            problems,
        }))
    }

    fn verified(
        &self,
        request: &VerifyRequest,
        artifacts: &Artifacts,
        image: Image,
    ) -> Result<(VerifiedImage, Option<(ImageFacts, Subject)>)> {
        let started = Instant::now();
        let digest = image.digest.clone().unwrap_or_default();
        let keys = &request.keys;
        let statements = Statements::read(artifacts, &digest, keys, &[FACTS, VERDICT])?;
        let mut verified = VerifiedImage {
            reference: request.image.typed(),
            digest: digest.clone(),
            platform: image.platform.clone(),
            facts_by: None,
            attested: None,
            judged_reference: None,
            judged_at: None,
            rules: None,
            fail_on: None,
            suppressed: Vec::new(),
            problems: Vec::new(),
        };
        if statements.signed.is_empty() {
            verified.problems = statements.refused;
            verified.problems.sort();
            verified.problems.dedup();
            return match verified.problems.as_slice() {
                [] => Err(
                    Error::not_found(digest, "nobody attested this image").with_help(
                        "attest it where it is pushed: imgcheck attest REFERENCE --key FILE",
                    ),
                ),
                _ => Ok((verified, None)),
            };
        }
        let newest = Newest::of(&statements, request);
        verified.problems.extend(newest.problems);
        match newest.verdict {
            Some(verdict) => {
                verified.suppressed = SuppressedFinding::of(&verdict);
                verified.fail_on = verdict.fail_on;
                verified.attested = Some(verdict.verdict);
                verified.judged_reference = verdict.reference;
                verified.judged_at = Some(verdict.judged_at);
                verified.rules = verdict.rules;
            }
            None if request.max_age_days.is_some() => {
                verified.problems.push("no verdict is attested".to_owned());
            }
            None => {}
        }
        let limits = self.limits_of(&request.image);
        let (facts, predicate) = match attested::facts(artifacts, &statements, &image, &limits)? {
            Found::Facts(facts, predicate) => (*facts, predicate),
            Found::Nothing => {
                let problem = "its facts are not attested, so it cannot be judged again";
                return Err(Error::not_found(digest, problem).with_help("attest it again"));
            }
            Found::Foreign(facts) => return Err(unreadable(&digest, &facts)),
        };
        verified.facts_by = Some(predicate.engine.version);
        let sampled = self.sample(request, &image, &facts)?;
        verified.problems.extend(sampled);
        let subject = subject(&request.image, image, &[], started.elapsed());
        Ok((verified, Some((facts, subject))))
    }

    /// Reads layers that are chosen at random, and says which do not have the facts that were signed.
    fn sample(
        &self,
        request: &VerifyRequest,
        image: &Image,
        facts: &ImageFacts,
    ) -> Result<Vec<String>> {
        let mut left: Vec<usize> = (0..image.layers.len()).collect();
        let mut problems = Vec::new();
        if request.sample == 0 {
            return Ok(problems);
        }
        // The cache could have been told the same.
        let reader = knowledge::layer_reader(Cache::default())?;
        let context = reader.request(
            facts.depth(),
            self.bounds(request.image.limits, &request.image.cancellation),
            &*request.image.progress,
        );
        for _ in 0..request.sample.min(left.len()) {
            let at = left.swap_remove(random(left.len())?);
            let read = context.read_layers(std::slice::from_ref(&image.layers[at]))?;
            let signed = &facts.layers[at].facts;
            if !read.iter().all(|it| is_extended(&it.facts, signed)) {
                let layer = image.layers[at].name();
                problems.push(format!(
                    "the layer {layer} does not have the facts that were signed"
                ));
            }
        }
        Ok(problems)
    }
}

/// The verdict that was attested last, on this reference if there is one, and what does not hold of it.
#[derive(Default)]
struct Newest {
    verdict: Option<VerdictPredicate>,
    problems: Vec<String>,
}

impl Newest {
    fn of(statements: &Statements, request: &VerifyRequest) -> Self {
        let verdicts = statements.of(VERDICT).filter_map(|it| {
            let verdict: VerdictPredicate =
                serde_json::from_value(it.statement.predicate.clone()).ok()?;
            let at = DateTime::parse_from_rfc3339(&verdict.judged_at).ok()?;
            Some((at.with_timezone(&Utc), verdict))
        });
        let reference = request.image.typed();
        // Others may have attested another tag since.
        let rank = |(at, verdict): &(DateTime<Utc>, VerdictPredicate)| {
            (other_reference(verdict, &reference).is_none(), *at)
        };
        let Some((at, verdict)) = verdicts.max_by_key(rank) else {
            return Newest::default();
        };
        let mut problems = Vec::new();
        let age = (request.at - at).num_seconds();
        if age < -AHEAD {
            problems.push(format!(
                "the verdict is of {}, which is in the future",
                verdict.judged_at
            ));
        }
        if let Some(days) = request.max_age_days
            && let age = age / SECONDS_A_DAY
            && age > i64::from(days)
        {
            problems.push(format!("the verdict is {age} days old, and may be {days}"));
        }
        problems.extend(other_reference(&verdict, &reference));
        Newest {
            verdict: Some(verdict),
            problems,
        }
    }
}

/// What is wrong with a verdict that did not judge what the tag of this reference promises. A digest alone promises nothing that a tag does
/// not promise too, so any verdict will do.
fn other_reference(verdict: &VerdictPredicate, reference: &str) -> Option<String> {
    let asked = judged_reference(reference);
    asked.parse::<Name>().ok().filter(|it| it.tag.is_some())?;
    match verdict.reference.as_deref().map(judged_reference) {
        Some(judged) if judged == asked => None,
        Some(judged) => Some(format!(
            "the verdict is on {judged}, which has the same digest, and does not say whether {asked} keeps its promises"
        )),
        None => Some(format!(
            "the verdict names no reference, and does not say whether {asked} keeps its promises"
        )),
    }
}

fn unreadable(digest: &str, facts: &FactsPredicate) -> Error {
    let problem = format!("its facts cannot be used: {}", foreign(facts));
    Error::unsupported(digest, problem).with_help("attest it again with this version")
}

/// An unpredictable number below `end`.
fn random(end: usize) -> Result<usize> {
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::output("a random number", "the system has none"))?;
    Ok((u64::from_le_bytes(bytes) % end.max(1) as u64) as usize)
}
