//! What is remembered of a decision, for the page.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use chrono::Utc;
use serde_json::Value;

use super::review::AdmissionRequest;
use super::words;
use crate::judge::Answered;
use crate::recent::{ImageDecision, ImageVerdict, JudgedObject};
use crate::state::Gate;
use crate::verdict::ContainerVerdict;
use imgcheck_base::error::ErrorCode;
use imgcheck_base::excerpt::{shortened, without_controls};
use imgcheck_lint::workload::{Container, Workload};
use imgcheck_report::Verdict;
use imgcheck_rules::policy::gate::Mode;

/// Maximum length of a name, an image or a sentence, in characters.
const NAME: usize = 300;
const IMAGE: usize = 1000;
const SENTENCE: usize = 600;
/// Maximum number of sentences, and of containers named, per image.
const SENTENCES: usize = 20;
const CONTAINERS: usize = 20;
/// The largest object that is kept for its report, in bytes.
const OBJECT: usize = 256 * 1024;

/// A decision on an object.
pub(super) struct Record<'r> {
    pub request: &'r AdmissionRequest,
    /// The kind of the object.
    pub kind: &'r str,
    pub mode: Mode,
    pub allowed: bool,
    /// Why it is allowed without a pass.
    pub passed: Option<&'static str>,
}

impl Record<'_> {
    /// Remembers what was decided about images that were judged. The notes are about the object.
    pub fn judged(&self, gate: &Gate, workload: &Workload, answered: &Answered, notes: &[String]) {
        let object = self.object(workload, answered);
        for (image, containers) in by_image(&workload.containers) {
            let found = Known::of(image, answered, self.mode == Mode::Enforce);
            let decision = ImageDecision {
                digest: answered.digests.get(image).cloned(),
                verdict: found.verdict,
                classes: found.classes,
                reasons: sentences(found.reasons.into_iter().chain(notes.iter().cloned())),
                judged: object.clone(),
                ..self.decision(image, &containers)
            };
            self.add(gate, decision);
        }
    }

    /// Remembers images that were let through unjudged.
    pub fn unjudged(&self, gate: &Gate, containers: &[Container], reasons: &[String]) {
        for (image, containers) in by_image(containers) {
            let decision = ImageDecision {
                reasons: sentences(reasons.iter().cloned()),
                ..self.decision(image, &containers)
            };
            self.add(gate, decision);
        }
    }

    /// A dry run has no effect, not even this one.
    fn add(&self, gate: &Gate, decision: ImageDecision) {
        if !self.request.is_dry_run() {
            gate.recent().add(decision);
        }
    }

    fn decision(&self, image: &str, containers: &[&Container]) -> ImageDecision {
        let names = containers.iter().take(CONTAINERS);
        ImageDecision {
            namespace: name(&self.request.namespace),
            kind: name(self.kind),
            name: name(&object_name(self.request)),
            owner: name(&owner(&self.request.object)),
            image: shortened(image, IMAGE),
            digest: None,
            containers: names.map(|it| name(&container_name(it))).collect(),
            verdict: ImageVerdict::Unjudged,
            classes: None,
            mode: self.mode,
            allowed: self.allowed,
            passed: self.passed,
            reasons: Vec::new(),
            judged: None,
            time: Utc::now(),
        }
    }

    fn object(&self, workload: &Workload, answered: &Answered) -> Option<Arc<JudgedObject>> {
        let mut length = Length::default();
        // Counting cannot fail.
        let _ = write!(length, "{workload:?} {:?}", answered.digests);
        let workload = (length.0 <= OBJECT && !self.request.is_dry_run()).then_some(workload)?;
        Some(Arc::new(JudgedObject {
            workload: Workload {
                name: object_name(self.request),
                ..workload.clone()
            },
            digests: answered.digests.clone(),
            bytes: length.0,
        }))
    }
}

/// What an answer says about one image.
struct Known {
    verdict: ImageVerdict,
    classes: Option<(usize, usize)>,
    reasons: Vec<String>,
}

