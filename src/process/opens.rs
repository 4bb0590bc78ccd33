//! What loaded objects open at first use, followed until nothing new comes.

use super::knowledge::{Knowledge, fits};
use super::plan::{Plan, Use};
use super::python::{Installed, Setting, fill};
use super::run::{Asked, Cause, Fall, Request, Run, is_not_found};
use crate::image::Node;
use crate::loader::{Fault, Mode, Object, ObjectId, Process};

/// Opens all that the objects of a process open at first use.
pub(super) fn follow(run: &mut Run, knowledge: &Knowledge, setting: &Setting) {
    let mut next = 0;
    while next < run.objects().len() {
        for (plan, row) in edges(&run.objects()[next], knowledge) {
            let Some(opener) = Opener::of(run, next, plan, setting) else {
                continue;
            };
            if opener.does(row) {
                open(run, knowledge, &opener, row);
            }
        }
        next += 1;
    }
    // Frameworks whose wheels serve CPUs and GPUs alike miss CUDA in an image that is meant for CPUs, and nobody else does.
    if !is_for_gpus(run) {
        run.falls
            .retain(|fall| fall.cause.when != "use" || !is_not_found(&fall.failure));
    }
}

/// Whether the image has any copy of the CUDA runtime, of cuBLAS or of cuDNN, or asks the container toolkit for GPUs.
fn is_for_gpus(run: &Run) -> bool {
    let Some(system) = run.process.as_ref().map(Process::system) else {
        return false;
    };
    let devices = system.environment.get("NVIDIA_VISIBLE_DEVICES");
    let files = system.root.files().filter_map(Node::elf);
    let mut libraries = files.filter_map(|elf| elf.identity.as_ref());
    devices.is_some_and(|devices| !matches!(devices.as_str(), "" | "void" | "none"))
        || libraries.any(|it| {
            let library = it.library.as_str();
            matches!(library, "cuda-runtime" | "cublas" | "cublaslt" | "cudnn")
        })
}

fn edges<'k>(object: &Object, knowledge: &'k Knowledge) -> Vec<(&'k Plan, &'k Use)> {
    let file = object.node.name();
    let soname = object.elf.soname.as_deref();
    let mut edges = knowledge.uses(soname.unwrap_or(file));
    if soname.is_some_and(|soname| soname != file) {
        for edge in knowledge.uses(file) {
            if !edges.iter().any(|known| std::ptr::eq(known.1, edge.1)) {
                edges.push(edge);
            }
        }
    }
    edges
}

/// Who opens, and what fills the placeholders.
struct Opener {
    id: ObjectId,
    path: String,
    package: String,
    /// Release of the package; of the object itself where a library opens.
    version: String,
    installed: Installed,
}

impl Opener {
    /// `None` for a package's edge where that package is not installed.
    fn of(run: &Run, id: ObjectId, plan: &Plan, setting: &Setting) -> Option<Opener> {
        let object = &run.objects()[id];
        let is_library = plan.distributions.is_empty();
        let installed = setting.installed.get(&plan.package);
        let (version, installed) = match installed {
            Some(installed) => (installed.version.clone(), installed.clone()),
            None if is_library => (version_of(object), Installed::default()),
            None => return None,
        };
        Some(Opener {
            id,
            path: object.path.clone(),
            package: run.causes[id].package.clone(),
            version,
            installed,
        })
    }

    fn does(&self, row: &Use) -> bool {
        fits(&self.version, &row.releases) && fits(&self.installed.cuda, &row.cuda)
    }

    /// A name with its placeholders replaced; `None` if one of them is not known.
    fn name(&self, pattern: &str, part: &str) -> Option<String> {
        let mut name = fill(&pattern.replace("{part}", part), &self.installed)?;
        let numbers: Vec<&str> = self.version.split('.').collect();
        for (placeholder, count) in [("{version}", 3), ("{minor}", 2), ("{major}", 1)] {
            if name.contains(placeholder) {
                name = name.replace(placeholder, &numbers.get(..count)?.join("."));
            }
        }
        Some(name)
    }
}

/// What the object's bytes tell of its release, else the number of its SONAME.
fn version_of(object: &Object) -> String {
    let identity = object.elf.identity.as_ref();
    let mut readings = identity.into_iter().flat_map(|identity| &identity.readings);
    if let Some(reading) = readings.find(|reading| reading.fact == "version") {
        return reading.value.clone();
    }
    let soname = object.elf.soname.as_deref().unwrap_or_default();
    let number = soname.split_once(".so.").map(|(_, number)| number);
    number.unwrap_or_default().to_owned()
}

fn open(run: &mut Run, knowledge: &Knowledge, opener: &Opener, row: &Use) {
    let once = [String::new()];
    let parts = match row.parts.is_empty() {
        true => &once[..],
        false => &row.parts,
    };
    for part in parts {
        let names = row.open.iter().filter_map(|name| opener.name(name, part));
        let names: Vec<String> = names.collect();
        open_first(run, knowledge, opener, row, &names);
    }
}

/// Opens the first of several names that is there. What stops it is told of the one that was there and failed, else of the first.
fn open_first(run: &mut Run, knowledge: &Knowledge, opener: &Opener, row: &Use, names: &[String]) {
    let cause = Cause {
        package: opener.package.clone(),
        when: "use",
        optional: row.optional || row.plugin,
        without: row.without.clone(),
    };
    let of_driver = names.iter().find(|name| knowledge.is_host_provided(name));
    run.driver.extend(of_driver.map(|name| Asked {
        cause: cause.clone(),
        opener: opener.id,
        library: name.clone(),
    }));
    let mode = Mode {
        global: row.global,
        lazy: row.lazy,
    };
    let mut told = None;
    for name in names {
        let request = Request {
            name,
            caller: opener.id,
            mode,
        };
        match run.open(&request, &cause) {
            Ok(_) => return,
            Err(failure) => {
                let better = !is_not_found(&failure);
                if told.is_none() || better {
                    told = Some((name, failure));
                }
                if better {
                    break;
                }
            }
        }
    }
    let Some((request, failure)) = told else {
        return;
    };
    let only_missing = failure
        .faults
        .iter()
        .all(|fault| matches!(fault, Fault::Missing { .. }));
    let may_be_absent = request.contains('/') || knowledge.is_host_provided(request);
    if (may_be_absent && is_not_found(&failure)) || (row.plugin && only_missing) {
        return;
    }
    // What needs a library that could not be opened before fails for the same reason.
    if run.has_failed(&failure) {
        return;
    }
    let alternatives = names.iter().filter(|name| *name != request).cloned();
    run.falls.push(Fall {
        cause,
        opener: opener.path.clone(),
        optional: row.optional || row.plugin,
        shown: row.shown.clone(),
        without: match (row.plugin, row.without.is_empty()) {
            (true, true) => "feature".to_owned(),
            _ => row.without.clone(),
        },
        alternatives: alternatives.collect(),
        request: request.clone(),
        failure,
    });
}
