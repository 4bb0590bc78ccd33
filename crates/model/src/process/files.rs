//! Steps of an import that load files: extension modules, and libraries that ctypes opens.

use globset::Glob;

use super::installed::InstalledPackage;
use super::interpreter::{ImportStop, Interpreter};
use super::knowledge::fits;
use super::plan::{FileChoice, LoadPlan, OnFailure, OnMissing, Preload, Step};
use super::playback::OpenRequest;
use imgcheck_base::error::Result;

use imgcheck_loader::{Failure, ObjectId, OpenMode};

/// Why a list of files is not loaded.
enum ListFailure<'s> {
    /// No file matches this pattern.
    NotFound(String),
    /// The file at this path cannot be loaded.
    NotLoaded(String, Failure<'s>),
}

impl<'s> Interpreter<'s, '_> {
    /// Imports an extension module by directory and name. A module without a file is skipped: it is built in, or written in Python.
    pub(super) fn import_module(
        &mut self,
        plan: &LoadPlan,
        step: &Step,
        module: Option<(String, &String)>,
    ) -> Result<(), ImportStop> {
        let Some((site, name)) = module else {
            return Ok(());
        };
        let Some(path) = self
            .setup
            .extension_module(self.root, &format!("{site}/{name}"))
        else {
            return Ok(());
        };
        if !self.modules.insert(path.clone()) {
            return Ok(());
        }
        self.begin_module(step, &path);
        let request = OpenRequest {
            name: &path,
            caller: 0,
            mode: OpenMode {
                global: step.global,
                ..OpenMode::default()
            },
        };
        let opened = self.playback.open(&request, &self.cause(plan))?;
        if let (Ok(id), "_ctypes") = (&opened, name.as_str()) {
            self.ctypes = *id;
        }
        self.settle(plan, step, &path, opened.map(drop))
    }

    /// Opens files of the package by path; files that this build of the package does not have are skipped.
    pub(super) fn open_files(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
        path: &str,
    ) -> Result<(), ImportStop> {
        let Some(path) = installed.fill(path) else {
            return Ok(());
        };
        let Some(site) = self.setup.site_of(self.root, installed, &path) else {
            return Ok(());
        };
        for file in self.matching(&format!("{site}/{path}")) {
            let mut opened = self.open(plan, &file, step.global)?;
            if let (Err(failure), Some(fallback)) = (&opened, &step.on_failure)
                && self.helps(plan, fallback, failure)
            {
                match self.preload(plan, installed, &fallback.preload, false)? {
                    Ok(()) => opened = self.open(plan, &file, step.global)?,
                    Err(ListFailure::NotFound(pattern)) => {
                        let shown = fallback.shown.replace("{file}", &pattern);
                        let step = Step {
                            shown,
                            ..step.clone()
                        };
                        return self.settle(plan, &step, &file, opened);
                    }
                    Err(ListFailure::NotLoaded(path, failure)) => {
                        return self.settle(plan, step, &path, Err(failure));
                    }
                }
            }
            self.settle(plan, step, &file, opened)?;
        }
        Ok(())
    }

    /// Opens the file that the package chooses; none if that depends on the CUDA release, and PyTorch is one for CPUs.
    pub(super) fn open_chosen(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
        choice: &FileChoice,
    ) -> Result<(), ImportStop> {
        let site = self.setup.site_of(self.root, installed, &choice.file);
        let site = site.as_ref().unwrap_or(&installed.site);
        let Some(path) = self.chosen(installed, choice, site) else {
            return Ok(());
        };
        let opened = self.open(plan, &path, step.global)?;
        self.settle(plan, step, &path, opened)
    }

    /// The path that a package chooses, whether or not there is such a file.
    fn chosen(
        &self,
        installed: &InstalledPackage,
        choice: &FileChoice,
        site: &str,
    ) -> Option<String> {
        let exact = format!("{site}/{}", installed.fill(&choice.file)?);
        let Some((before, after)) = choice.file.split_once("{cuda-digits}") else {
            return Some(exact);
        };
        if let Some(digits) = self.variable(&choice.override_by) {
            return Some(format!("{site}/{before}{digits}{after}"));
        }
        if !choice.nearest || self.root.resolve(&exact).is_ok() {
            return Some(exact);
        }
        let (before, after) = (format!("{site}/{before}"), after);
        let files = self.matching(&format!("{before}*{after}"));
        let digits = files
            .iter()
            .filter_map(|it| it.strip_prefix(&before)?.strip_suffix(after));
        let digits = nearest_release(digits, &installed.cuda);
        Some(digits.map_or(exact, |digits| format!("{before}{digits}{after}")))
    }

    /// The value of an environment variable; `None` if it is empty.
    pub(super) fn variable(&self, name: &str) -> Option<&String> {
        let system = self.playback.process.as_ref()?.system();
        system.environment.get(name).filter(|it| !it.is_empty())
    }

    /// Whether a package tries its fallback after a failure.
    fn helps(&self, plan: &LoadPlan, fallback: &OnFailure, failure: &Failure) -> bool {
        let (Some(fault), Some(process)) = (failure.faults.first(), &self.playback.process) else {
            return false;
        };
        let message = fault.message(process.system().libc);
        let list = plan.lists.get(&fallback.preload.list);
        let mut stems = list
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.file.split('.').next());
        !fallback.if_named || stems.any(|stem| message.contains(stem))
    }

    /// `ctypes.CDLL` of a path.
    pub(super) fn open(
        &mut self,
        plan: &LoadPlan,
        path: &str,
        global: bool,
    ) -> Result<Result<(), Failure<'s>>> {
        self.open_for(plan, path, global, self.ctypes)
    }

    fn open_for(
        &mut self,
        plan: &LoadPlan,
        name: &str,
        global: bool,
        caller: ObjectId,
    ) -> Result<Result<(), Failure<'s>>> {
        let mode = OpenMode {
            global,
            ..OpenMode::default()
        };
        let request = OpenRequest { name, caller, mode };
        Ok(self.playback.open(&request, &self.cause(plan))?.map(drop))
    }

    /// The files at a path whose last component may be a pattern.
    fn matching(&self, path: &str) -> Vec<String> {
        let Some((directory, name)) = path.rsplit_once('/') else {
            return Vec::new();
        };
        if !name.contains(['*', '[', '?']) {
            let exists = self.root.resolve(path).is_ok();
            return exists.then(|| path.to_owned()).into_iter().collect();
        }
        let Ok(glob) = Glob::new(name) else {
            return Vec::new();
        };
        let matcher = glob.compile_matcher();
        self.root
            .read_dir(directory)
            .filter(|node| matcher.is_match(node.name()))
            .map(|node| format!("{directory}/{}", node.name()))
            .collect()
    }

    /// Opens the first of several names that can be opened.
    pub(super) fn open_first(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
        names: &[String],
    ) -> Result<(), ImportStop> {
        let Some(caller) = self.caller(step) else {
            return Ok(());
        };
        let mut last = None;
        for name in names.iter().filter_map(|name| installed.fill(name)) {
            match self.open_for(plan, &name, step.global, caller)? {
                Ok(()) => return Ok(()),
                Err(failure) => last = Some((name, failure)),
            }
        }
        match last {
            Some((name, failure)) => self.settle(plan, step, &name, Err(failure)),
            None => Ok(()),
        }
    }

    /// The object that calls dlopen: ctypes, or the one that the step names; `None` if that is not loaded.
    fn caller(&self, step: &Step) -> Option<ObjectId> {
        if step.by.is_empty() {
            return Some(self.ctypes);
        }
        let mut objects = self.playback.objects().iter();
        objects.position(|object| {
            let soname = object.elf.soname.as_deref();
            soname == Some(&step.by) || object.node.name() == step.by
        })
    }

    /// Opens a list of files that the package locates itself; a missing one is no failure.
    pub(super) fn open_list(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
        list: &Preload,
    ) -> Result<(), ImportStop> {
        match self.preload(plan, installed, list, step.global)? {
            Err(ListFailure::NotLoaded(path, failure)) => {
                self.settle(plan, step, &path, Err(failure))
            }
            Ok(()) | Err(ListFailure::NotFound(_)) => Ok(()),
        }
    }

    fn preload(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        list: &Preload,
        global: bool,
    ) -> Result<Result<(), ListFailure<'s>>> {
        let (Some(entries), Some(layout)) =
            (plan.lists.get(&list.list), plan.layouts.get(&list.layout))
        else {
            return Ok(Ok(()));
        };
        let roots = match layout.variables.is_empty() {
            true => self.setup.path.clone(),
            false => {
                let mut values = layout.variables.iter().filter_map(|it| self.variable(it));
                values.next().cloned().into_iter().collect()
            }
        };
        let entries = entries.iter();
        for entry in entries.filter(|entry| fits(&installed.cuda, &entry.cuda)) {
            if list.unless_loaded && self.is_loaded(&entry.soname) {
                continue;
            }
            let found = roots.iter().find_map(|site| {
                let condition = &layout.if_directory;
                let counts = condition.is_empty()
                    || self.root.resolve(&format!("{site}/{condition}")).is_ok();
                let mut paths = layout.paths.iter().filter(|_| counts);
                paths.find_map(|path| {
                    let path = installed.fill(&path.replace("{folder}", &entry.folder))?;
                    // Python takes the first match in directory order, which an image does not tell.
                    let path = format!("{site}/{path}/{}", entry.file);
                    self.matching(&path).into_iter().next()
                })
            });
            let failure = match found {
                None => ListFailure::NotFound(entry.file.clone()),
                Some(path) => match self.open(plan, &path, global)? {
                    Ok(()) => continue,
                    Err(failure) => ListFailure::NotLoaded(path, failure),
                },
            };
            match list.missing {
                _ if entry.optional => {}
                OnMissing::Skip => {}
                OnMissing::Stop => return Ok(Ok(())),
                OnMissing::Fail => return Ok(Err(failure)),
            }
        }
        Ok(Ok(()))
    }
}

