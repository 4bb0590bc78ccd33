//! Variables of an image with which a package fails: `lint.settings`.

use super::facts::{Pin, Stage, Variable};
use super::faults::SettingFault;
use imgcheck_base::error::Result;
use imgcheck_model::knowledge::{self, OnFirstUse};
use imgcheck_model::settings::{Effect, Installed, Settings};

static TABLE: OnFirstUse<Settings> = OnFirstUse::new();

/// The faulty variables of the stages that become images.
///
/// # Errors
/// The table is broken, which the tests exclude.
pub fn all(stages: &[Stage]) -> Result<Vec<SettingFault>> {
    let shipped = stages.iter().filter(|stage| stage.shipped);
    let set = shipped.flat_map(|stage| stage.env.iter().map(move |it| (stage, it)));
    let set: Vec<_> = set.filter(|(_, variable)| is_known(variable)).collect();
    if set.is_empty() {
        return Ok(Vec::new());
    }
    let settings = TABLE.get_or_make(knowledge::settings)?;
    let faults = set.into_iter().filter_map(|(stage, variable)| {
        let faults = settings.faults_of(&variable.name, &variable.value, stage);
        // What is a mistake in every release is one, whichever of the packages is installed.
        let fault = faults.into_iter().find(|it| it.effect == Effect::Fails)?;
        Some(SettingFault {
            fault,
            location: variable.location.clone(),
        })
    });
    Ok(faults.collect())
}

/// Whether it is the last value, and has no variable that is not known.
fn is_known(variable: &Variable) -> bool {
    !variable.replaced && !variable.value.contains('$')
}

/// What a stage certainly has: a package that it pins, or that its base image claims.
impl Installed for Stage {
    fn component(&self, name: &str) -> Option<(&str, Option<&str>)> {
        let is_installed = |it: &&Pin| {
            it.component == name && !(it.constraint || it.conditional || it.replaced || it.present)
        };
        let pinned = self
            .pins
            .iter()
            .filter(is_installed)
            .filter_map(|it| it.version.as_deref());
        let claims = self.base.iter().flat_map(|it| &it.claims);
        let claimed = claims
            .filter(|it| it.subject == name)
            .map(|it| it.version.as_str());
        let is_version = |it: &&str| it.matches('.').count() > 0;
        pinned
            .chain(claimed)
            .find(is_version)
            .map(|version| (version, Some("cuda")))
    }

    fn distribution(&self, _: &str) -> Option<&str> {
        None
    }

    fn may_be_module(&self, _: &str, _: &str) -> bool {
        true
    }

    fn file_in_place(&self, _: &str) -> Option<&str> {
        None
    }
}
