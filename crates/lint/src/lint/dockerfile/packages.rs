//! The packages that a command of a stage installs or removes.

use super::super::environment;
use super::super::facts::{Pin, SearchDirectory};
use super::super::install::{self, Argument, Install, Project};
use super::super::lock;
use super::super::pin;
use super::super::pin_knowledge::PinKnowledge;
use super::super::pyproject;
use super::super::requirements::{self, Gathered};
use super::super::setup;
use super::super::stage::{MAX_PINS, constrain};
use super::super::text::Text;
use super::copies::{absolute, place};
use super::session::Session;
use super::state::{MAX_PARTS, State};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_base::version::requirement::normalized;

/// The table of a project that may say `system = true` (uv, "Settings").
const UV_PIP: &str = "[tool.uv.pip]";

impl State<'_> {
    /// Records what a command installs or removes.
    pub fn install(
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
        let Some(mut install) = found else {
            return Ok(());
        };
        if install.manager == "pip" {
            self.configure_index(text, &mut install, session)?;
            self.add_files_of_variables(&mut install, words, session);
        }
        if !conditional && !session.conditional {
            self.check_arguments(text, &install, session);
        }
        let mut pins: Vec<Pin> = Vec::new();
        // One package too many is reported when it is added.
        for package in install.packages.iter().take(MAX_PINS + 1) {
            let cloned = match install.manager {
                "pip" if !install.removes => self.cloned(package, session)?,
                _ => None,
            };
            let pin = cloned.or_else(|| package_pin(&install, package));
            pins.extend(pin.map(|pin| Pin {
                redirected: redirected(text, package),
                location: text.location(package.span.clone()),
                ..pin
            }));
        }
        let unread = self.files(text, &install, session, &mut pins)?;
        if self.may_be_older(text, &install, session)? {
            let open = pins.iter_mut().filter(|pin| pin.version.is_none());
            open.for_each(|pin| pin.conditional = true);
        }
        self.override_pins(text, &install, session, &mut pins)?;
        self.note_missing(unread, !conditional && !session.conditional)?;
        constrain(&mut pins);
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
        let variables = session.assigned(&install.variables);
        let sets = |name: &str| self.session_value(name, session).is_some();
        let no_build_isolation = install.no_build_isolation
            || sets("PIP_NO_BUILD_ISOLATION")
            || sets("UV_NO_BUILD_ISOLATION");
        // `uv sync` builds what needs the environment after all others.
        let is_locked = install.projects.iter().any(|it| it.locked);
        for mut pin in pins {
            pin.environment = place.clone();
            pin.conditional |= conditional || session.conditional;
            pin.alone |= install.alone;
            pin.uv = install.uv;
            pin.no_build_isolation =
                no_build_isolation || install.no_build_isolation_of.contains(&pin.name);
            pin.prepared |= pin.no_build_isolation && is_locked;
            if pin.manager == "pip" {
                pin.variables = variables.clone();
                pin.build_options = install.build_options.clone();
            }
            self.recorder.add(pin, text)?;
        }
        Ok(())
    }

    /// Notes files of requirements that are not read. On a known base image that nothing was added to, they do not exist.
    fn note_missing(&mut self, mut unread: Vec<SearchDirectory>, is_certain: bool) -> Result<()> {
        // Standard input and the like, of which nothing is known.
        let is_device = |it: &SearchDirectory| {
            it.text == "-" || it.text.starts_with("/dev/") || it.text.starts_with("/proc/")
        };
        unread.retain(|it| !is_device(it));
        if unread.is_empty() {
            return Ok(());
        }
        let base = self.stage.base.as_ref();
        let base = base.filter(|base| !base.is_extended_later());
        let is_bare = match base.filter(|_| is_certain && !self.may_have_files()) {
            Some(base) => PinKnowledge::builtin()?
                .base_images(&base.repository)
                .is_some(),
            None => false,
        };
        let noted = match is_bare {
            true => &mut self.stage.uncopied,
            false => &mut self.stage.unread,
        };
        for file in unread.into_iter().take(MAX_PARTS) {
            if !noted.iter().any(|it| it.text == file.text) {
                noted.push(file);
            }
        }
        Ok(())
    }

    /// Notes `uv pip` without a virtual environment, which it needs unless `--system`, a variable or the project says otherwise.
    pub fn check_environment(
        &mut self,
        text: &Text<'_>,
        words: &[Argument],
        is_certain: bool,
        session: &Session,
    ) -> Result<()> {
        const VARIABLES: [&str; 4] = [
            "CONDA_PREFIX",
            "UV_PYTHON",
            "UV_SYSTEM_PYTHON",
            "VIRTUAL_ENV",
        ];
        let install = install::read(words, &|name| self.session_value(name, session));
        let Some(install) = install.filter(|it| is_certain && it.needs_environment) else {
            return Ok(());
        };
        let may_find = self.has_environment
            || self.index_from.is_some()
            || session.active.is_some()
            || !self.environment().is_empty()
            || self.copies.iter().any(|it| it.source.contains("venv"));
        let is_set = |name: &str| {
            session.variables.contains_key(name)
                || self.command_value(name, &install, session).is_some()
        };
        let span = words.first().zip(words.last());
        if !may_find
            && self.stage.uv_without_environment.is_empty()
            && !VARIABLES.into_iter().any(is_set)
            && let Some((first, last)) = span
            && !self.configures_uv(text, session)?
        {
            let shown = words.iter().map(|it| it.text.as_str());
            let shown: Vec<&str> = shown.skip_while(|it| *it != "uv").take(3).collect();
            self.stage.uv_without_environment.push(SearchDirectory {
                text: shown.join(" "),
                location: text.location(first.span.start..last.span.end),
            });
        }
        Ok(())
    }

    /// Whether the project in the working directory says how `uv pip` works.
    fn configures_uv(&self, text: &Text<'_>, session: &Session) -> Result<bool> {
        let project = absolute(self.directory(session), "pyproject.toml");
        let project = self.origin(text, &project)?;
        Ok(project.is_some_and(|(_, content)| content.contains(UV_PIP)))
    }

    /// Notes versions that are arguments of the file and not of the stage.
    fn check_arguments(&mut self, text: &Text<'_>, install: &Install, session: &Session) {
        for package in install.packages.iter().filter(|it| !it.known) {
            let Some((_, behind)) = package.text.split_once("=$") else {
                continue;
            };
            let name = behind.trim_start_matches('{');
            let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (name, rest) = name.split_at(end.unwrap_or(name.len()));
            let is_plain = matches!(rest.chars().next(), None | Some('}' | '+' | '.'));
            let is_unscoped = self.unscoped.contains(name) && !session.variables.contains_key(name);
            if is_plain && is_unscoped && self.stage.unscoped_arguments.len() < MAX_PARTS {
                self.stage.unscoped_arguments.push(SearchDirectory {
                    text: name.to_owned(),
                    location: text.location(package.span.clone()),
                });
            }
        }
    }

    /// Whether a file of requirements is expected in the build context: no address, no file of another stage, and no constraint, which the base image may have.
    fn may_be_in_context(&self, file: &Argument, constraint: bool, session: &Session) -> bool {
        let path = absolute(self.directory(session), &file.text);
        !constraint && !file.text.contains("://") && !self.foreign.contains(&path)
    }

    /// Adds the requirements of files that a command names, if they are in the build context and copied to the stage.
    fn files(
        &self,
        text: &Text<'_>,
        install: &Install,
        session: &Session,
        pins: &mut Vec<Pin>,
    ) -> Result<Vec<SearchDirectory>> {
        let mut unread = Vec::new();
        let context = self.recorder.context();
        let mut gathered = Gathered::from_index(install.index.clone());
        let hidden = self.foreign.iter().map(|it| name_of(it).to_owned());
        gathered.hidden = hidden.collect();
        // Projects are separate files; uv accepts them like requirements.
        let is_project = |file: &Argument| {
            [".toml", ".py", ".cfg"]
                .iter()
                .any(|end| file.text.ends_with(end))
        };
        let requirements = install.files.iter();
        for (file, constraint) in requirements.filter(|(file, _)| !is_project(file)) {
            let Some((path, content)) = self.beside(text, session, &file.text)? else {
                if self.may_be_in_context(file, *constraint, session) && unread.len() < MAX_PARTS {
                    unread.push(SearchDirectory {
                        text: file.text.clone(),
                        location: text.location(file.span.clone()),
                    });
                }
                continue;
            };
            let name = self.recorder.context().name(&path);
            let other = self.recorder.context().text(&name, &content)?;
            requirements::gather(&other, &path, context, *constraint, &mut gathered)?;
        }
        unread.append(&mut gathered.unread);
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
                let stages = environment::read(&context.text(&name, &content)?, context)?;
                pins.extend(stages.into_iter().flat_map(|stage| stage.pins));
            }
        }
        Ok(unread)
    }

    /// The packages that a project requires, with their origins: those of its lock file if the command follows it.
    fn project(&self, text: &Text<'_>, project: &Project, session: &Session) -> Result<Vec<Pin>> {
        let directory = absolute(self.directory(session), &project.path);
        let files: &[&str] = match project.locked {
            true => &["uv.lock", "poetry.lock", "pyproject.toml"],
            false => &["pyproject.toml", "setup.cfg", "setup.py"],
        };
        for file in files {
            let Some((path, content)) = self.origin(text, &format!("{directory}/{file}"))? else {
                continue;
            };
            let name = self.recorder.context().name(&path);
            let other = self.recorder.context().text(&name, &content)?;
            let files = |path: &str| self.origin(text, &format!("{directory}/{path}"));
            let context = self.recorder.context();
            let pins = match *file {
                "pyproject.toml" => pyproject::project(&other, project, context, &files),
                "setup.cfg" | "setup.py" => setup::packages(&other, project, context, &files),
                _ => lock::packages(&other),
            };
            // What is wrong with the project itself is told where it is linted.
            let mut pins = pins.unwrap_or_default();
            if *file == "uv.lock" {
                self.configure_locked(text, &directory, &mut pins)?;
            }
            // A pyproject.toml may leave the requirements to the other files.
            if !pins.is_empty() || file.ends_with(".lock") {
                return Ok(pins);
            }
        }
        Ok(Vec::new())
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

/// What the shell takes for a redirection right after a package: `>=2.0`.
fn redirected(text: &Text<'_>, package: &Argument) -> Option<String> {
    let rest = text.text.get(package.span.end..)?;
    let word = rest
        .split([' ', '\t', '\r', '\n', ';', '&', '|', '"', '\''])
        .next()?;
    let version = word.strip_prefix(['<', '>'])?;
    let is_version = version.starts_with(|c: char| c == '=' || c.is_ascii_digit());
    is_version.then(|| word.to_owned())
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
