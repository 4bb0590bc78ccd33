//! The last decisions of this process, for people to look at: one line for each object and image, however often the object is created.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};

use imgcheck_base::digest::{hexadecimal, sha256};
use imgcheck_lint::workload::Workload;
use imgcheck_rules::policy::gate::Mode;

/// Maximum number of lines.
pub const LINES: usize = 1000;
/// Maximum total length of all lines, in bytes.
const BYTES: usize = 32 * 1024 * 1024;
/// Hexadecimal digits of the id of a line.
const ID: usize = 16;

/// The last decisions.
#[derive(Debug)]
pub struct RecentDecisions {
    /// Since when decisions are recorded.
    pub since: DateTime<Utc>,
    lines: Mutex<Lines>,
}

/// A decision on one image of an object.
#[derive(Debug)]
pub struct ImageDecision {
    /// The namespace of the object.
    pub namespace: String,
    /// Kind of the object, such as `Pod`.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// The kind and name of the object that controls it: `ReplicaSet train-7d9f`; empty if nothing does.
    pub owner: String,
    /// The image as the object names it; empty if another object decides it.
    pub image: String,
    /// The digest of the image.
    pub digest: Option<String>,
    /// The containers that start the image.
    pub containers: Vec<String>,
    /// What is known about the image.
    pub verdict: ImageVerdict,
    /// The node classes on which it runs, and those that it can land on; `None` if no nodes are known.
    pub classes: Option<(usize, usize)>,
    /// The mode of the namespace.
    pub mode: Mode,
    /// Whether the object was allowed.
    pub allowed: bool,
    /// Why it was allowed without a pass.
    pub passed: Option<&'static str>,
    /// Why the image does not pass, in sentences.
    pub reasons: Vec<String>,
    /// What was judged; `None` if that is too large to keep, or if nothing was judged.
    pub judged: Option<Arc<JudgedObject>>,
    /// When it was decided.
    pub time: DateTime<Utc>,
}

/// What is known about an image of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageVerdict {
    /// It passes.
    Pass,
    /// Something that matters could not be judged.
    Incomplete,
    /// It fails.
    Fail,
    /// Its registry does not have it.
    NotFound,
    /// It has no digest, or was not read yet.
    Unknown,
    /// It was let through unjudged.
    Unjudged,
}

/// An object that was judged.
#[derive(Debug)]
pub struct JudgedObject {
    /// The containers of the object.
    pub workload: Workload,
    /// The digests of its images, by reference.
    pub digests: BTreeMap<String, String>,
    /// About how many bytes it takes.
    pub bytes: usize,
}

/// The last decision on an image of an object, and how many there were.
#[derive(Debug, Clone)]
pub struct Line {
    /// Identifies object and image, in every replica.
    pub id: String,
    /// The last decision.
    pub decision: Arc<ImageDecision>,
    /// When the first one was made.
    pub first: DateTime<Utc>,
    /// How many there were.
    pub count: u64,
    /// How many of them were denials.
    pub denied: u64,
    bytes: usize,
}

/// Lines in the order of their last decisions.
#[derive(Debug, Default)]
struct Lines {
    by_age: BTreeMap<u64, Line>,
    ages: HashMap<String, u64>,
    decisions: u64,
    bytes: usize,
}

impl Default for RecentDecisions {
    fn default() -> Self {
        RecentDecisions {
            since: Utc::now(),
            lines: Mutex::default(),
        }
    }
}

impl RecentDecisions {
    /// Adds a decision; the oldest are dropped if there are too many.
    pub fn add(&self, decision: ImageDecision) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.add(decision);
    }

    /// All lines, the newest first.
    pub fn lines(&self) -> Vec<Line> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.by_age.values().rev().cloned().collect()
    }

    /// The line with an id.
    pub fn line(&self, id: &str) -> Option<Line> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.by_age.get(lines.ages.get(id)?).cloned()
    }
}

impl Lines {
    fn add(&mut self, decision: ImageDecision) {
        let id = decision.id();
        self.decisions += 1;
        let before = self.ages.insert(id.clone(), self.decisions);
        let before = before.and_then(|age| self.remove(age));
        let line = Line {
            first: before.as_ref().map_or(decision.time, |it| it.first),
            count: before.as_ref().map_or(0, |it| it.count) + 1,
            denied: before.map_or(0, |it| it.denied) + u64::from(!decision.allowed),
            bytes: decision.bytes(),
            decision: Arc::new(decision),
            id,
        };
        self.bytes += line.bytes;
        self.by_age.insert(self.decisions, line);
        while self.by_age.len() > LINES || self.bytes > BYTES {
            let Some(oldest) = self.by_age.keys().next().copied() else {
                break;
            };
            if let Some(line) = self.remove(oldest) {
                self.ages.remove(&line.id);
            }
        }
    }

