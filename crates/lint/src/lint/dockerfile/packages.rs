//! The packages that a command of a stage installs or removes.

use super::super::environment;
use super::super::facts::Pin;
use super::super::install::{self, Argument, Install, Project};
use super::super::lock;
use super::super::pin;
use super::super::pyproject;
use super::super::requirements::{self, Gathered};
use super::super::setup;
use super::super::stage::MAX_PINS;
use super::super::text::Text;
use super::copies::{absolute, place};
use super::session::Session;
use super::state::State;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_base::version::requirement::normalized;

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
        let Some(install) = found else {
            return Ok(());
        };
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
        let variables = session.assigned(&install.variables);
        let sets = |name: &str| self.session_value(name, session).is_some();
        let no_build_isolation = install.no_build_isolation
            || sets("PIP_NO_BUILD_ISOLATION")
            || sets("UV_NO_BUILD_ISOLATION");
        for mut pin in pins {
            pin.environment = place.clone();
            pin.conditional |= conditional || session.conditional;
            pin.alone = install.alone;
            pin.no_build_isolation = no_build_isolation;
            if pin.manager == "pip" {
                pin.variables = variables.clone();
                pin.build_options = install.build_options.clone();
            }
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
        let hidden = self.foreign.iter().map(|it| name_of(it).to_owned());
        gathered.hidden = hidden.collect();
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
                let other = self.recorder.context().text(&name, &content)?;
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
                let stages = environment::read(&context.text(&name, &content)?, context)?;
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
            false => &["pyproject.toml", "setup.cfg", "setup.py"],
        };
        for file in files {
            let Some((path, content)) = self.origin(text, &format!("{directory}/{file}"))? else {
                continue;
            };
            let name = self.recorder.context().name(&path);
            let other = self.recorder.context().text(&name, &content)?;
            let pins = match *file {
                "pyproject.toml" => pyproject::project(&other, project),
                "setup.cfg" | "setup.py" => {
                    let files = |path: &str| self.origin(text, &format!("{directory}/{path}"));
                    setup::packages(&other, project, self.recorder.context(), &files)
                }
                _ => lock::packages(&other),
            };
            // What is wrong with the project itself is told where it is linted.
            let pins = pins.unwrap_or_default();
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
