//! Libraries that loaded objects open at first use, and those that these open in turn.

use super::cause::{When, Without};
use super::installed::{InstalledPackage, PythonSetup};
use super::knowledge::{Knowledge, fits};
use super::plan::{FirstUse, LoadPlan};
use super::playback::{Cause, DriverRequest, LoadFailure, OpenRequest, Playback, is_not_found};
use imgcheck_base::error::Result;
use imgcheck_image::Node;
use imgcheck_loader::{Fault, Object, ObjectId, OpenMode, Process};

/// Opens everything that the objects of a process open at first use.
///
/// # Errors
/// A limit is exceeded, or the request was cancelled.
pub(super) fn follow(
    playback: &mut Playback,
    knowledge: &Knowledge,
    setup: &PythonSetup,
) -> Result<()> {
    let mut next = 0;
    while next < playback.objects().len() {
        for (plan, row) in uses_of(&playback.objects()[next], knowledge) {
            if let Some(opener) = Opener::of(playback, next, plan, setup)
                && opener.does(row)
            {
                open(playback, knowledge, &opener, row)?;
            }
        }
        next += 1;
    }
    // Some frameworks have one wheel for CPUs and GPUs; in an image for CPUs, nobody misses its CUDA libraries.
    if !is_for_gpus(playback) {
        let only_gpus =
            |it: &mut LoadFailure| it.cause.when == When::Use && is_not_found(&it.failure);
        playback.gpu_failures = playback.failures.extract_if(.., only_gpus).collect();
    }
    Ok(())
}

/// Whether the image has a copy of the CUDA runtime, cuBLAS or cuDNN, or requests GPUs from NVIDIA's container toolkit. What auditwheel
/// bundles into a wheel (`PACKAGE.libs`) does not count: every installation of the package has it.
fn is_for_gpus(playback: &Playback) -> bool {
    let Some(system) = playback.process.as_ref().map(Process::system) else {
        return false;
    };
    let devices = system.environment.get("NVIDIA_VISIBLE_DEVICES");
    let files = system.root.files().filter(|file| !is_bundled(file));
    let mut libraries = files.filter_map(|file| file.elf()?.identity.as_ref());
    devices.is_some_and(|devices| !matches!(devices.as_str(), "" | "void" | "none"))
        || libraries.any(|it| {
            let library = it.library.as_str();
            matches!(library, "cuda-runtime" | "cublas" | "cublaslt" | "cudnn")
        })
}

fn is_bundled(file: &Node) -> bool {
    file.parent().name().ends_with(".libs")
}

fn uses_of<'k>(object: &Object, knowledge: &'k Knowledge) -> Vec<(&'k LoadPlan, &'k FirstUse)> {
    let file = object.node.name();
    let soname = object.elf.soname.as_deref();
    let mut uses = knowledge.uses(soname.unwrap_or(file));
    if soname.is_some_and(|soname| soname != file) {
        for row in knowledge.uses(file) {
            if !uses.iter().any(|known| std::ptr::eq(known.1, row.1)) {
                uses.push(row);
            }
        }
    }
    uses
}

/// An object that opens others, and the values of placeholders in their names.
struct Opener {
    id: ObjectId,
    path: String,
    package: String,
    /// Release of the package; of the object itself if it is a library without a package.
    version: String,
    installed: InstalledPackage,
}

impl Opener {
    /// `None` if the package of the plan is not installed.
    fn of(
        playback: &Playback,
        id: ObjectId,
        plan: &LoadPlan,
        setup: &PythonSetup,
    ) -> Option<Opener> {
        let object = &playback.objects()[id];
        let is_library = plan.distributions.is_empty();
        let installed = setup.installed.get(&plan.package);
        let (version, installed) = match installed {
            Some(installed) => (installed.version.clone(), installed.clone()),
            None if is_library => (version_of(object), InstalledPackage::default()),
            None => return None,
        };
        Some(Opener {
            id,
            path: object.path.clone(),
            package: playback.causes[id].package.clone(),
            version,
            installed,
        })
    }

    fn does(&self, row: &FirstUse) -> bool {
        fits(&self.version, &row.releases) && fits(&self.installed.cuda, &row.cuda)
    }

    /// Replaces the placeholders of a name; `None` if the value of one is unknown.
    fn name(&self, pattern: &str, part: &str) -> Option<String> {
        let mut name = self.installed.fill(&pattern.replace("{part}", part))?;
        let numbers: Vec<&str> = self.version.split('.').collect();
        for (placeholder, count) in [("{version}", 3), ("{minor}", 2), ("{major}", 1)] {
            if name.contains(placeholder) {
                name = name.replace(placeholder, &numbers.get(..count)?.join("."));
            }
        }
        Some(name)
    }
}

/// The version that was read from the object's bytes, else the number in its SONAME.
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

fn open(
    playback: &mut Playback,
    knowledge: &Knowledge,
    opener: &Opener,
    row: &FirstUse,
) -> Result<()> {
    let once = [String::new()];
    let parts = match row.parts.is_empty() {
        true => &once[..],
        false => &row.parts,
    };
    for part in parts {
        let names = row.open.iter().filter_map(|name| opener.name(name, part));
        let names: Vec<String> = names.collect();
        open_first(playback, knowledge, opener, row, &names)?;
    }
    Ok(())
}

/// Opens the first of several names that exists. If none can be opened, the failure of a file that exists is noted, else that of
/// the first name.
fn open_first(
    playback: &mut Playback,
    knowledge: &Knowledge,
    opener: &Opener,
    row: &FirstUse,
    names: &[String],
) -> Result<()> {
    let cause = Cause {
        package: opener.package.clone(),
        when: When::Use,
        optional: row.optional || row.plugin,
        without: row.without,
    };
    let of_driver = names.iter().find(|name| knowledge.is_host_provided(name));
    playback.driver.extend(of_driver.map(|name| DriverRequest {
        cause: cause.clone(),
        opener: opener.id,
        library: name.clone(),
    }));
    let mode = OpenMode {
        global: row.global,
        lazy: row.lazy,
    };
    let mut noted = None;
    for name in names {
        let request = OpenRequest {
            name,
            caller: opener.id,
            mode,
        };
        match playback.open(&request, &cause)? {
            Ok(_) => return Ok(()),
            Err(failure) => {
                let exists = !is_not_found(&failure);
                if noted.is_none() || exists {
                    noted = Some((name, failure));
                }
                if exists {
                    break;
                }
            }
        }
    }
    let Some((request, failure)) = noted else {
        return Ok(());
    };
    let is_missing = |fault: &Fault| matches!(fault, Fault::Missing { .. });
    let may_be_absent = request.contains('/') || knowledge.is_host_provided(request);
    if (may_be_absent && is_not_found(&failure))
        || (row.plugin && failure.faults.iter().all(is_missing))
        // An object that needs a library which failed before fails for the same reason.
        || playback.has_failed(&failure)
    {
        return Ok(());
    }
    let alternatives = names.iter().filter(|name| *name != request).cloned();
    playback.failures.push(LoadFailure {
        opener: opener.path.clone(),
        shown: row.shown.clone(),
        without: match (row.plugin, row.without) {
            (true, Without::Unknown) => Without::Feature,
            (_, without) => without,
        },
        breaks: row.breaks.clone(),
        alternatives: alternatives.collect(),
        ..LoadFailure::new(cause, request, failure)
    });
    Ok(())
}
