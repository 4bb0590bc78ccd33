//! A model as facts: what each process maps.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::cache;
use super::facts::{DriverLibrary, LoaderFacts, ObjectFacts, ProcessFacts};
use super::faults;
use super::knowledge::Knowledge;
use super::model::{Model, ModelledProcess};
use super::run::Cause;
use super::shadowed::{self, said, word};
use super::versions::NewestVersions;
use crate::image::{Node, RootFilesystem};
use crate::loader::{Object, Reason};

/// Parts of the libraries whose own release is that of their CUDA.
const RELEASED_WITH_CUDA: [&str; 4] = ["cuda-runtime", "nvrtc", "nvjitlink", "cupti"];

/// Describes objects and files of an image.
pub(super) struct Describer<'k, 'r> {
    pub root: &'r RootFilesystem<'r>,
    pub knowledge: &'k Knowledge,
    pub newest: NewestVersions<'r>,
    by_name: OnceCell<HashMap<&'r str, Vec<Node<'r>>>>,
}

impl Model<'_> {
    /// The facts of all processes.
    pub fn facts(&self) -> LoaderFacts {
        let describer = Describer::new(self.root, self.knowledge);
        let (cache, rebuilt) = cache::read(self);
        let mut facts = LoaderFacts {
            cache,
            programs_left_out: self.left_out,
            ..LoaderFacts::default()
        };
        for process in &self.processes {
            facts.processes.push(describer.process(process));
            facts.shadowed.extend(shadowed::of(&describer, process));
            faults::tell(&describer, process, &mut facts);
        }
        let answers = cache::answers(rebuilt.as_ref());
        for missing in facts.missing.iter_mut().filter(|it| it.broken.is_empty()) {
            let answer = answers.get(missing.library.as_str());
            missing.after_ldconfig = answer.copied().unwrap_or_default().to_owned();
        }
        facts.objects = facts.processes.first().map_or(0, |process| {
            let mapped = process.objects.iter().filter(|object| object.when != "use");
            mapped.count()
        });
        facts
    }
}

impl<'k, 'r> Describer<'k, 'r> {
    pub fn new(root: &'r RootFilesystem<'r>, knowledge: &'k Knowledge) -> Self {
        Describer {
            root,
            knowledge,
            newest: NewestVersions::default(),
            by_name: OnceCell::new(),
        }
    }

    fn process(&self, process: &ModelledProcess) -> ProcessFacts {
        let objects = process.run.objects().iter();
        let glibc = process.system.glibc;
        ProcessFacts {
            name: process.name.clone(),
            main: process.main,
            executable: process.executable.clone(),
            environment: process.environment.clone(),
            glibc: glibc.map_or_else(String::new, |release| release.to_string()),
            imports: process.imports.clone(),
            objects: objects.map(|object| self.loaded(process, object)).collect(),
            driver_libraries: driver_libraries(self.knowledge, process),
            library_path_from: process.library_path_from.clone(),
        }
    }

    /// A loaded object.
    pub fn loaded(&self, process: &ModelledProcess, object: &Object) -> ObjectFacts {
        let objects = process.run.objects();
        let loaded = process.run.process.as_ref();
        let id = loaded.and_then(|loaded| loaded.id_of(object));
        let cause = id.and_then(|id| process.run.causes.get(id));
        let Cause { package, when, .. } = cause.cloned().unwrap_or_default();
        let requester = object.requester.and_then(|id| objects.get(id));
        let requester = requester.filter(|it| when == "start" || !is_python(it));
        ObjectFacts {
            request: object.request.clone(),
            requested_by: requester.map_or_else(String::new, |it| it.path.clone()),
            reason: said(&object.reason),
            found_by: word(&object.reason).to_owned(),
            package,
            when: when.to_owned(),
            global: object.global,
            ..self.file(process, object.node, &object.path)
        }
    }