    fn remove(&mut self, age: u64) -> Option<Line> {
        let line = self.by_age.remove(&age)?;
        self.bytes = self.bytes.saturating_sub(line.bytes);
        Some(line)
    }
}

impl ImageDecision {
    /// Objects that one object controls have one line.
    fn id(&self) -> String {
        let name = match self.owner.as_str() {
            "" => &self.name,
            owner => owner,
        };
        let parts = [&self.namespace, &self.kind, name, &self.image];
        let digest = sha256(format!("{parts:?}").as_bytes());
        let digits = hexadecimal(&digest).unwrap_or_default();
        digits.chars().take(ID).collect()
    }

    fn bytes(&self) -> usize {
        let texts = [
            &self.namespace,
            &self.kind,
            &self.name,
            &self.owner,
            &self.image,
        ];
        let texts = texts.into_iter().chain(&self.digest);
        let texts = texts.chain(&self.containers).chain(&self.reasons);
        let texts: usize = texts.map(|it| it.len() + size_of::<String>()).sum();
        let judged = self.judged.as_ref().map_or(0, |it| it.bytes);
        size_of::<Self>() + size_of::<Line>() + texts + judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(name: &str, owner: &str, allowed: bool) -> ImageDecision {
        ImageDecision {
            namespace: "ml".to_owned(),
            kind: "Pod".to_owned(),
            name: name.to_owned(),
            owner: owner.to_owned(),
            image: "a/b:1".to_owned(),
            digest: None,
            containers: Vec::new(),
            verdict: ImageVerdict::Fail,
            classes: None,
            mode: Mode::Enforce,
            allowed,
            passed: None,
            reasons: Vec::new(),
            judged: None,
            time: Utc::now(),
        }
    }

    fn names(decisions: &RecentDecisions) -> Vec<(String, u64, u64)> {
        let lines = decisions.lines().into_iter();
        let line = |it: Line| (it.decision.name.clone(), it.count, it.denied);
        lines.map(line).collect()
    }

    #[test]
    fn an_object_and_an_image_have_one_line_with_the_last_decision() {
        let decisions = RecentDecisions::default();
        decisions.add(decision("a", "", false));
        decisions.add(decision("b", "", true));
        let id = decisions.lines()[1].id.clone();
        decisions.add(decision("a", "", true));
        assert_eq!(
            names(&decisions),
            [("a".to_owned(), 2, 1), ("b".to_owned(), 1, 0)]
        );
        // A link to the line stays valid.
        assert_eq!(
            decisions.line(&id).map(|it| it.decision.name.clone()),
            Some("a".to_owned())
        );
        assert!(decisions.line("").is_none());
    }

    #[test]
    fn pods_of_one_owner_are_one_line() {
        let decisions = RecentDecisions::default();
        for at in 0..500 {
            decisions.add(decision(&format!("train-{at}"), "ReplicaSet train", false));
        }
        assert_eq!(names(&decisions), [("train-499".to_owned(), 500, 500)]);
    }

    #[test]
    fn lines_and_their_bytes_are_bounded() {
        let decisions = RecentDecisions::default();
        for at in 0..LINES + 10 {
            decisions.add(decision(&at.to_string(), "", true));
        }
        let all = names(&decisions);
        assert_eq!(all.len(), LINES);
        assert_eq!(all[0].0, (LINES + 9).to_string());
        assert_eq!(all[LINES - 1].0, "10");
        for at in 0..100 {
            let reasons = vec!["x".repeat(1024 * 1024)];
            decisions.add(ImageDecision {
                reasons,
                ..decision(&format!("large-{at}"), "", true)
            });
        }
        let all = names(&decisions);
        assert!((20..=32).contains(&all.len()), "{}", all.len());
        let lines = decisions
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert_eq!(lines.ages.len(), lines.by_age.len());
        let bytes: usize = lines.by_age.values().map(|it| it.bytes).sum();
        assert_eq!(bytes, lines.bytes);
    }
}
