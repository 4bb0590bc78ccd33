//! The file of a plan: JSON lines, of which the last holds the digest of all others, so that a plan that was cut off or edited is noticed.

use std::io::{BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use super::Sweep;
use super::plan::{PlannedImage, PlannedLayer, PlannedReference, Skipped, SweepPlan, Unlisted};
use super::worker::{check_store, no_store};
use imgcheck_base::digest::Hasher;
use imgcheck_base::error::{Error, Result};
use imgcheck_source::cache::Key;

const SCHEMA: &str = "imgcheck/sweep-plan/v1";
/// Bytes of a line: an image with a thousand layers is below it.
const LINE: u64 = 1 << 20;
const AGAIN: &str = "make the plan again with `imgcheck sweep plan`";

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Line<L, I, R, S, U> {
    Schema(String),
    Layer(L),
    Image(I),
    Reference(R),
    Skipped(S),
    Unlisted(U),
    Filtered(u64),
    /// The digest of all lines before.
    End(String),
}

type Parsed = Line<PlannedLayer, PlannedImage, PlannedReference, Skipped, Unlisted>;
type Written<'p> =
    Line<&'p PlannedLayer, &'p PlannedImage, &'p PlannedReference, &'p Skipped, &'p Unlisted>;

impl SweepPlan {
    /// Writes the plan.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write(&self, writer: &mut dyn Write) -> Result<()> {
        let mut hasher = Hasher::default();
        let schema = [Written::Schema(SCHEMA.to_owned())].into_iter();
        let lines = schema
            .chain(self.layers.iter().map(Line::Layer))
            .chain(self.images.iter().map(Line::Image))
            .chain(self.references.iter().map(Line::Reference))
            .chain(self.skipped.iter().map(Line::Skipped))
            .chain(self.unlisted.iter().map(Line::Unlisted))
            .chain([Line::Filtered(self.filtered)]);
        let mut put = |line: &Written| -> std::io::Result<()> {
            let mut bytes = serde_json::to_vec(line)?;
            bytes.push(b'\n');
            hasher.update(&bytes);
            writer.write_all(&bytes)
        };
        let failed = |error| Error::output("the plan", error);
        for line in lines {
            put(&line).map_err(failed)?;
        }
        let end = Written::End(hasher.finish());
        let end = serde_json::to_string(&end).map_err(|error| Error::output("the plan", error))?;
        writeln!(writer, "{end}").map_err(failed)?;
        writer.flush().map_err(failed)
    }

    /// Reads a plan; `name` is for messages.
    ///
    /// # Errors
    /// The reader fails, or the plan is of another version, was cut off or edited.
    pub fn read(name: &str, mut reader: impl BufRead) -> Result<Self> {
        let damaged = |problem: String| Error::damaged(name, problem).with_help(AGAIN);
        let mut plan = SweepPlan::default();
        let mut hasher = Hasher::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let mut limited = (&mut reader).take(LINE);
            let read = limited.read_until(b'\n', &mut line);
            read.map_err(|error| Error::io(name, error))?;
            if line.last() != Some(&b'\n') {
                return Err(damaged(match line.len() as u64 {
                    LINE => format!("line {number} is longer than {LINE} bytes"),
                    _ => "it is cut off".to_owned(),
                }));
            }
            let parsed: Parsed = serde_json::from_slice(&line).map_err(|error| match number {
                1 => damaged("it is not a plan of a sweep".to_owned()),
                _ => damaged(format!("line {number}: {error}")),
            })?;
            match (number, parsed) {
                (1, Line::Schema(schema)) if schema == SCHEMA => {}
                (1, Line::Schema(schema)) => {
                    let problem = format!("it is a plan of the format {schema}, not {SCHEMA}");
                    return Err(damaged(problem));
                }
                (1, _) | (_, Line::Schema(_)) => {
                    return Err(damaged("it is not a plan of a sweep".to_owned()));
                }
                (_, Line::End(digest)) => {
                    if digest != hasher.finish() {
                        return Err(damaged("it was edited, or is damaged".to_owned()));
                    }
                    return plan.checked().map_err(damaged);
                }
                (_, other) => plan.add(other),
            }
            hasher.update(&line);
        }
        Err(damaged("it has no end".to_owned()))
    }

    fn add(&mut self, line: Parsed) {
        match line {
            Line::Layer(layer) => self.layers.push(layer),
            Line::Image(image) => self.images.push(image),
            Line::Reference(reference) => self.references.push(reference),
            Line::Skipped(skipped) => self.skipped.push(skipped),
            Line::Unlisted(unlisted) => self.unlisted.push(unlisted),
            Line::Filtered(filtered) => self.filtered = filtered,
            Line::Schema(_) | Line::End(_) => {}
        }
    }

    /// Every position must exist.
    fn checked(self) -> std::result::Result<Self, String> {
        let layers = self.images.iter().flat_map(|image| &image.layers);
        let images = self.references.iter().map(|it| it.image);
        let has = |count: usize, at: u32| (at as usize) < count;
        let is_sound = layers.copied().all(|it| has(self.layers.len(), it))
            && images.into_iter().all(|it| has(self.images.len(), it));
        match is_sound {
            true => Ok(self),
            false => Err("it names an image or a layer that it does not have".to_owned()),
        }
    }
}

