//! `RUN`: the packages that its commands install, and the files they write.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::super::command::{Command, commands};
use super::super::context::Neighbour;
use super::super::environment;
use super::super::facts::{Pin, SearchDirectory};
use super::super::install::{self, Argument, Install, Project, unwrapped};
use super::super::lock;
use super::super::pin;
use super::super::pyproject;
use super::super::requirements::{self, Gathered};
use super::super::shell::{Script, Word};
use super::super::stage::MAX_PINS;
use super::super::text::Text;
use super::copies::{Copy, absolute, place};
use super::session::{SHELLS, Session, activate, assign, inline_script, script_path};
use super::state::{MAX_PARTS, State};
use crate::error::Result;
use crate::lexical::name_of;
use crate::version::requirement::normalized;

/// How many times the commands of loops are read.
const MAX_RUNS: usize = 64;

/// The maximum nesting of `bash -c`.
const MAX_DEPTH: usize = 4;

/// How many directories above a Dockerfile may be its build context.
const MAX_ABOVE: usize = 3;

/// The maximum number of places that a file in the stage may come from.
const MAX_ORIGINS: usize = 32;

impl State<'_> {
    /// Reads a script. `documents` are the here-documents of its commands, in order.
    pub fn run(
        &mut self,
        text: &Text<'_>,
        script: Script<'_>,
        documents: VecDeque<Script<'_>>,
    ) -> Result<()> {
        let other = script
            .text
            .strip_prefix("#!")
            .and_then(|rest| rest.lines().next());
        if other.is_some_and(|interpreter| !interpreter.trim_end().ends_with("sh")) {
            return Ok(());
        }
        self.script(text, script, documents, &mut Session::default())
    }

    /// Reads a command in the exec form.
    pub fn run_words<'w>(
        &mut self,
        text: &Text<'_>,
        words: impl Iterator<Item = (&'w str, Range<usize>)>,
    ) -> Result<()> {
        let words = words.map(|(word, span)| Argument {
            text: word.to_owned(),
            known: true,
            span,
        });
        let words: Vec<Argument> = words.collect();
        let words = unwrapped(&words);
        if let Some((inner, at)) = inline_script(words) {
            // The position may be that of a quote. Escapes in the script would shift what follows.
            let places = [at, at + 1].into_iter();
            let mut places =
                places.filter(|at| text.text.get(*at..at + inner.len()) == Some(inner));
            let Some(offset) = places.next() else {
                return Ok(());
            };
            let script = Script {
                text: inner,
                offset,
                escape: '\\',
                instruction: false,
            };
            return self.script(text, script, VecDeque::new(), &mut Session::default());
        }
        self.install(text, words, false, &Session::default())
    }

    fn script(
        &mut self,
        text: &Text<'_>,
        script: Script<'_>,
        mut documents: VecDeque<Script<'_>>,
        session: &mut Session,
    ) -> Result<()> {
        let commands = commands(&script);
        for (index, command) in commands.iter().enumerate() {
            // Each document is read by one command.
            let body = match command.here_document {
                true => documents.pop_front(),
                false => None,
            };
            for values in self.loop_values(&script, command, session) {
                session.variables.extend(values);
                self.command(
                    text,
                    &script,
                    (command, commands.get(index + 1)),
                    body,
                    session,
                )?;
            }
        }
        Ok(())
    }

    /// The values of the loop variables of a command, for each time that it runs.
    fn loop_values(
        &self,
        script: &Script<'_>,
        command: &Command<'_>,
        session: &Session,
    ) -> Vec<BTreeMap<String, Option<String>>> {
        let mut runs = vec![BTreeMap::new()];
        for (name, words) in &command.loops {
            let mentioned = |word: &Word<'_>| word.raw.contains('$') && word.raw.contains(name.raw);
            if !command.words.iter().any(mentioned) {
                continue;
            }
            let values = |name: &str| self.session_value(name, session);
            let expanded: Vec<_> = words
                .iter()
                .map(|word| script.value(word, &values))
                .collect();
            let known = expanded
                .iter()
                .all(|word| word.known && !word.text.contains(['*', '?']));
            let each: Vec<Option<String>> = match known {
                true => {
                    let words = expanded
                        .iter()
                        .flat_map(|word| word.text.split_whitespace());
                    words.map(|word| Some(word.to_owned())).collect()
                }
                false => vec![None],
            };
            let with = |run: &BTreeMap<String, Option<String>>, value: &Option<String>| {
                let mut run = run.clone();
                run.insert(name.raw.to_owned(), value.clone());
                run
            };
            let each = each.iter().take(MAX_RUNS);
            let product = runs
                .iter()
                .flat_map(|run| each.clone().map(move |value| with(run, value)));
            runs = product.take(MAX_RUNS).collect();
        }
        runs
    }

    fn command(
        &mut self,
        text: &Text<'_>,
        script: &Script<'_>,
        (command, next): (&Command<'_>, Option<&Command<'_>>),
        body: Option<Script<'_>>,
        session: &mut Session,
    ) -> Result<()> {
        let words = self.words(script, command, session);
        let program = words
            .first()
            .map(|word| word.text.as_str())
            .unwrap_or_default();
        let name = name_of(program).to_owned();
        if let Some(body) = body
            && SHELLS.contains(&name.as_str())
        {
            self.script(text, body, VecDeque::new(), session)?;
        }
        if assign(&words, command.conditional, session) {
            return Ok(());
        }
        activate(&words, session);
        for word in &words {
            self.repository(text, &word.text, word.span.clone());
        }
        if name == "cd" && words.len() == 2 {
            session.directory = Some(absolute(self.directory(session), &words[1].text));
        }
        self.loader_configuration(text, script, command, (&words, next), body, session);
        if SHELLS.contains(&name.as_str()) && session.depth < MAX_DEPTH {
            let raw: Vec<&str> = command.words.iter().map(|word| word.raw).collect();
            if let Some((inner, at)) = inline_script(&words)
                && raw
                    .iter()
                    .any(|word| word.len() == inner.len() + 2 && word.contains(inner))
            {
                let inner = Script {
                    text: inner,
                    offset: at + 1,
                    ..*script
                };
                self.nested(text, inner, command.conditional, session)?;
                return Ok(());
            }
        }
        if let Some(path) = script_path(&words).filter(|_| session.depth < MAX_DEPTH) {
            let path = absolute(self.directory(session), path);
            if let Some((path, content)) = self.origin(text, &path)? {
                let name = self.recorder.context().name(&path);
                let other = Text::new(&name, &content)?;
                let script = Script {
                    text: other.text,
                    offset: 0,
                    escape: '\\',
                    instruction: false,
                };
                self.nested(&other, script, command.conditional, session)?;
            }
            return Ok(());
        }
        self.install(text, &words, command.conditional, session)
    }

    /// Reads a script that a command runs.
    fn nested(
        &mut self,
        text: &Text<'_>,
        script: Script<'_>,
        conditional: bool,
        session: &mut Session,
    ) -> Result<()> {
        let outer = (session.conditional, session.directory.clone());
        session.conditional |= conditional;
        session.depth += 1;
        self.script(text, script, VecDeque::new(), session)?;
        session.depth -= 1;
        (session.conditional, session.directory) = outer;
        Ok(())
    }

    /// Records the distribution in the address of a repository of NVIDIA.
    pub fn repository(&mut self, text: &Text<'_>, word: &str, span: Range<usize>) {
        let found = word
            .split_once("/compute/cuda/repos/")
            .map(|(_, rest)| rest);
        let name = found
            .and_then(|rest| rest.split(['/', ' ', '"']).next())
            .unwrap_or_default();
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_plain && self.stage.repositories.len() < MAX_PARTS {
            self.stage.repositories.push(SearchDirectory {
                text: name.to_owned(),
                location: text.location(span),
            });
        }
    }

    /// The working directory at this point of a script.
    fn directory<'s>(&'s self, session: &'s Session) -> &'s str {
        session.directory.as_deref().unwrap_or(&self.directory)
    }

    /// The file of the build context that is at an absolute path of the stage: its path in the context, and its contents.
    fn origin(&self, text: &Text<'_>, path: &str) -> Result<Option<(String, String)>> {
        let context = self.recorder.context();
        let origins = self.copies.iter().rev().flat_map(|copy| copy.origins(path));
        let origins: Vec<String> = origins.take(MAX_ORIGINS).collect();
        // The build context is the directory of the Dockerfile, or one above it: `docker build -f docker/Dockerfile .`
        let depth = context.depth().min(MAX_ABOVE);
        for above in (0..=depth).map(|levels| "../".repeat(levels)) {
            for origin in origins.iter().map(|origin| format!("{above}{origin}")) {
                if let Neighbour::Text(found) = context.neighbour(text, &origin)? {
                    return Ok(Some((origin, found)));
                }
            }
        }
        Ok(None)
    }

    /// The words of a command with expanded variables.
    pub fn words(
        &self,
        script: &Script<'_>,
        command: &Command<'_>,
        session: &Session,
    ) -> Vec<Argument> {
        let values = |name: &str| self.session_value(name, session);
        let words = command.words.iter().map(|word| {
            let expanded = script.value(word, &values);
            Argument {
                text: expanded.text,
                known: expanded.known,
                span: word.span.clone(),
            }
        });
        unwrapped(&words.collect::<Vec<_>>()).to_vec()
    }

    /// The value of a variable at this point of a script.
    pub fn session_value(&self, name: &str, session: &Session) -> Option<String> {
        match session.variables.get(name) {
            Some(value) => value.clone(),
            None => self.value(name),
        }
    }

    fn install(
        &mut self,
        text: &Text<'_>,
        words: &[Argument],
        conditional: bool,
        session: &Session,
    ) -> Result<()> {
        if let Some((variable, value)) = install::configured(words) {
            self.configure(variable, value);
        }
        let found = install::read(words, &|name| self.session_value(name, session));
        let Some(install) = found else {
            return Ok(());
        };
        let mut pins: Vec<Pin> = Vec::new();
        // One package too many is reported when it is added.
        for package in install.packages.iter().take(MAX_PINS + 1) {
            pins.extend(package_pin(&install, package).map(|pin| Pin {
                location: text.location(package.span.clone()),
                ..pin
            }));
        }
        self.files(text, &install, session, &mut pins)?;
        let place = match &install.environment {
            Some(directory) => place(directory),
            None if install.manager == "pip" || install.manager == "conda" => {
                session.active.clone().unwrap_or_else(|| self.environment())
            }
            None => String::new(),
        };
        if install.removes {
            if pins.is_empty() || !install.packages.iter().all(|package| package.known) {
                self.recorder.remove_component(None, &place);
            }
            for pin in pins {
                self.recorder.remove(&Pin {
                    environment: place.clone(),
                    ..pin
                });
            }
            return Ok(());
        }
        self.recorder.command();
        if install.upgrades {
            self.recorder.upgrade();
        }
        for mut pin in pins {
            pin.environment = place.clone();
            pin.conditional |= conditional || session.conditional;
            pin.alone = install.alone;
            pin.no_build_isolation = install.no_build_isolation
                || self
                    .session_value("PIP_NO_BUILD_ISOLATION", session)
                    .is_some()
                || self
                    .session_value("UV_NO_BUILD_ISOLATION", session)
                    .is_some();
            self.recorder.add(pin, text)?;
        }
        Ok(())
    }

    /// Adds the requirements of files that a command names, if they are in the build context and copied to the stage.
    fn files(
        &self,
        text: &Text<'_>,
        install: &Install,
        session: &Session,
        pins: &mut Vec<Pin>,
    ) -> Result<()> {
        let context = self.recorder.context();
        let mut gathered = Gathered::from_index(install.index.clone());
        // Projects are separate files; uv accepts them like requirements.
        let is_project = |file: &str| {
            [".toml", ".py", ".cfg"]
                .iter()
                .any(|end| file.ends_with(end))
        };
        let requirements = install.files.iter();
        for (file, constraint) in requirements.filter(|(file, _)| !is_project(file)) {
            if let Some((path, content)) = self.beside(text, session, file)? {
                let name = self.recorder.context().name(&path);
                let other = Text::new(&name, &content)?;
                requirements::gather(&other, &path, context, *constraint, &mut gathered)?;
            }
        }
        for pin in pins.iter_mut().filter(|pin| pin.manager == "pip") {
            gathered.index.apply(pin);
        }
        for mut pin in gathered.pins {
            gathered.index.apply(&mut pin);
            pins.push(pin);
        }
        for project in install.projects.iter().filter(|_| !install.alone) {
            pins.extend(self.project(text, project, session)?);
        }
        for file in &install.environments {
            if let Some((path, content)) = self.beside(text, session, file)? {
                let name = self.recorder.context().name(&path);
                let stages = environment::read(&Text::new(&name, &content)?, context)?;
                pins.extend(stages.into_iter().flat_map(|stage| stage.pins));
            }
        }
        Ok(())
    }

    /// The packages that a project requires, with their origins: those of its lock file if the command follows it.
    fn project(&self, text: &Text<'_>, project: &Project, session: &Session) -> Result<Vec<Pin>> {
        let directory = absolute(self.directory(session), &project.path);
        let files: &[&str] = match project.locked {
            true => &["uv.lock", "poetry.lock", "pyproject.toml"],
            false => &["pyproject.toml"],
        };
        for file in files {
            let Some((path, content)) = self.origin(text, &format!("{directory}/{file}"))? else {
                continue;
            };
            let name = self.recorder.context().name(&path);
            let other = Text::new(&name, &content)?;
            let pins = match file.ends_with(".lock") {
                true => lock::packages(&other),
                false => pyproject::project(&other, project),
            };
            // What is wrong with the project itself is told where it is linted.
            return Ok(pins.unwrap_or_default());
        }
        Ok(Vec::new())
    }

    /// The file that a path in the stage was copied from: its path in the build context, and its contents. Without an exact path, the
    /// name of the file decides.
    fn beside(
        &self,
        text: &Text<'_>,
        session: &Session,
        path: &str,
    ) -> Result<Option<(String, String)>> {
        let exact = self.origin(text, &absolute(self.directory(session), path))?;
        let Some(name) = path.rsplit('/').next().filter(|_| exact.is_none()) else {
            return Ok(exact);
        };
        let context = self.recorder.context();
        let relative = path.trim_start_matches('/').trim_start_matches("./");
        let is_named = |copy: &Copy| {
            source(copy).rsplit('/').next() == Some(name)
                || copy.target.rsplit('/').next() == Some(name)
        };
        // Copies with this file name first, the last one before earlier ones.
        let named = self.copies.iter().rev().filter(|copy| is_named(copy));
        let named = named.map(|copy| source(copy).to_owned());
        let others = self.copies.iter().filter(|copy| !is_named(copy));
        let others = others.flat_map(|copy| origins(source(copy), relative, name));
        for path in named.chain(others).take(MAX_ORIGINS) {
            if let Neighbour::Text(found) = context.neighbour(text, &path)? {
                return Ok(Some((path, found)));
            }
        }
        Ok(None)
    }
}

