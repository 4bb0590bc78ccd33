//! Adds to lists that tags name, and that several writers change.
//!
//! A registry replaces what a tag names, whatever it named before: a writer whose list is old undoes what others have added since it read the
//! list. So a list is settled only when it has the addition and has not changed for longer than a writer takes from reading it to replacing
//! it: whoever replaces it later has read it as it is, and keeps the addition. A writer that takes longer can still undo it.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use ring::rand::{SecureRandom, SystemRandom};

use super::artifacts::Artifacts;
use super::failure::{Failure, Kind};
use super::retry::Attempts;
use crate::attest::artifact::Blob;
use crate::source::blobs::DocumentKind;
use imgcheck_base::digest::sha256;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::parallel;

/// Lists that are settled at the same time.
const AT_ONCE: usize = 16;
/// The first wait after a write; it doubles with each write, so that many writers get out of each other's way.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// How long a list must stay unchanged, and how long others may prevent that.
#[derive(Debug, Clone, Copy)]
pub struct Settling {
    /// Two reads must find the same list, at least this far apart: longer than any writer may take from reading a list to replacing it.
    pub time: Duration,
    /// The time after which it is an error that the list has not settled.
    pub timeout: Duration,
}

impl Default for Settling {
    fn default() -> Self {
        Settling {
            time: Duration::from_secs(2),
            timeout: Duration::from_secs(120),
        }
    }
}

/// What is to be in the list that a tag names.
pub struct Addition {
    /// Tag of the list.
    pub tag: String,
    /// What the additions name. It is pushed before the list is read, so that little time passes until it is replaced.
    pub blobs: Vec<Blob>,
    /// Given the list, if it exists, returns the list with the additions and a further blob that it names; `None` if it has them.
    pub change: Change,
    /// What is lost if the list does not have them.
    pub consequence: &'static str,
}

/// Changes a list; an error says why it is not one.
type Change = Box<dyn Fn(Option<&[u8]>) -> Changed + Sync>;
type Changed = Result<Option<(Blob, Option<Blob>)>, String>;

impl Artifacts {
    /// Makes additions to lists, and returns when all of them have settled.
    ///
    /// # Errors
    /// The registry refuses or did not answer, what a tag names is not a list, or others change a list for too long.
    pub fn settle(&self, additions: &[Addition], settling: Settling) -> Result<()> {
        parallel::map(AT_ONCE, additions.len(), |at| {
            let addition = &additions[at];
            for blob in &addition.blobs {
                self.push_blob(blob)?;
            }
            Settlement::new(self, addition, settling).run()
        })?;
        Ok(())
    }

    /// The list that a tag names; `None` if there is no such tag.
    fn list(&self, tag: &str) -> Result<Option<List>> {
        self.run(async {
            let kind = DocumentKind::Manifest;
            match self.blobs.fetch_with_entity_tag(kind, tag).await {
                Ok((bytes, entity_tag)) => Ok(Some(List {
                    digest: sha256(&bytes),
                    bytes,
                    entity_tag,
                })),
                Err(failure) if failure.code() == ErrorCode::NotFound => Ok(None),
                Err(failure) => Err(failure),
            }
        })
    }
}

/// A list, as it was read.
struct List {
    bytes: Vec<u8>,
    digest: String,
    entity_tag: Option<HeaderValue>,
}

/// One addition on its way.
struct Settlement<'a> {
    artifacts: &'a Artifacts,
    addition: &'a Addition,
    started: Instant,
    timeout: Duration,
    /// How long the list must stay unchanged.
    time: Duration,
    /// The digest of the list with the addition, and when it was first read.
    unchanged: Option<(String, Instant)>,
    /// The digest of the list, or that there was none, when the registry refused a write with a condition.
    refused: Option<Option<String>>,
    writes: usize,
    waits: Box<dyn Iterator<Item = Duration>>,
    attempts: Attempts,
}

