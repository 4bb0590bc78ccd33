//! `RUN`: the packages that its commands install, and the files they write.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::command::{Command, commands};
use super::super::context::{Context, Neighbour};
use super::super::environment;
use super::super::facts::Pin;
use super::super::install::{self, Argument, Install, unwrapped};
use super::super::pin;
use super::super::requirements::{self, Gathered};
use super::super::shell::Script;
use super::super::stage::MAX_PINS;
use super::super::text::Text;
use super::session::{SHELLS, Session, activate, assign, inline_script};
use super::state::{State, place};
use crate::error::Result;
use crate::lexical::name_of;
use crate::version::requirement::normalized;

/// The maximum nesting of `bash -c`.
const MAX_DEPTH: usize = 4;

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
            let words = self.words(&script, command, session);
            let program = words
                .first()
                .map(|word| word.text.as_str())
                .unwrap_or_default();
            let name = name_of(program).to_owned();
            // Each document is read by one command.
            let body = match command.here_document {
                true => documents.pop_front(),
                false => None,
            };
            if let Some(body) = body
                && SHELLS.contains(&name.as_str())
            {
                self.script(text, body, VecDeque::new(), session)?;
            }
            if assign(&words, command.conditional, session) {
                continue;
            }
            activate(&words, session);
            self.loader_configuration(
                text,
                &script,
                command,
                (&words, commands.get(index + 1)),
                body,
                session,
            );
            if SHELLS.contains(&name.as_str()) && session.depth < MAX_DEPTH {
                let raw: Vec<&str> = command.words.iter().map(|word| word.raw).collect();
                if let Some((inner, at)) = inline_script(&words)
                    && raw
                        .iter()
                        .any(|word| word.len() == inner.len() + 2 && word.contains(inner))
                {
                    session.depth += 1;
                    let inner = Script {
                        text: inner,
                        offset: at + 1,
                        ..script
                    };
                    self.script(text, inner, VecDeque::new(), session)?;
                    session.depth -= 1;
                }
                continue;
            }
            self.install(text, &words, command.conditional, session)?;
        }
        Ok(())
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
        self.files(text, &install, &mut pins)?;
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
            pin.conditional |= conditional;
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
    fn files(&self, text: &Text<'_>, install: &Install, pins: &mut Vec<Pin>) -> Result<()> {
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
            if let Some((path, content)) = self.beside(text, context, file)? {
                let name = beside(text.name, &path);
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
        for file in &install.environments {
            if let Some((path, content)) = self.beside(text, context, file)? {
                let name = beside(text.name, &path);
                let stages = environment::read(&Text::new(&name, &content)?, context)?;
                pins.extend(stages.into_iter().flat_map(|stage| stage.pins));
            }
        }
        Ok(())
    }

    /// The file that a path in the stage was copied from: its path in the build context, and its contents.
    fn beside(
        &self,
        text: &Text<'_>,
        context: &Context<'_>,
        path: &str,
    ) -> Result<Option<(String, String)>> {
        let Some(name) = path.rsplit('/').next() else {
            return Ok(None);
        };
        let relative = path.trim_start_matches('/').trim_start_matches("./");
        let copies = || self.copies.iter().map(|copy| (source(copy), copy));
        let is_named = |source: &str, destination: &str| {
            source.rsplit('/').next() == Some(name) || destination.rsplit('/').next() == Some(name)
        };
        // Copies with this file name first, the last one before earlier ones.
        let named = copies()
            .rev()
            .filter(|(source, (_, destination))| is_named(source, destination))
            .map(|(source, _)| source.to_owned());
        let others = copies()
            .filter(|(source, (_, destination))| !is_named(source, destination))
            .flat_map(|(source, _)| origins(source, relative, name));
        for path in named.chain(others).take(MAX_ORIGINS) {
            if let Neighbour::Text(found) = context.neighbour(text, &path)? {
                return Ok(Some((path, found)));
            }
        }
        Ok(None)
    }
}

/// The source of a `COPY`, relative to the build context.
fn source((source, _): &(String, String)) -> &str {
    source
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

/// The name of a file next to another one.
fn beside(name: &str, path: &str) -> String {
    match name.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{path}"),
        None => path.to_owned(),
    }
}
