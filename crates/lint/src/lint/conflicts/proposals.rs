//! Releases that are proposed for several packages of one environment, so that they can be installed together.

use super::framework::Framework;
use crate::lint::faults::PinConflict;
use crate::lint::pin_knowledge::PinKnowledge;
use crate::lint::pin_tables::{Requirement, is_in};

/// The maximum number of releases that are proposed for a package.
pub const MAX_PROPOSALS: usize = 3;

/// A partner of the framework, and the releases that it may have, newest first.
struct Choice {
    component: String,
    releases: Vec<String>,
}

/// Leaves those of the proposed releases that fit the other packages beside the framework, and what is proposed first for them. If none
/// fits, which the tables may not know, all are left.
pub fn agree(conflicts: &mut [PinConflict], framework: &Framework<'_>, knowledge: &PinKnowledge) {
    let mut choices = choices(conflicts, framework);
    // Packages that require others come first: there is less choice for them.
    let mut order: Vec<usize> = (0..conflicts.len()).collect();
    order.sort_by_key(|at| !requires_partners(&conflicts[*at].pin.component, knowledge));
    for at in order {
        let component = &conflicts[at].pin.component;
        let fits = |release: &&String| {
            let mut others = choices.iter().filter(|it| it.component != *component);
            others.all(|other| {
                let mut releases = other.releases.iter();
                releases.any(|it| {
                    accepts((component, release), (&other.component, it), knowledge)
                        && accepts((&other.component, it), (component, release), knowledge)
                })
            })
        };
        let fitting: Vec<String> = conflicts[at].fitting.iter().filter(fits).cloned().collect();
        if let Some(first) = fitting.first() {
            let chosen = choices.iter_mut().filter(|it| it.component == *component);
            chosen.for_each(|it| it.releases = vec![first.clone()]);
            conflicts[at].fitting = fitting;
        }
    }
    conflicts
        .iter_mut()
        .for_each(|it| it.fitting.truncate(MAX_PROPOSALS));
}

/// The releases of each package beside the framework: what is proposed, or what is requested.
fn choices(conflicts: &[PinConflict], framework: &Framework<'_>) -> Vec<Choice> {
    let proposed = conflicts.iter().map(|it| Choice {
        component: it.pin.component.clone(),
        releases: it.fitting.clone(),
    });
    let is_kept = |component: &str| conflicts.iter().all(|it| it.pin.component != component);
    let requested = framework.others().filter(|it| is_kept(&it.component));
    let requested = requested.filter_map(|it| {
        Some(Choice {
            component: it.component.clone(),
            releases: vec![it.version.clone()?],
        })
    });
    proposed.chain(requested).collect()
}

fn requires_partners(component: &str, knowledge: &PinKnowledge) -> bool {
    let mut rows = rows(component, knowledge).iter();
    rows.any(|it| !it.partners.is_empty())
}

/// Whether a release of a package does not exclude a release of another.
fn accepts(
    (component, release): (&str, &str),
    (other, version): (&str, &str),
    knowledge: &PinKnowledge,
) -> bool {
    let mut rows = rows(component, knowledge).iter();
    let row = rows.find(|it| it.version == release);
    let specifier = row.and_then(|it| it.partners.get(other));
    specifier.is_none_or(|it| is_in(version, it))
}

fn rows<'k>(component: &str, knowledge: &'k PinKnowledge) -> &'k [Requirement] {
    let mut partners = knowledge.partners.partners.iter();
    let partner = partners.find(|it| it.component == component);
    partner.map_or(&[], |it| knowledge.requirements(it))
}