impl Sweep<'_> {
    /// Keeps a plan in the store, where all workers find it.
    ///
    /// # Errors
    /// The checker has no store, or the store fails.
    pub fn put_plan(&self, name: &str, plan: &SweepPlan) -> Result<()> {
        let store = self.checker.store().objects().ok_or_else(no_store)?;
        let mut bytes = Vec::new();
        plan.write(&mut bytes)?;
        self.checker.store().put(&plan_key(name), &bytes);
        check_store(self.checker.store(), store)
    }

    /// A plan of the store.
    ///
    /// # Errors
    /// The checker has no store, the store fails or has no such plan, or the plan is damaged.
    pub fn get_plan(&self, name: &str) -> Result<SweepPlan> {
        let store = self.checker.store().objects().ok_or_else(no_store)?;
        let bytes = self.checker.store().get(&plan_key(name));
        check_store(self.checker.store(), store)?;
        let bytes = bytes.ok_or_else(|| {
            let subject = format!("the store {}", store.address());
            let problem = format!("it has no plan `{name}`, or none that its key signed");
            Error::not_found(subject, problem).with_help(AGAIN)
        })?;
        SweepPlan::read(name, &*bytes)
    }
}

fn plan_key(name: &str) -> Key {
    Key::Plan {
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use imgcheck_base::digest::sha256;

    fn plan() -> SweepPlan {
        SweepPlan {
            layers: vec![PlannedLayer {
                diff_id: sha256(b"layer"),
                digest: None,
                size: 7,
            }],
            images: vec![PlannedImage {
                name: sha256(b"image"),
                source: "docker://example.com/a@sha256:0".to_owned(),
                digest: None,
                config: sha256(b"config"),
                platform: "linux/amd64".to_owned(),
                layers: vec![0],
            }],
            references: vec![PlannedReference {
                reference: "example.com/a:1".to_owned(),
                image: 0,
                pods: Some(3),
                pulls: Some(7),
            }],
            skipped: Vec::new(),
            unlisted: vec![Unlisted {
                source: "registry:example.com".to_owned(),
                message: "page 3".to_owned(),
            }],
            filtered: 5,
        }
    }

    fn written(plan: &SweepPlan) -> Vec<u8> {
        let mut bytes = Vec::new();
        plan.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        assert_eq!(SweepPlan::read("plan", &*written(&plan())).unwrap(), plan());
    }

    #[test]
    fn a_plan_that_was_cut_off_or_edited_is_refused() {
        let bytes = written(&plan());
        for length in 0..bytes.len() {
            assert!(
                SweepPlan::read("plan", &bytes[..length]).is_err(),
                "{length}"
            );
        }
        for at in 0..bytes.len() {
            let mut edited = bytes.clone();
            edited[at] = edited[at].wrapping_add(1);
            assert!(SweepPlan::read("plan", &*edited).is_err(), "{at}");
        }
    }

    #[test]
    fn positions_must_exist() {
        let mut wrong = plan();
        wrong.images[0].layers.push(1);
        let error = SweepPlan::read("plan", &*written(&wrong)).unwrap_err();
        assert!(error.to_string().contains("does not have"), "{error}");
        let mut wrong = plan();
        wrong.references[0].image = 9;
        assert!(SweepPlan::read("plan", &*written(&wrong)).is_err());
    }

    #[test]
    fn another_version_is_named() {
        let text = String::from_utf8(written(&plan())).unwrap();
        let newer = text.replace("sweep-plan/v1", "sweep-plan/v2");
        let error = SweepPlan::read("plan", newer.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("sweep-plan/v2"), "{error}");
    }
}
