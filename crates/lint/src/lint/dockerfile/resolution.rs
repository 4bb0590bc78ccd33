//! What decides which releases a command installs, besides its requirements: constraints, overrides of uv, and dates.

use super::super::facts::Pin;
use super::super::install::{Argument, Install};
use super::super::pyproject;
use super::super::requirements::{self, Gathered};
use super::super::text::Text;
use super::session::Session;
use super::state::State;
use imgcheck_base::error::Result;

impl State<'_> {
    /// Adds the constraints and overrides that variables name.
    pub fn add_files_of_variables(
        &self,
        install: &mut Install,
        words: &[Argument],
        session: &Session,
    ) {
        let word = words.first().cloned().unwrap_or_default();
        let files = |variable: &str, install: &Install| {
            let value = self.command_value(variable, install, session);
            let value = value.unwrap_or_default();
            let files = value.split_whitespace().map(|file| Argument {
                text: file.to_owned(),
                ..word.clone()
            });
            files.collect::<Vec<_>>()
        };
        let constraints = match install.uv {
            true => files("UV_CONSTRAINT", install),
            false => files("PIP_CONSTRAINT", install),
        };
        let constraints = constraints.into_iter().map(|file| (file, true));
        install.files.extend(constraints);
        if install.uv {
            install.overrides.extend(files("UV_OVERRIDE", install));
        }
    }

    /// The value of a variable for a command that installs: its own, or that of the session.
    pub fn command_value(
        &self,
        name: &str,
        install: &Install,
        session: &Session,
    ) -> Option<String> {
        let own = install.variables.iter().find(|(it, _)| it == name);
        let own = own.map(|(_, value)| value.clone());
        own.or_else(|| self.session_value(name, session))
    }

    /// Whether a package without a version may not be the newest release: something leaves newer ones out, or a constraint cannot be read.
    pub fn may_be_older(
        &self,
        text: &Text<'_>,
        install: &Install,
        session: &Session,
    ) -> Result<bool> {
        const VARIABLES: [&str; 2] = ["UV_EXCLUDE_NEWER", "PIP_UPLOADED_PRIOR_TO"];
        let is_set = |name: &str| self.command_value(name, install, session).is_some();
        if install.may_be_older || VARIABLES.into_iter().any(is_set) {
            return Ok(true);
        }
        for (file, _) in install.files.iter().filter(|(_, constraint)| *constraint) {
            if self.beside(text, session, &file.text)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes which packages uv takes as a file of overrides says. Of a file that is not in the build context, that is unknown.
    pub fn override_pins(
        &self,
        text: &Text<'_>,
        install: &Install,
        session: &Session,
        pins: &mut [Pin],
    ) -> Result<()> {
        let context = self.recorder.context();
        for file in &install.overrides {
            let Some((path, content)) = self.beside(text, session, &file.text)? else {
                pins.iter_mut().for_each(|pin| pin.conditional = true);
                continue;
            };
            let other = context.name(&path);
            let other = context.text(&other, &content)?;
            let mut gathered = Gathered::default();
            requirements::gather(&other, &path, context, false, &mut gathered)?;
            let names: Vec<String> = gathered.pins.into_iter().map(|it| it.name).collect();
            pins.iter_mut().for_each(|pin| pin.override_by(&names));
        }
        Ok(())
    }

    /// Notes what the settings of a project say about the packages of its lock file.
    pub fn configure_locked(
        &self,
        text: &Text<'_>,
        directory: &str,
        pins: &mut [Pin],
    ) -> Result<()> {
        let project = self.origin(text, &format!("{directory}/pyproject.toml"))?;
        if let Some((path, content)) = project {
            let context = self.recorder.context();
            let name = context.name(&path);
            // What is wrong with the project itself is told where it is linted.
            let _ = pyproject::configure(&context.text(&name, &content)?, pins);
        }
        Ok(())
    }
}
