//! Objects and files of an image, as facts.

use super::cause::When;
use std::cell::OnceCell;
use std::collections::HashMap;

use super::facts::{ObjectFacts, Removed};
use super::knowledge::Knowledge;
use super::playback::Cause;
use super::program::ModeledProcess;
use super::reasons;
use super::versions::NewestVersions;
use crate::stack::sites::Sites;
use imgcheck_base::lexical;
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_loader::{Object, Reason, SearchedDirectory};

/// Libraries whose version is that of the CUDA release.
const VERSIONED_AS_CUDA: [&str; 4] = ["cuda-runtime", "nvrtc", "nvjitlink", "cupti"];

/// Describes objects and files of an image.
pub(super) struct Describer<'k, 'r> {
    pub root: &'r RootFilesystem<'r>,
    pub knowledge: &'k Knowledge,
    pub newest: NewestVersions<'r>,
    by_name: OnceCell<HashMap<&'r str, Vec<Node<'r>>>>,
    removed: OnceCell<HashMap<&'r str, Removed>>,
}

impl<'k, 'r> Describer<'k, 'r> {
    pub fn new(root: &'r RootFilesystem<'r>, knowledge: &'k Knowledge) -> Self {
        Describer {
            root,
            knowledge,
            newest: NewestVersions::default(),
            by_name: OnceCell::new(),
            removed: OnceCell::new(),
        }
    }

    /// A loaded object.
    pub fn loaded(&self, process: &ModeledProcess, object: &Object) -> ObjectFacts {
        let objects = process.playback.objects();
        let loaded = process.playback.process.as_ref();
        let id = loaded.and_then(|loaded| loaded.id_of(object));
        let cause = id.and_then(|id| process.playback.causes.get(id));
        let Cause { package, when, .. } = cause.cloned().unwrap_or_default();
        let requester = object.requester.and_then(|id| objects.get(id));
        let requester = requester.filter(|it| when == When::Start || !is_python(it));
        ObjectFacts {
            request: object.request.clone(),
            requested_by: requester.map_or_else(String::new, |it| it.path.clone()),
            reason: reasons::text(&object.reason),
            found_by: reasons::found_by(&object.reason),
            package,
            when,
            global: object.global,
            ..self.file(process, object.node, &object.path)
        }
    }

    /// A file, whether or not it is loaded.
    pub fn file(&self, process: &ModeledProcess, node: Node, path: &str) -> ObjectFacts {
        let elf = node.elf();
        let identity = elf.and_then(|elf| elf.identity.as_ref());
        let soname = elf.and_then(|elf| elf.soname.clone()).unwrap_or_default();
        let mut facts = ObjectFacts {
            path: node.path(),
            layer: node.layer(),
            directory: package_directory(&process.sites, &node.path())
                .or_else(|| package_directory(&process.sites, path))
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

    /// Major release of CUDA that a file belongs to.
    fn cuda(&self, facts: &ObjectFacts) -> String {
        let own = VERSIONED_AS_CUDA.contains(&facts.library.as_str());
        let facts_of_build = ["built-with-cuda", "compiled-cuda"];
        let reading = match own {
            true => facts.readings.get("version"),
            false => facts_of_build.iter().find_map(|it| facts.readings.get(*it)),
        };
        let major = reading.and_then(|version| version.split('.').next());
        let major = major.or_else(|| self.knowledge.cuda_of(&facts.soname));
        major.unwrap_or_default().to_owned()
    }

    /// The file of this name that a layer removed from one of these directories.
    pub fn removed(&self, name: &str, searched: &[SearchedDirectory]) -> Option<Removed> {
        let removed = self.removed.get_or_init(|| {
            let described = self.root.removed().map(|(node, layer)| {
                let path = node.path();
                (node.name(), Removed { path, layer })
            });
            described.collect()
        });
        let known = removed.get(name)?;
        let directory = known.path.rsplit_once('/').map_or("", |(it, _)| it);
        let is_home = |it: &SearchedDirectory| match self.root.resolve(&it.directory) {
            Ok(node) => node.path() == directory,
            Err(_) => directory.trim_start_matches('/') == lexical::normalized(&it.directory),
        };
        searched.iter().any(is_home).then(|| known.clone())
    }

    /// The ELF files of the image with this file name or SONAME.
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

/// Whether an object calls dlopen on behalf of Python code: the program, or the module behind ctypes.
pub(super) fn is_python(object: &Object) -> bool {
    object.reason == Reason::Executable || object.node.name().starts_with("_ctypes.")
}

/// The package directory of a path: `torch`, `nvidia/cudnn`. The libraries that auditwheel puts into `NAME.libs` belong to `NAME`.
pub(super) fn package_directory(sites: &Sites, path: &str) -> Option<String> {
    let inside = sites.holding(path)?;
    let (first, rest) = inside.rest.split_once('/')?;
    Some(match rest.split_once('/') {
        Some((second, _)) if first == "nvidia" => format!("{first}/{second}"),
        _ => first.strip_suffix(".libs").unwrap_or(first).to_owned(),
    })
}
