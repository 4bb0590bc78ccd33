//! Faults that several processes have in common: one cause, one finding.

use std::collections::HashMap;

use super::cause::When;
use super::facts::{FaultContext, LoaderFacts};

/// Names in each fault that a process shares with others the first of these processes, and in the first one all of them.
pub(super) fn mark(facts: &mut LoaderFacts) {
    for missing in [&mut facts.missing, &mut facts.missing_on_gpus] {
        mark_among(
            missing,
            |it| &mut it.context,
            |it| {
                // Each program needs a missing library itself; the cause is that it is missing.
                let by = match it.context.when {
                    When::Start => "",
                    _ => &it.needed_by,
                };
                [&it.library, by, &it.broken, &it.after_ldconfig].join("\0")
            },
        );
    }
    mark_among(
        &mut facts.unmet_versions,
        |it| &mut it.context,
        |it| [it.object.path.as_str(), &it.provider.path, &it.version].join("\0"),
    );
    mark_among(
        &mut facts.undefined_symbols,
        |it| &mut it.context,
        |it| {
            let provider = it.provider.as_ref().map(|it| it.path.as_str());
            [&it.object.path, provider.unwrap_or_default()].join("\0")
        },
    );
    mark_among(
        &mut facts.executable_stacks,
        |it| &mut it.context,
        |it| it.object.path.clone(),
    );
    mark_among(
        &mut facts.host_faults,
        |it| &mut it.context,
        |it| [it.library.as_str(), &it.path, &it.processor].join("\0"),
    );
}

fn mark_among<T>(
    faults: &mut [T],
    context: impl Fn(&mut T) -> &mut FaultContext,
    cause: impl Fn(&T) -> String,
) {
    let mut groups: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, fault) in faults.iter_mut().enumerate() {
        let cause = cause(fault);
        let place = context(fault);
        let package = place.package.clone();
        let same = (package, place.when, place.without, place.optional, cause);
        groups.entry(same).or_default().push(index);
    }
    for group in groups.into_values() {
        let mut processes: Vec<String> = Vec::new();
        for index in &group {
            let name = &context(&mut faults[*index]).process;
            if !processes.contains(name) {
                processes.push(name.clone());
            }
        }
        if processes.len() < 2 {
            continue;
        }
        let first = processes[0].clone();
        for index in group {
            let place = context(&mut faults[index]);
            place.processes = match place.process == first {
                true => processes.clone(),
                false => vec![first.clone()],
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::facts::Missing;

    #[test]
    fn the_first_of_the_same_faults_names_the_other_processes() {
        let missing = |process: &str, library: &str, needed_by: &str, when: When| Missing {
            context: FaultContext {
                process: process.to_owned(),
                package: if when == When::Start { "" } else { "torch" }.to_owned(),
                when,
                ..FaultContext::default()
            },
            library: library.to_owned(),
            needed_by: needed_by.to_owned(),
            ..Missing::default()
        };
        let mut facts = LoaderFacts {
            missing: vec![
                missing("python", "liba.so", "/t.so", When::Import),
                missing("python (/b)", "liba.so", "/t.so", When::Import),
                missing("python (/b)", "liba.so", "/b/t.so", When::Import),
                missing("/x", "libz.so", "/x", When::Start),
                missing("/y", "libz.so", "/y", When::Start),
                missing("/y", "libq.so", "/y", When::Start),
            ],
            ..LoaderFacts::default()
        };
        mark(&mut facts);
        let processes = facts
            .missing
            .iter()
            .map(|it| it.context.processes.join(" "));
        assert_eq!(
            processes.collect::<Vec<_>>(),
            ["python python (/b)", "python", "", "/x /y", "/x", ""]
        );
    }
}
