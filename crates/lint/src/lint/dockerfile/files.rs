//! `COPY`, `ADD` and bind mounts: files that a stage gets.

use std::ops::Range;

use parse_dockerfile::{Flag, Source, UnescapedString};

use super::super::stage::too_many;
use super::super::variables::{Expanded, unquote};
use super::Reader;
use super::copies::{Copy, absolute, environment_of};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

/// The maximum number of copied files in a stage, including those of its parents.
const MAX_COPIES: usize = 1000;

/// Kinds of mounts that bring no files of the build context or of an image.
const NO_CONTEXT: &[&str] = &["cache", "secret", "ssh", "tmpfs"];
/// Kinds of mounts that bring no files.
const NO_FILES: &[&str] = &["cache", "ssh", "tmpfs"];

/// The maximum number of images that files are copied from.
const MAX_IMAGES: usize = 64;

impl Reader<'_> {
    /// `COPY <<EOF /destination`: a file inside the Dockerfile.
    pub(super) fn documents(&mut self, instruction: usize, destination: &str) {
        for here in self.documents_of(instruction) {
            let body = self.body(&here);
            let target = match destination.ends_with('/') {
                true => format!("{destination}{}", here.delimiter),
                false => destination.to_owned(),
            };
            if let Some(stage) = self.stages.last_mut() {
                stage.copied_document(self.text, &body, target);
            }
        }
    }

    /// A file that `COPY` or `ADD` brings may configure pip.
    pub(super) fn system_pip_files(&mut self, destination: &str) {
        let target = self.of_stage(destination);
        if let Some(stage) = self.stages.last_mut() {
            stage.has_files = true;
            stage.system_pip_files(&absolute(&stage.directory, &target));
        }
    }

    /// `COPY` and `ADD`: from another stage, or from the build context.
    pub(super) fn copied(
        &mut self,
        options: &[Flag<'_>],
        sources: &[Source<'_>],
        destination: &UnescapedString<'_>,
    ) -> Result<()> {
        let paths = sources.iter().filter_map(|source| match source {
            Source::Path(path) => Some(self.of_stage(&path.value)),
            _ => None,
        });
        let paths: Vec<String> = paths.collect();
        let target = self.of_stage(&destination.value);
        if let Some(stage) = self.stages.last_mut() {
            let written = paths.iter().chain([&target]);
            written.for_each(|it| stage.index_file(it));
        }
        let from = options.iter().find(|flag| flag.name.value == "from");
        if let Some(from) = from {
            let other = match &from.value {
                Some(it) => self.takes(&it.value, it.span.clone())?,
                None => None,
            };
            self.foreign(&paths, &target);
            let brings_environment = paths.iter().any(|it| it.contains("venv"));
            if let Some(stage) = self.stages.last_mut() {
                stage.has_environment |= other.is_some() || brings_environment;
            }
            return self.carry(other, &paths, &target, destination.span.clone());
        }
        for source in paths {
            if let Some(stage) = self.stages.last_mut() {
                stage.repository(self.text, &source, destination.span.clone());
            }
            self.copy((source, target.clone()), destination.span.clone())?;
        }
        Ok(())
    }

    /// Packages of an environment that is copied from another stage.
    fn carry(
        &mut self,
        other: Option<usize>,
        paths: &[String],
        target: &str,
        span: Range<usize>,
    ) -> Result<()> {
        let Some((stage, others)) = self.stages.split_last_mut() else {
            return Ok(());
        };
        let Some(other) = other.and_then(|other| others.get(other)) else {
            return Ok(());
        };
        for path in paths {
            let (from, to) = (environment_of(path), environment_of(target));
            stage.recorder.carry(&other.recorder, (&from, &to));
            // The default environment of images of conda.
            if path.trim_end_matches('/').ends_with("conda") {
                stage.recorder.carry(&other.recorder, ("", &to));
            }
        }
        match too_many(
            others
                .iter()
                .map(|other| &other.recorder)
                .chain([&stage.recorder]),
        ) {
            Some(problem) => Err(self.text.fault(span, &problem, None)),
            None => Ok(()),
        }
    }

    /// Records where files from another stage are: a file at `/a/b.txt`, and one of its name in `/a/`.
    fn foreign(&mut self, paths: &[String], target: &str) {
        let Some(stage) = self.stages.last_mut() else {
            return;
        };
        let target = absolute(&stage.directory, target);
        let inside = paths.iter().map(|path| absolute(&target, name_of(path)));
        let all = inside.chain([target.clone()]);
        let left = MAX_COPIES.saturating_sub(stage.foreign.len());
        stage.foreign.extend(all.take(left));
    }

    /// Records that the last stage has a file from the build context; `span` is that of the instruction.
    fn copy(&mut self, (source, target): (String, String), span: Range<usize>) -> Result<()> {
        let Some(stage) = self.stages.last_mut() else {
            return Ok(());
        };
        if stage.copies.len() >= MAX_COPIES {
            let problem = format!("more than {MAX_COPIES} copied files");
            return Err(self.text.fault(span, &problem, None));
        }
        let target = absolute(&stage.directory, &target);
        stage.copies.push(Copy { source, target });
        Ok(())
    }

    /// `RUN --mount=type=bind,source=requirements.txt,target=…`.
    pub(super) fn mounts(&mut self, options: &[Flag<'_>], instruction: Range<usize>) -> Result<()> {
        for mount in options.iter().filter(|flag| flag.name.value == "mount") {
            let settings = mount
                .value
                .as_ref()
                .map(|value| value.value.as_ref())
                .unwrap_or_default();
            // A bind mount is the default.
            let is_other = |kind: &&str| settings.contains(&format!("type={kind}"));
            let is_bind = !NO_CONTEXT.iter().any(is_other);
            if let Some(stage) = self.stages.last_mut() {
                stage.has_files |= !NO_FILES.iter().any(is_other);
                stage.system_pip_mount(settings);
                stage.index_mount(settings);
            }
            let setting = |names: &[&str]| {
                let mut pairs = settings.split(',').filter_map(|pair| pair.split_once('='));
                pairs
                    .find(|(name, _)| names.contains(name))
                    .map(|(_, value)| value.to_owned())
            };
            if let Some(from) = setting(&["from"]) {
                let start = mount.value.as_ref().map_or(0, |it| it.span.start);
                let at = start + settings.find(&from).unwrap_or(0);
                self.takes(&from, at..at + from.len())?;
            } else if is_bind {
                // Without a source it is the whole build context.
                let source = setting(&["source", "src"]).unwrap_or_else(|| ".".to_owned());
                let target = setting(&["target", "dst", "destination"]).unwrap_or_default();
                self.copy((source, target), instruction.clone())?;
            }
        }
        Ok(())
    }

    /// Records that the last stage copies files from another one, given by name or number, and returns its position; or from an image.
    fn takes(&mut self, from: &str, span: Range<usize>) -> Result<Option<usize>> {
        let number = from.parse::<usize>().ok();
        let is_later = number.is_some_and(|it| it >= self.stages.len().saturating_sub(1));
        if self.is_dockers && is_later && !self.names.contains_key(from) {
            let problem = format!("there is no stage {from} before this one");
            return Err(self.text.fault(span, &problem, None));
        }
        let is_stage = number.is_some() || self.names.contains_key(&from.to_lowercase());
        if !is_stage && !from.contains('$') && self.images.len() < MAX_IMAGES {
            let image = Expanded {
                text: from.to_owned(),
                known: true,
            };
            let stage = self.stages.len().saturating_sub(1);
            self.images.extend(self.base(stage, span, &image));
        }
        let other = self.names.get(&from.to_lowercase()).copied().or(number);
        if let (Some(other), Some(stage)) = (other, self.stages.last_mut()) {
            stage.takes.push(other);
        }
        Ok(other)
    }

    /// A text with the variables of the last stage expanded.
    fn of_stage(&self, raw: &str) -> String {
        let values = |name: &str| self.stages.last().and_then(|stage| stage.value(name));
        unquote(raw, self.escape, &values).text
    }
}
