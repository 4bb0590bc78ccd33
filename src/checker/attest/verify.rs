//! Verifies what lies beside an image, and judges the image again from it.

use std::time::Instant;

use chrono::{DateTime, Utc};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;

use super::attested::{self, Found, foreign};
use super::request::VerifyRequest;
use super::statements::Statements;
use crate::attest::predicate::{FACTS, FactsPredicate, VERDICT, VerdictPredicate};
use crate::cache::Cache;
use crate::checker::facts::ImageFacts;
use crate::checker::read::{source_request, subject};
use crate::checker::report::{Report, Unread};
use crate::checker::{Checker, Subject};
use crate::error::{Error, Result};
use crate::image::is_extended;
use crate::knowledge;
use crate::report::{Verdict, safe_json};
use crate::source::registry::{Access, Artifacts};
use crate::source::{self, Image};

const SCHEMA: &str = "imgcheck/verify/v1";
/// How far the clock of who signed may be ahead, in seconds.
const AHEAD: i64 = 300;
const SECONDS_A_DAY: i64 = 24 * 60 * 60;

/// What was verified.
#[derive(Debug)]
pub struct Verification {
    /// The images that are attested.
    pub images: Vec<VerifiedImage>,
    /// What today's rules say about them; and the images that are not attested, or whose facts could not be read.
    pub report: Report,
}

/// An image, and what is attested of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedImage {
    /// The reference.
    pub reference: String,
    /// Digest of the manifest.
    pub digest: String,
    /// `os/architecture[/variant]`.
    pub platform: String,
    /// The version of imgcheck that read the image; `None` if no facts are attested.
    pub facts_by: Option<String>,
    /// The verdict that was attested last: `pass`, `incomplete` or `fail`.
    pub attested: Option<String>,
    /// When (RFC 3339).
    pub judged_at: Option<String>,
    /// What does not hold.
    pub problems: Vec<String>,
}

impl Verification {
    /// 0 if all signatures and today's judgement hold, 1 if one does not, 3 if there was nothing to verify, it could not be read, or not
    /// everything could be judged.
    pub fn exit_code(&self) -> u8 {
        let is_broken = self.images.iter().any(|it| !it.problems.is_empty());
        match self.report.verdict() {
            _ if !self.report.errors.is_empty() => 3,
            Verdict::Fail => 1,
            _ if is_broken => 1,
            Verdict::Incomplete => 3,
            Verdict::Pass => 0,
        }
    }

    /// What was verified, without today's findings, as JSON.
    ///
    /// # Errors
    /// None that an image can cause.
    pub fn to_json(&self) -> Result<String> {
        #[derive(Serialize)]
        struct Document<'d> {
            schema: &'d str,
            images: Vec<Today<'d>>,
            errors: Vec<Unverified<'d>>,
        }
        #[derive(Serialize)]
        struct Today<'d> {
            #[serde(flatten)]
            image: &'d VerifiedImage,
            /// Today's verdict.
            verdict: Option<&'static str>,
            findings: Vec<&'d crate::finding::Finding>,
        }
        #[derive(Serialize)]
        struct Unverified<'d> {
            reference: &'d str,
            code: crate::error::ErrorCode,
            message: String,
            help: Option<String>,
        }
        let images = self.images.iter().map(|image| {
            let report = self.report.images.iter();
            let mut report = report.filter(|it| it.facts.digest.as_ref() == Some(&image.digest));
            let report = report.next();
            Today {
                image,
                verdict: report.map(|it| it.verdict.as_str()),
                findings: report.iter().flat_map(|it| &it.findings).collect(),
            }
        });
        let errors = self.report.errors.iter().map(|it| Unverified {
            reference: &it.name,
            code: it.error.code(),
            message: it.error.message(),
            help: it.error.help(),
        });
        let document = Document {
            schema: SCHEMA,
            images: images.collect(),
            errors: errors.collect(),
        };
        let text = serde_json::to_string_pretty(&document);
        let text = text.map_err(|error| Error::output("the report", error))?;
        Ok(safe_json(&text) + "\n")
    }
}

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
            reference.parse::<crate::reference::name::Name>()?;
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
        Ok(Verification { images, report })
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
            judged_at: None,
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
        verified.set_verdict(&statements, request);
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
            self.limits_of(&request.image),
            request.image.cancellation.clone(),
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

impl VerifiedImage {
    /// The newest verdict, and whether it is too old.
    fn set_verdict(&mut self, statements: &Statements, request: &VerifyRequest) {
        let verdicts = statements.of(VERDICT).filter_map(|it| {
            let verdict: VerdictPredicate =
                serde_json::from_value(it.statement.predicate.clone()).ok()?;
            let at = DateTime::parse_from_rfc3339(&verdict.judged_at).ok()?;
            Some((at.with_timezone(&Utc), verdict))
        });
        let Some((at, verdict)) = verdicts.max_by_key(|(at, _)| *at) else {
            if request.max_age_days.is_some() {
                self.problems.push("no verdict is attested".to_owned());
            }
            return;
        };
        let age = (request.at - at).num_seconds();
        if age < -AHEAD {
            let problem = format!(
                "the verdict is of {}, which is in the future",
                verdict.judged_at
            );
            self.problems.push(problem);
        }
        if let Some(days) = request.max_age_days
            && age > i64::from(days) * SECONDS_A_DAY
        {
            let age = age / SECONDS_A_DAY;
            let problem = format!("the verdict is {age} days old, and may be {days}");
            self.problems.push(problem);
        }
        self.attested = Some(verdict.verdict);
        self.judged_at = Some(verdict.judged_at);
    }
}

fn unreadable(digest: &str, facts: &FactsPredicate) -> Error {
    let problem = format!("its facts cannot be used: {}", foreign(facts));
    Error::unsupported(digest, problem).with_help("attest it again with this version")
}

/// A number below `end`, which nobody can know before.
fn random(end: usize) -> Result<usize> {
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::output("a random number", "the system has none"))?;
    Ok((u64::from_le_bytes(bytes) % end.max(1) as u64) as usize)
}
