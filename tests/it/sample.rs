//! Images made of layer facts, with no bytes behind them, and what imgcheck derives from them.

use imgcheck_base::error::Error;
use imgcheck_base::gap::Gap;
use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::{Identity, Reading, ReadingKind};
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_launch::{Launch, Overlay};
use imgcheck_loader::ProcessBudget;
use imgcheck_model::knowledge;
use imgcheck_model::process::tree::Tree;
use imgcheck_model::process::{LoaderFacts, Programs, coverage};
use imgcheck_model::stack::{self, Stack};
use oci_spec::image::ImageConfiguration;
use serde_json::{Value, json};

pub const SITE: &str = "usr/local/lib/python3.11/site-packages";
/// The loader of every program.
pub const LOADER: &str = "lib64/ld-linux-x86-64.so.2";

/// An image under construction.
#[derive(Clone)]
pub struct Image {
    pub layers: Vec<LayerFacts>,
    /// `config` of the image configuration.
    pub config: Value,
}

/// What imgcheck derives from an image.
pub struct Derived {
    pub config: ImageConfiguration,
    pub stack: Stack,
    pub loader: LoaderFacts,
    pub tree: Tree,
    pub gaps: Vec<Gap>,
    /// How the container starts.
    pub launch: Launch,
    /// What is not understood of how the container starts, and frameworks that no program reaches.
    pub other_gaps: Vec<Gap>,
}

impl Image {
    pub fn new() -> Self {
        Image {
            layers: vec![LayerFacts::default()],
            config: json!({}),
        }
    }

    /// Python 3.11 with ctypes.
    pub fn python() -> Self {
        Image::new()
            .elf(LOADER, elf(&[]))
            .elf("usr/local/bin/python3.11", program(&[]))
            .link("usr/local/bin/python3", "python3.11")
            .library(
                "usr/local/lib/python3.11/lib-dynload",
                "_ctypes.cpython-311-x86_64-linux-gnu.so",
                &[],
            )
    }

    /// PyTorch 2.8 for CUDA 12.8, whose libraries look for CUDA in NVIDIA's wheels.
    pub fn torch(self) -> Self {
        let lib = format!("{SITE}/torch/lib");
        let rpath = |needed: &[&str]| ElfFacts {
            rpath: Some("$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN".to_owned()),
            ..elf(needed)
        };
        let module = ElfFacts {
            rpath: Some("$ORIGIN/lib".to_owned()),
            ..elf(&["libtorch_python.so"])
        };
        let version = "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n";
        let file = |name: &str| format!("{lib}/{name}");
        self.text(&format!("{SITE}/torch/version.py"), version)
            .elf(
                &file("libtorch_global_deps.so"),
                rpath(&["libcudart.so.12"]),
            )
            .elf(&file("libtorch_python.so"), rpath(&["libtorch_cuda.so"]))
            .elf(&file("libtorch_cuda.so"), rpath(&["libcudart.so.12"]))
            .elf(
                &format!("{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so"),
                module,
            )
    }

    pub fn layer(mut self) -> Self {
        self.layers.push(LayerFacts::default());
        self
    }

    pub fn entry(mut self, path: &str, kind: EntryKind) -> Self {
        self.layers.last_mut().unwrap().entries.push(Entry {
            path: path.to_owned(),
            kind,
            size: 4096,
            mode: 0o755,
            owner: Default::default(),
        });
        self
    }

    /// The permission bits of what was added last.
    pub fn mode(mut self, mode: u32) -> Self {
        let layer = self.layers.last_mut().unwrap();
        layer.entries.last_mut().unwrap().mode = mode;
        self
    }

    /// The size of what was added last.
    pub fn size(mut self, size: u64) -> Self {
        let layer = self.layers.last_mut().unwrap();
        layer.entries.last_mut().unwrap().size = size;
        self
    }

    /// A file without bytes.
    pub fn empty(self, path: &str) -> Self {
        let mut image = self.entry(path, EntryKind::File(Content::Unread));
        let layer = image.layers.last_mut().unwrap();
        layer.entries.last_mut().unwrap().size = 0;
        image
    }

    pub fn directory(self, path: &str) -> Self {
        self.entry(path, EntryKind::Directory)
    }