impl Known {
    fn of(image: &str, answered: &Answered, strict: bool) -> Self {
        let judgement = &answered.judgement;
        let containers = judgement.containers.iter().filter(|it| it.image == image);
        let containers: Vec<&ContainerVerdict> = containers.collect();
        let worst = containers.iter().map(|it| it.verdict(strict)).max();
        let is_read = containers.iter().any(|it| it.is_read);
        let unresolved = answered.unresolved.get(image);
        let digest = answered.digests.get(image);
        let is_missing = digest.is_some_and(|digest| {
            let mut missing = judgement.missing.iter();
            missing.any(|job| job.key.digest == *digest)
        });
        let is_unknown =
            judgement.is_late || is_missing || unresolved.is_some_and(|it| !it.is_final);
        let is_absent = unresolved.is_some_and(|it| it.code == ErrorCode::NotFound);
        let verdict = match worst {
            Some(Verdict::Fail) if is_read || !is_unknown => ImageVerdict::Fail,
            _ if is_absent => ImageVerdict::NotFound,
            None => ImageVerdict::Unknown,
            Some(_) if is_unknown => ImageVerdict::Unknown,
            Some(Verdict::Fail) => ImageVerdict::Fail,
            Some(Verdict::Incomplete) => ImageVerdict::Incomplete,
            Some(Verdict::Pass) => ImageVerdict::Pass,
        };
        let reasons = match verdict {
            ImageVerdict::Unknown | ImageVerdict::NotFound => vec![match unresolved {
                Some(unresolved) => unresolved.problem.clone(),
                None if is_missing => "it was not read yet".to_owned(),
                None => "its facts are being loaded".to_owned(),
            }],
            _ => {
                let said = words::about_containers(&containers, strict);
                [said.reasons, said.warnings].concat()
            }
        };
        let classes = containers.iter().filter_map(|it| it.classes);
        Known {
            classes: classes
                .filter(|_| !matches!(verdict, ImageVerdict::Unknown | ImageVerdict::NotFound))
                .max_by_key(|(runs, all)| all.saturating_sub(*runs)),
            verdict,
            reasons,
        }
    }
}

fn by_image(containers: &[Container]) -> BTreeMap<&str, Vec<&Container>> {
    let mut images: BTreeMap<&str, Vec<&Container>> = BTreeMap::new();
    for container in containers {
        images.entry(&container.image).or_default().push(container);
    }
    images
}

fn container_name(container: &Container) -> String {
    match container.group.as_str() {
        "" => container.name.clone(),
        group => format!("{group}/{}", container.name),
    }
}

/// The name, which the API server may still have to make.
fn object_name(request: &AdmissionRequest) -> String {
    let named = |key| request.object.get("metadata")?.get(key)?.as_str();
    let given = [request.name.as_str(), named("name").unwrap_or_default()];
    match given.into_iter().find(|it| !it.is_empty()) {
        Some(name) => name.to_owned(),
        None => format!("{}…", named("generateName").unwrap_or_default()),
    }
}

/// The kind and name of the object that controls another one.
fn owner(object: &Value) -> String {
    let find = || {
        let owners = object.get("metadata")?.get("ownerReferences")?.as_array()?;
        let is_controller = |it: &&Value| it.get("controller").and_then(Value::as_bool);
        let owner = owners.iter().find(|it| is_controller(it) == Some(true))?;
        let text = |key| owner.get(key).and_then(Value::as_str);
        Some(format!("{} {}", text("kind")?, text("name")?))
    };
    find().unwrap_or_default()
}

fn name(text: &str) -> String {
    shortened(text, NAME)
}

fn sentences(all: impl Iterator<Item = String>) -> Vec<String> {
    let sentence = |it: String| shortened(&without_controls(&it), SENTENCE);
    all.take(SENTENCES).map(sentence).collect()
}

/// Counts what is written.
#[derive(Default)]
struct Length(usize);

impl fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}
