//! Modules that images leave out, without which a package fails only at a certain use.
//!
//! Whoever removes such a module may not need that use. So it is no failure of the package, and only certain absence counts.

use imgcheck_base::version::marker;
use imgcheck_base::version::requirement::{Requirement, normalized};
use imgcheck_python::run::Interpreter;

use super::Run;
use super::facts::{AbsenceReason, ImportFailure};
use super::files::ImageFiles;
use super::knowledge::LeftOut;
use crate::stack::Distribution;

impl<'r> Run<'_, '_, '_, 'r> {
    /// What fails without the module of a row; `None` if it is there, may be there, or need not be.
    pub(super) fn left_out(
        &self,
        row: &LeftOut,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
    ) -> Option<ImportFailure> {
        let explainer = self.explainer(&row.package, false);
        let mut installed = row.distributions.iter();
        let distribution = installed.find_map(|it| explainer.installed(it))?;
        let mut others = row.without.iter();
        let is_replaced = others.any(|it| explainer.installed(it).is_some());
        if is_replaced || !self.is_beside(row, distribution) {
            return None;
        }
        let requirement = row.requires.is_empty().then(String::new);
        let requirement = requirement.or_else(|| self.requirement(row, distribution))?;
        let absence = interpreter.absence(&row.module)?;
        let failure = explainer.outcome(interpreter, &absence)?;
        let failure = ImportFailure {
            outcome: row.outcome.clone(),
            distribution: distribution.name.clone(),
            requirement,
            ..failure
        };
        Some(match row.requires.is_empty() {
            false => failure,
            true => ImportFailure {
                missing: distribution.name.clone(),
                version: distribution.version.clone(),
                reason: AbsenceReason::FilesMissing,
                elsewhere: String::new(),
                ..failure
            },
        })
    }

    /// Whether the file is there without which nothing is known.
    fn is_beside(&self, row: &LeftOut, distribution: &Distribution) -> bool {
        let path = row.used_by.as_ref();
        path.is_none_or(|it| {
            let path = format!("{}/{it}", distribution.site);
            self.pythons.root.resolve(&path).is_ok()
        })
    }

    /// The requirement of a distribution on one that has the module, if it applies to this Python.
    fn requirement(&self, row: &LeftOut, distribution: &Distribution) -> Option<String> {
        let environment = marker::Environment {
            python: &self.environment.release,
            full_python: None,
            machine: self.pythons.machine,
        };
        let mut all = distribution.requires.iter();
        let found = all.find(|text| {
            let holds = |it| marker::holds(it, &environment) == Ok(Some(true));
            Requirement::parse(text).is_ok_and(|it| {
                row.requires.contains(&normalized(it.name)) && it.marker.is_none_or(holds)
            })
        });
        found.cloned()
    }
}