    pub fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, EntryKind::File(Content::Text(text.to_owned())))
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, EntryKind::Symlink(target.to_owned()))
    }

    pub fn elf(self, path: &str, facts: ElfFacts) -> Self {
        self.entry(path, EntryKind::File(Content::Elf(Box::new(facts))))
    }

    pub fn library(self, directory: &str, name: &str, needed: &[&str]) -> Self {
        let soname = Some(name.to_owned());
        let library = ElfFacts {
            soname,
            ..elf(needed)
        };
        self.elf(&format!("{directory}/{name}"), library)
    }

    /// A library of one of NVIDIA's wheels.
    pub fn wheel(self, folder: &str, name: &str) -> Self {
        self.library(&format!("{SITE}/nvidia/{folder}/lib"), name, &[])
    }

    pub fn distribution(self, site: &str, name: &str, version: &str) -> Self {
        self.distribution_with(site, name, version, "")
    }

    /// A distribution with further lines of metadata.
    pub fn distribution_with(self, site: &str, name: &str, version: &str, fields: &str) -> Self {
        let directory = name.replace('-', "_");
        self.text(
            &format!("{site}/{directory}-{version}.dist-info/METADATA"),
            &format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{fields}\nText\n"),
        )
    }

    pub fn package(self, name: &str, version: &str) -> Self {
        self.distribution(SITE, name, version)
    }

    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Environment variables and command of the process.
    pub fn process(self, env: &[&str], command: &[&str]) -> Self {
        self.config(json!({"Env": env, "Cmd": command}))
    }

    pub fn command(self, command: &[&str]) -> Self {
        self.process(&[], command)
    }

    fn configuration(&self) -> ImageConfiguration {
        serde_json::from_value(json!({
            "architecture": "amd64", "os": "linux", "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": []},
        }))
        .unwrap()
    }

    /// What a container of the image starts.
    pub fn launch(&self, overlay: &Overlay) -> Launch {
        let root = RootFilesystem::merge(&self.layers);
        let knowledge = knowledge::launch().unwrap();
        Launch::of(&root, &self.configuration(), overlay, &knowledge)
    }

    pub fn stack(&self) -> Stack {
        self.try_stack().unwrap()
    }

    pub fn try_stack(&self) -> Result<Stack, Error> {
        let root = RootFilesystem::merge(&self.layers);
        let launch = self.launch(&Overlay::default());
        stack::read(
            &root,
            &self.configuration(),
            &launch,
            &knowledge::catalogue().unwrap(),
            &ProcessBudget::default(),
        )
    }

    pub fn loader(&self) -> LoaderFacts {
        self.derive(&Overlay::default()).unwrap().loader
    }

    /// Everything that the checker derives before it evaluates rules.
    pub fn derive(&self, overlay: &Overlay) -> Result<Derived, Error> {
        let root = RootFilesystem::merge(&self.layers);
        let config = self.configuration();
        let (launch, budget) = (
            Launch::of(&root, &config, overlay, &knowledge::launch().unwrap()),
            ProcessBudget::default(),
        );
        let catalogue = knowledge::catalogue().unwrap();
        let mut stack = stack::read(&root, &config, &launch, &catalogue, &budget)?;
        let processes = knowledge::processes().unwrap();
        let programs = Programs::of(&root, &launch, &stack, &processes, &budget);
        let (mut loader, tree) = programs.play(true)?;
        loader.frameworks = programs.frameworks(&loader, &stack);
        loader.other_gpu_code = programs.other_gpu_code(&loader, &stack);
        stack.mark_mapped(loader.mapped_files(true), loader.mapped_files(false));
        Ok(Derived {
            other_gaps: [launch.gaps.clone(), coverage::gaps(&loader)].concat(),
            config,
            stack,
            loader,
            tree,
            gaps: programs.gaps.clone(),
            launch,
        })
    }
}

/// An ELF file of x86-64 that no recipe knows.
pub fn elf(needed: &[&str]) -> ElfFacts {
    ElfFacts {
        class: 64,
        machine: 62,
        object_type: 3,
        needed: needed.iter().map(|name| (*name).to_owned()).collect(),
        ..ElfFacts::default()
    }
}

/// A program.
pub fn program(needed: &[&str]) -> ElfFacts {
    ElfFacts {
        interpreter: Some(format!("/{LOADER}")),
        ..elf(needed)
    }
}

/// An ELF file that is identified as a library, with what was read from its bytes.
pub fn identified(library: &str, soname: &str, readings: &[(&str, &str)]) -> ElfFacts {
    ElfFacts {
        soname: Some(soname.to_owned()).filter(|soname| !soname.is_empty()),
        identity: Some(Identity {
            library: library.to_owned(),
            part: None,
            readings: readings
                .iter()
                .map(|(fact, value)| reading(fact, value))
                .collect(),
        }),
        ..elf(&[])
    }
}

pub fn reading(fact: &str, value: &str) -> Reading {
    Reading {
        fact: fact.to_owned(),
        value: value.to_owned(),
        kind: ReadingKind::Code,
        detail: "test".to_owned(),
    }
}