/// Of the releases of CUDA that files are for, as the digits in their names (`118`), the nearest to a release (`12.8`) of the same
/// major: the newest older one, else the oldest newer one.
fn nearest_release<'d>(digits: impl Iterator<Item = &'d str>, cuda: &str) -> Option<&'d str> {
    let release = |digits: &str| -> Option<(u64, u64)> {
        let (major, minor) = digits.split_at_checked(2)?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let (major, minor) = cuda.split_once('.')?;
    let minor = minor.split('.').next()?.parse::<u64>().ok()?;
    let major = major.parse::<u64>().ok()?;
    let same = digits.filter_map(|it| Some((release(it)?, it)));
    let mut same: Vec<_> = same.filter(|(it, _)| it.0 == major).collect();
    same.sort_unstable();
    let older = same.iter().rev().find(|(it, _)| it.1 <= minor);
    older.or(same.first()).map(|(_, digits)| *digits)
}

#[cfg(test)]
mod tests {
    use super::nearest_release;

    #[test]
    fn the_nearest_release_of_the_same_major_is_the_newest_older_one() {
        let files = ["118", "121", "124", "126", "130", "132", "nocublas", "é1"];
        for (cuda, nearest) in [
            ("12.9", Some("126")),
            ("12.5", Some("124")),
            ("12.0", Some("121")),
            ("13.1", Some("130")),
            ("13.10", Some("132")),
            ("14.0", None),
            ("", None),
        ] {
            assert_eq!(nearest_release(files.into_iter(), cuda), nearest, "{cuda}");
        }
    }
}
