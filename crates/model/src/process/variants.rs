//! Packages that have the same files several times, each time for a different release of FFmpeg, PyTorch or CUDA, and load those that
//! fit.

use std::collections::HashSet;

use super::facts::Tried;
use super::installed::InstalledPackage;
use super::interpreter::{ImportStop, Interpreter};
use super::plan::{LoadPlan, Step, Variants};
use super::playback::LoadFailure;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_loader::{Failure, Fault};

/// What became of one variant.
#[derive(Default)]
struct Attempt<'s> {
    /// The number of its files that were loaded before the first failure.
    loaded: usize,
    /// Each file that cannot be loaded. What follows from the failure of a file before it is left out.
    failures: Vec<(String, Failure<'s>)>,
}

impl Attempt<'_> {
    /// How far it came: a variant for what the image does not have misses a library at once.
    fn reach(&self) -> (usize, bool) {
        let first = self.failures.first();
        let fault = first.and_then(|(_, failure)| failure.faults.first());
        let misses_library = matches!(fault, Some(Fault::Missing { .. }));
        (self.loaded, !misses_library)
    }
}

impl<'s> Interpreter<'s, '_> {
    /// Imports the modules of the first variant that can be imported. If none can, the failures of the one that came furthest are noted:
    /// it is the one for what the image has.
    pub(super) fn import_any(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
        variants: &Variants,
    ) -> Result<(), ImportStop> {
        let mut attempts = Vec::new();
        for part in &variants.parts {
            match self.try_variant(plan, installed, &variants.modules, part)? {
                Some(attempt) if attempt.failures.is_empty() => return Ok(()),
                Some(attempt) => attempts.push(attempt),
                None => {}
            }
        }
        // The last of the greatest is the first of them in the order of the package.
        let furthest = (0..attempts.len())
            .rev()
            .max_by_key(|&at| attempts[at].reach());
        let Some(furthest) = furthest else {
            return Ok(());
        };
        let best = attempts.remove(furthest);
        let mut tried: Vec<Tried> = attempts.iter().filter_map(|it| self.tried(it)).collect();
        for (path, failure) in best.failures {
            self.playback.failures.push(LoadFailure {
                shown: step.shown.clone(),
                tried: std::mem::take(&mut tried),
                ..LoadFailure::new(self.cause(plan), &path, failure)
            });
        }
        match step.optional {
            true => Ok(()),
            false => Err(ImportStop::Failed),
        }
    }

    /// Loads the files of one variant, those after a failure too, so that it hides no other; `None` if a file is not there.
    fn try_variant(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        modules: &[String],
        part: &str,
    ) -> Result<Option<Attempt<'s>>> {
        let mut attempt = Attempt::default();
        let mut known = HashSet::new();
        for module in modules {
            let name = module.replace("{part}", part);
            let site = self.setup.site_of(self.root, installed, &name);
            let path = site.and_then(|site| {
                self.setup
                    .extension_module(self.root, &format!("{site}/{name}"))
            });
            let Some(path) = path else {
                return Ok(None);
            };
            match self.open(plan, &path, false)? {
                Ok(()) if attempt.failures.is_empty() => attempt.loaded += 1,
                Ok(()) => {}
                Err(mut failure) => {
                    let is_new =
                        |fault: &Fault| missing(fault).is_none_or(|it| !known.contains(it));
                    failure.faults.retain(is_new);
                    known.insert(name_of(&path).to_owned());
                    known.extend(failure.faults.iter().filter_map(missing).map(str::to_owned));
                    if !failure.faults.is_empty() {
                        attempt.failures.push((path, failure));
                    }
                }
            }
        }
        Ok(Some(attempt))
    }

    fn tried(&self, attempt: &Attempt) -> Option<Tried> {
        let process = self.playback.process.as_ref()?;
        let (path, failure) = attempt.failures.first()?;
        Some(Tried {
            file: name_of(path).to_owned(),
            message: failure.faults.first()?.message(process.system().libc),
        })
    }
}

fn missing(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Missing { name, .. } => Some(name),
        _ => None,
    }
}

/// How many names of files are listed.
const LISTED: usize = 10;

/// The libraries in the directory of an absent one, or of an absent extension module, whose names differ from its name only in digits:
/// `libx_cuda129.so` for `libx_cuda132.so`. None if its name has no digits.
pub(super) fn variants_of(root: &RootFilesystem, path: &str) -> Vec<String> {
    let name_of_module = |file: &str| file.split('.').next().unwrap_or_default().to_owned();
    let stem = |file: &str| without_digits(&name_of_module(file));
    let Some((directory, file)) = path.rsplit_once('/') else {
        return Vec::new();
    };
    let wanted = stem(file);
    if name_of_module(file) == wanted {
        return Vec::new();
    }
    let names = root.read_dir(directory).map(Node::name);
    let is_variant = |name: &&str| name.ends_with(".so") && stem(name) == wanted;
    let mut variants: Vec<String> = names.filter(is_variant).map(str::to_owned).collect();
    variants.sort_unstable();
    variants.truncate(LISTED);
    variants
}

/// A name without its numbers, which variants have in common.
pub(super) fn without_digits(name: &str) -> String {
    name.chars().filter(|it| !it.is_ascii_digit()).collect()
}