/// The source of a `COPY`, relative to the build context.
fn source(copy: &Copy) -> &str {
    copy.source
        .trim_start_matches('/')
        .trim_start_matches("./")
        .trim_end_matches('/')
}

/// Possible sources of a file that no `COPY` names; `name` is its file name.
fn origins(source: &str, relative: &str, name: &str) -> Vec<String> {
    let (folder, file) = source.rsplit_once('/').unwrap_or(("", source));
    if matches!(source, "" | ".") {
        vec![relative.to_owned(), name.to_owned()]
    } else if file.contains('*') {
        let path = format!("{folder}/{name}");
        vec![path.trim_start_matches('/').to_owned()]
    } else {
        vec![format!("{source}/{name}")]
    }
}

/// A package of a command. If a variable in it is unknown, its name may still be known.
fn package_pin(install: &Install, package: &Argument) -> Option<Pin> {
    let pin = match install.manager {
        "pip" => match pin::python(&package.text) {
            Ok(pin) => pin,
            Err(_) => partly(package, "pip"),
        },
        "conda" => pin::conda(&package.text)
            .or_else(|| partly(package, "conda"))
            .map(|mut pin| {
                if pin.index.is_none() && !install.channels.is_empty() {
                    pin.index = Some(install.channels.join(", "));
                }
                pin
            }),
        manager => pin::system(&package.text, manager).filter(|_| package.known),
    };
    pin.filter(|pin| package.known || !pin.specifier.is_empty())
}

/// A package of which only the name is known.
fn partly(package: &Argument, manager: &str) -> Option<Pin> {
    let end = package
        .text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))?;
    let (name, specifier) = package.text.split_at(end);
    (!package.known && !name.is_empty()).then(|| Pin {
        name: normalized(name),
        manager: manager.to_owned(),
        specifier: specifier.to_owned(),
        text: package.text.clone(),
        ..Pin::default()
    })
}