    /// A file that is not loaded, or not known to be.
    pub fn file(&self, process: &ModelledProcess, node: Node, path: &str) -> ObjectFacts {
        let elf = node.elf();
        let identity = elf.and_then(|elf| elf.identity.as_ref());
        let soname = elf.and_then(|elf| elf.soname.clone()).unwrap_or_default();
        let mut facts = ObjectFacts {
            path: node.path(),
            layer: node.layer(),
            directory: directory(process, &node.path())
                .or_else(|| directory(process, path))
                .unwrap_or_default(),
            soname,
            ..ObjectFacts::default()
        };
        if let Some(identity) = identity {
            facts.library = identity.library.clone();
            facts.part = identity.part.clone().unwrap_or_default();
            for reading in &identity.readings {
                let known = facts.readings.entry(reading.fact.clone());
                known.or_insert_with(|| reading.value.clone());
            }
        }
        facts.cuda = self.cuda(&facts);
        facts
    }

    /// Major release of the CUDA that a file belongs to.
    fn cuda(&self, facts: &ObjectFacts) -> String {
        let own = RELEASED_WITH_CUDA.contains(&facts.library.as_str());
        let facts_of_build = ["built-with-cuda", "compiled-cuda"];
        let reading = match own {
            true => facts.readings.get("version"),
            false => facts_of_build.iter().find_map(|it| facts.readings.get(*it)),
        };
        let major = reading.and_then(|version| version.split('.').next());
        let major = major.or_else(|| self.knowledge.cuda_of(&facts.soname));
        major.unwrap_or_default().to_owned()
    }

    /// The ELF file of a name in a directory.
    pub fn library_in(&self, directory: &str, name: &str) -> Option<(String, Node<'r>)> {
        let node = self.root.resolve(directory).ok()?.lookup(name)?;
        node.elf().map(|_| (format!("{directory}/{name}"), node))
    }

    /// The ELF files of a file name or SONAME.
    pub fn named(&self, name: &str) -> &[Node<'r>] {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name: HashMap<&str, Vec<Node>> = HashMap::new();
            for node in self.root.walk_tree() {
                let Some(elf) = node.elf() else {
                    continue;
                };
                by_name.entry(node.name()).or_default().push(node);
                if let Some(soname) = &elf.soname
                    && soname != node.name()
                {
                    by_name.entry(soname).or_default().push(node);
                }
            }
            by_name
        });
        by_name.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The libraries of the driver that the objects of a process need or open, each once for each object.
fn driver_libraries(knowledge: &Knowledge, process: &ModelledProcess) -> Vec<DriverLibrary> {
    let run = &process.run;
    let needed = run.objects().iter().zip(&run.causes).flat_map(|it| {
        let (object, cause) = it;
        let of_driver = object.elf.needed.iter();
        let of_driver = of_driver.filter(|name| knowledge.is_host_provided(name));
        of_driver.map(move |name| (object, cause, name, false))
    });
    let opened = run.driver.iter().filter_map(|asked| {
        let object = run.objects().get(asked.opener)?;
        Some((object, &asked.cause, &asked.library, true))
    });
    let libraries = needed.chain(opened).map(|it| {
        let (object, cause, library, opened) = it;
        DriverLibrary {
            library: library.clone(),
            needed_by: object.node.path(),
            layer: object.node.layer(),
            package: cause.package.clone(),
            when: cause.when.to_owned(),
            opened,
            optional: cause.optional,
            without: cause.without.clone(),
        }
    });
    let mut seen = HashSet::new();
    libraries
        .filter(|it| seen.insert((it.library.clone(), it.needed_by.clone())))
        .collect()
}

/// Whether an object opens on behalf of Python code: the program, or the module behind ctypes.
pub(super) fn is_python(object: &Object) -> bool {
    object.reason == Reason::Executable || object.node.name().starts_with("_ctypes.")
}

/// The package directory of a path: `torch`, `nvidia/cudnn`; what auditwheel puts into `NAME.libs` belongs to `NAME`.
fn directory(process: &ModelledProcess, path: &str) -> Option<String> {
    let inside = process.sites.holding(path)?;
    let (first, rest) = inside.rest.split_once('/')?;
    Some(match rest.split_once('/') {
        Some((second, _)) if first == "nvidia" => format!("{first}/{second}"),
        _ => first.strip_suffix(".libs").unwrap_or(first).to_owned(),
    })
}