impl<'a> Settlement<'a> {
    fn new(artifacts: &'a Artifacts, addition: &'a Addition, settling: Settling) -> Self {
        let waits = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(SHORTEST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .without_max_times()
            .build();
        Settlement {
            artifacts,
            addition,
            started: Instant::now(),
            timeout: settling.timeout,
            time: settling.time,
            unchanged: None,
            refused: None,
            writes: 0,
            waits: Box::new(waits),
            attempts: Attempts::new(artifacts.repository().policy()),
        }
    }

    fn run(mut self) -> Result<()> {
        loop {
            let begun = Instant::now();
            let list = self.artifacts.list(&self.addition.tag)?;
            let changed = (self.addition.change)(list.as_ref().map(|it| it.bytes.as_slice()));
            let changed = changed.map_err(|problem| {
                let problem = format!("the tag {}: {problem}", self.addition.tag);
                Error::damaged(&self.artifacts.reference, problem)
            })?;
            let wait = match (&changed, &list) {
                (Some((manifest, named)), _) => {
                    self.write(list.as_ref(), begun, manifest, named.as_ref())?
                }
                (None, Some(list)) => self.watch(list, begun),
                (None, None) => None,
            };
            let Some(wait) = wait else { return Ok(()) };
            if self.started.elapsed() + wait > self.timeout {
                return Err(self.unsettled(changed.is_some()));
            }
            self.artifacts.run(async {
                tokio::time::sleep(wait).await;
                Ok(())
            })?;
        }
    }

    /// How long to wait until the list, which has the addition, is read again; `None` if it has settled.
    fn watch(&mut self, list: &List, begun: Instant) -> Option<Duration> {
        let left = match &self.unchanged {
            Some((digest, first)) if *digest == list.digest => {
                self.time.saturating_sub(begun.duration_since(*first))
            }
            _ => {
                self.unchanged = Some((list.digest.clone(), Instant::now()));
                self.time
            }
        };
        (!left.is_zero()).then(|| left + random_part(self.time / 4))
    }

    /// Replaces a list, and returns how long to wait until it is read again.
    fn write(
        &mut self,
        list: Option<&List>,
        begun: Instant,
        manifest: &Blob,
        named: Option<&Blob>,
    ) -> Result<Option<Duration>> {
        self.unchanged = None;
        if let Some(blob) = named {
            self.artifacts.push_blob(blob)?;
        }
        if begun.elapsed() > self.time {
            // Others may have replaced it meanwhile. Where so much time passes, theirs may take as long.
            self.time = self.time.max(2 * begun.elapsed());
            return Ok(Some(Duration::ZERO));
        }
        let digest = list.map(|it| it.digest.clone());
        // A registry that refuses though nothing has changed does not mean the condition.
        let condition = condition(list).filter(|_| self.refused.as_ref() != Some(&digest));
        let is_conditional = condition.is_some();
        let (artifacts, tag) = (self.artifacts, &self.addition.tag);
        let put = artifacts.put_manifest(tag, manifest, condition);
        let put = artifacts.repository().run(put);
        self.time = self.time.max(2 * begun.elapsed());
        match put {
            Ok(_) => self.writes += 1,
            Err(failure) if is_conditional && may_be_changed(&failure) => {
                self.refused = Some(digest);
            }
            // Not the same list again: it may be old by then.
            Err(failure) => artifacts.run(self.attempts.after(failure))?,
        }
        Ok(Some(self.waits.next().unwrap_or(LONGEST_WAIT)))
    }

    fn unsettled(&self, is_missing: bool) -> Error {
        let (tag, seconds) = (&self.addition.tag, self.started.elapsed().as_secs_f64());
        let problem = match is_missing {
            true => format!(
                "the tag {tag} does not have what was attested: other writers replace it, too, and undid {} writes in {seconds:.1} s",
                self.writes
            ),
            false => format!(
                "the tag {tag} has what was attested, but may lose it: other writers changed it again and again for {seconds:.1} s"
            ),
        };
        let help = format!(
            "attest again when no other program attests or signs this image, or wait longer: --settle-timeout SECONDS. {}",
            self.addition.consequence
        );
        Error::new(ErrorCode::Timeout, &self.artifacts.reference, problem).with_help(help)
    }
}

/// The condition that a list is still as it was read (RFC 9110, sections 13.1.1 and 13.1.2). Weak entity tags never match.
fn condition(list: Option<&List>) -> Option<(HeaderName, HeaderValue)> {
    match list {
        None => Some((IF_NONE_MATCH, HeaderValue::from_static("*"))),
        Some(list) => {
            let entity_tag = list.entity_tag.clone()?;
            entity_tag
                .as_bytes()
                .starts_with(b"\"")
                .then_some((IF_MATCH, entity_tag))
        }
    }
}

/// Whether a write with a condition may have failed because of the condition.
fn may_be_changed(failure: &Failure) -> bool {
    let is_refused = [ErrorCode::Unauthorized, ErrorCode::Forbidden].contains(&failure.code());
    matches!(failure.kind, Kind::Final(_)) && !is_refused
}

/// A random part of a time, so that writers do not stay in step.
fn random_part(time: Duration) -> Duration {
    let mut byte = [0];
    match SystemRandom::new().fill(&mut byte) {
        Ok(()) => time * u32::from(byte[0]) / 255,
        Err(_) => time,
    }
}
