//! A decision, and an image that waits, as the overview shows them.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::queue::{Pending, Priority, Progress};
use crate::recent::{ImageDecision, ImageVerdict, Line};
use imgcheck_base::digest::hexadecimal;
use imgcheck_rules::policy::gate::Mode;

/// How many reasons are visible at first.
const REASONS: usize = 3;
/// Hexadecimal digits of a digest that are shown.
const DIGITS: usize = 12;

/// A decision.
pub struct Row {
    /// The CSS class of the answer: it has an icon, too.
    pub class: &'static str,
    pub answer: &'static str,
    /// What is known about the image, and why the object was let through.
    pub verdict: String,
    pub namespace: String,
    pub kind: String,
    pub name: String,
    pub owner: String,
    pub image: String,
    pub containers: String,
    pub digest: String,
    /// Where its report is; empty if the image has no digest.
    pub report: String,
    pub classes: String,
    pub reasons: Vec<String>,
    pub more_reasons: Vec<String>,
    pub last: Time,
    /// How often it was decided.
    pub times: String,
}

/// A time for people and for programs.
pub struct Time {
    pub text: String,
    pub machine: String,
}

/// An image that waits.
pub struct PendingRow {
    pub repository: String,
    pub digest: String,
    pub architecture: String,
    pub namespace: String,
    pub class: &'static str,
    pub progress: String,
    pub purpose: &'static str,
}

impl From<&Line> for Row {
    fn from(line: &Line) -> Self {
        let decision = &line.decision;
        let (answer, class) = match (decision.allowed, decision.verdict) {
            (false, _) => ("denied", "error"),
            (true, ImageVerdict::Pass) => ("pass", "met"),
            (true, _) => ("let through", "warning"),
        };
        let mut reasons = decision.reasons.clone();
        if reasons.is_empty() && !decision.allowed {
            reasons.push("another image of the object is the reason".to_owned());
        }
        let more_reasons = reasons.split_off(reasons.len().min(REASONS));
        let digest = decision.digest.as_deref().and_then(hexadecimal);
        Row {
            class,
            answer,
            verdict: verdict(decision),
            namespace: decision.namespace.clone(),
            kind: decision.kind.clone(),
            name: decision.name.clone(),
            owner: decision.owner.clone(),
            image: decision.image.clone(),
            containers: decision.containers.join(", "),
            report: digest.map_or_else(String::new, |digits| {
                format!("/reports/sha256:{digits}?decision={}", line.id)
            }),
            digest: digest.map_or_else(String::new, shortened_digest),
            classes: classes(decision),
            reasons,
            more_reasons,
            last: decision.time.into(),
            times: times(line),
        }
    }
}

impl From<DateTime<Utc>> for Time {
    fn from(time: DateTime<Utc>) -> Self {
        Time {
            text: time.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
            machine: time.to_rfc3339_opts(SecondsFormat::Secs, true),
        }
    }
}

impl From<&Pending> for PendingRow {
    fn from(pending: &Pending) -> Self {
        let (job, progress) = (&pending.job, pending.progress);
        let digits = hexadecimal(&job.key.digest).unwrap_or_default();
        PendingRow {
            repository: job.repository.clone(),
            digest: shortened_digest(digits),
            architecture: job.key.architecture.clone(),
            namespace: job.puller.namespace.clone(),
            class: match progress {
                Progress::Running => "note",
                Progress::Waiting { attempts: 0, .. } => "unclaimed",
                Progress::Waiting { .. } => "warning",
            },
            progress: match progress {
                Progress::Running => "being read".to_owned(),
                Progress::Waiting { wait, attempts } => waiting(wait.as_secs(), attempts),
            },
            purpose: match job.priority {
                Priority::Deployed => "an object is created",
                Priority::Asked => "somebody asked",
                Priority::Pushed => "it was pushed",
            },
        }
    }
}

fn waiting(seconds: u64, attempts: u32) -> String {
    let failed = match attempts {
        0 => String::new(),
        1 => ", 1 attempt failed".to_owned(),
        more => format!(", {more} attempts failed"),
    };
    match seconds {
        0 => format!("waits{failed}"),
        _ => format!("waits {seconds} s more{failed}"),
    }
}

fn shortened_digest(digits: &str) -> String {
    let shown: String = digits.chars().take(DIGITS).collect();
    format!("sha256:{shown}…")
}

fn verdict(decision: &ImageDecision) -> String {
    let verdict = match decision.verdict {
        // The answer says it.
        ImageVerdict::Pass if decision.allowed => "",
        ImageVerdict::Pass => "this image passes",
        ImageVerdict::Incomplete => "incomplete",
        ImageVerdict::Fail => "fail",
        ImageVerdict::NotFound => "not found",
        ImageVerdict::Unknown => "not known yet",
        ImageVerdict::Unjudged => "not judged",
    };
    let why = match (decision.passed, decision.mode) {
        (Some("mode"), Mode::Enforce) => "only its Pods are denied",
        (Some("mode"), Mode::Warn) => "mode warn",
        (Some("mode"), Mode::Audit) => "mode audit",
        (Some("break-glass"), _) => "break-glass",
        (Some(why), _) => why,
        (None, _) => "",
    };
    let parts = [verdict, why].into_iter().filter(|it| !it.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

fn classes(decision: &ImageDecision) -> String {
    match decision.classes {
        None => String::new(),
        Some((_, 0)) => "can land on no known node class".to_owned(),
        Some((runs, 1)) => format!("runs on {runs} of 1 node class"),
        Some((runs, all)) => format!("runs on {runs} of {all} node classes"),
    }
}

fn times(line: &Line) -> String {
    let denied = match line.denied {
        0 => String::new(),
        denied if denied == line.count => ", always denied".to_owned(),
        denied => format!(", {denied} denied"),
    };
    match line.count {
        1 => String::new(),
        count => {
            let first = Time::from(line.first);
            format!("{count} times since {}{denied}", first.text)
        }
    }
}
