//! What the loader has for the extension modules and libraries that a Python opens.

use std::cell::RefCell;
use std::collections::BTreeMap;

use imgcheck_base::error::{Error, Result};
use imgcheck_base::lexical::name_of;
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_loader::{Fault, Libc, ObjectId, OpenMode, Process, System};
use imgcheck_python::run::Lacking;

/// The function that makes a module which every Python contains: where it is exported, those of all modules that the interpreter contains are
/// (`PyMODINIT_FUNC` in CPython's Include/pyport.h, `_PyImport_Inittab` in Modules/config.c.in).
const LANDMARK: &str = "PyInit_posix";

/// A Python that is running.
pub(super) struct PythonLoader<'s> {
    root: &'s RootFilesystem<'s>,
    process: RefCell<Process<'s>>,
    /// The directories of packages, which may load their libraries by path.
    sites: Vec<String>,
    /// The packages that the tables of processes describe.
    described: Vec<String>,
    /// The path of `_ctypes`; `None` if the interpreter contains it.
    pub ctypes: Option<String>,
    /// What the loader lacks, by request.
    known: RefCell<BTreeMap<String, Option<Lacking>>>,
    /// A limit that was exceeded, or that the request was cancelled.
    error: RefCell<Option<Error>>,
}

impl<'s> PythonLoader<'s> {
    /// `None` if the interpreter does not start.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn start(
        system: &'s System<'s>,
        interpreter: &str,
        sites: &[String],
        described: Vec<String>,
    ) -> Result<Option<Self>> {
        let started = Process::start(system, interpreter)?;
        Ok(started.ok().map(|process| PythonLoader {
            root: system.root,
            process: RefCell::new(process),
            sites: sites.to_vec(),
            described,
            ctypes: None,
            known: RefCell::default(),
            error: RefCell::default(),
        }))
    }

    /// A limit that was exceeded, or that the request was cancelled.
    pub fn take_error(&self) -> Option<Error> {
        self.error.take()
    }

    /// Whether it is known which modules the interpreter contains.
    pub fn shows_modules(&self) -> bool {
        self.exports(LANDMARK)
    }

    /// Whether the interpreter contains a module.
    pub fn contains(&self, module: &str) -> bool {
        self.exports(&format!("PyInit_{module}"))
    }

    fn exports(&self, symbol: &str) -> bool {
        let process = self.process.borrow();
        let mut objects = process.objects().iter();
        objects.any(|it| it.elf.exports.defines(symbol, None))
    }

    /// What the loader certainly lacks to load the file of an extension module. What opens libraries before modules of a package that the tables
    /// of processes describe, they say.
    pub fn unloadable(&self, module: &str, extension: Node) -> Option<Lacking> {
        let is_part = |of: &String| {
            let rest = module.strip_prefix(of.as_str());
            rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
        };
        if self.described.iter().any(is_part) {
            return None;
        }
        let elf = extension.elf()?;
        let path = extension.path();
        let is_loaded = |name: &String| self.process.borrow().named(name).is_some();
        let lacking = match elf.needed.iter().all(is_loaded) {
            true => lacking_of(self.process.borrow().unmet_version(elf, &path))?,
            false => self.lacking(&path, 0)?,
        };
        let is_below = |path: &str, site: &String| {
            path.strip_prefix(site.as_str())
                .is_some_and(|it| it.starts_with('/'))
        };
        let is_of_package = |path: &str| self.sites.iter().any(|it| is_below(path, it));
        // A package may have opened a file from anywhere by its path.
        let counts = |it: &Node| is_of_package(&path) || is_of_package(&it.path());
        self.is_certain(&lacking, counts).then_some(lacking)
    }

    /// What the loader certainly lacks for `dlopen` of a name by `_ctypes`. A file of that name
    /// anywhere may have been opened by its path before.
    pub fn unopenable(&self, name: &str) -> Option<Lacking> {
        if self.process.borrow().system().libc != Libc::Glibc || self.is_of_host(name) {
            return None;
        }
        let caller = self.ctypes.as_ref().map(|it| self.open(it, 0));
        let caller = caller.and_then(Result::ok).unwrap_or_default();
        let lacking = self.lacking(name, caller)?;
        self.is_certain(&lacking, |_| true).then_some(lacking)
    }

    /// Whether neither the driver of the host nor a file that counts has what is lacking.
    fn is_certain(&self, lacking: &Lacking, counts: impl Fn(&Node) -> bool) -> bool {
        let Some(version) = &lacking.version else {
            return !self.is_of_host(&lacking.library) && !self.has(&lacking.library, counts);
        };
        let provider = self.root.resolve(&lacking.library).ok();
        let soname = provider.and_then(|it| it.elf()?.soname.clone());
        let name = soname.unwrap_or_else(|| name_of(&lacking.library).to_owned());
        let defines = |it: &Node| {
            it.elf()
                .is_some_and(|it| it.version_definitions.contains(version))
        };
        !self.has(&name, defines)
    }

    /// Whether the driver of the host brings a library.
    fn is_of_host(&self, library: &str) -> bool {
        let system = self.process.borrow().system();
        system.host_libraries.iter().any(|it| it.name == library)
    }

    /// Whether a file with the name of a library, or a library of that SONAME, is where it counts.
    fn has(&self, library: &str, counts: impl Fn(&Node) -> bool) -> bool {
        let is_it = |node: &Node| {
            let soname = node.elf().and_then(|it| it.soname.as_deref());
            node.name() == library || soname == Some(library)
        };
        self.root.walk_tree().any(|it| is_it(&it) && counts(&it))
    }

    fn lacking(&self, request: &str, caller: ObjectId) -> Option<Lacking> {
        if let Some(known) = self.known.borrow().get(request) {
            return known.clone();
        }
        let lacking = lacking_of(self.open(request, caller).err().flatten());
        let mut known = self.known.borrow_mut();
        known.entry(request.to_owned()).or_insert(lacking).clone()
    }

    /// Opens a library, or says what fails first; `None` if that is unknown.
    fn open(&self, request: &str, caller: ObjectId) -> Result<ObjectId, Option<Fault>> {
        let mut process = self.process.borrow_mut();
        match process.open(request, caller, OpenMode::default()) {
            Ok(Ok(id)) => Ok(id),
            Ok(Err(failure)) => Err(failure.faults.into_iter().next()),
            Err(error) => {
                self.error.borrow_mut().get_or_insert(error);
                Err(None)
            }
        }
    }
}

/// What the loader lacks, if a fault says so.
fn lacking_of(fault: Option<Fault>) -> Option<Lacking> {
    let (library, version) = match fault? {
        Fault::Missing { name, .. } => (name, None),
        Fault::Version {
            provider, version, ..
        } => (provider, Some(version)),
        _ => return None,
    };
    Some(Lacking { library, version })
}
