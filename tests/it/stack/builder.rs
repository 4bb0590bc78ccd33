//! Small images, and what their stacks hold.

use imgcheck::internals::elf::ElfFacts;
use imgcheck::internals::elf::facts::{GpuCode, Identity, Reading, ReadingKind};
use imgcheck::internals::error::Error;
use imgcheck::internals::image::RootFilesystem;
use imgcheck::internals::launch::{Launch, Overlay};
use imgcheck::internals::layer::{Content, Entry, EntryKind, LayerFacts};
use imgcheck::internals::loader::Bounds;
use imgcheck::internals::stack::{self, Catalogue, Component, Stack};
use oci_spec::image::ImageConfiguration;
use serde_json::json;

/// An image under construction.
#[derive(Default)]
pub struct Image {
    pub layers: Vec<LayerFacts>,
    pub config: serde_json::Value,
}

impl Image {
    pub fn new() -> Self {
        Image {
            layers: vec![LayerFacts::default()],
            config: json!({}),
        }
    }

    pub fn layer(mut self) -> Self {
        self.layers.push(LayerFacts::default());
        self
    }

    pub fn entry(mut self, path: &str, kind: EntryKind) -> Self {
        self.layers.last_mut().unwrap().entries.push(Entry {
            path: path.to_owned(),
            kind,
            size: 0,
            mode: 0o755,
        });
        self
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

    pub fn distribution(self, site: &str, name: &str, version: &str) -> Self {
        let path = format!(
            "{site}/{}-{version}.dist-info/METADATA",
            name.replace('-', "_")
        );
        self.text(
            &path,
            &format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n"),
        )
    }

    /// Environment variables and command of the process.
    pub fn process(mut self, env: &[&str], command: &[&str]) -> Self {
        self.config = json!({"Env": env, "Cmd": command});
        self
    }

    pub fn stack(self) -> Stack {
        self.try_stack().unwrap()
    }

    pub fn try_stack(self) -> Result<Stack, Error> {
        let config: ImageConfiguration = serde_json::from_value(json!({
            "architecture": "amd64", "os": "linux", "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": []},
        }))
        .unwrap();
        let root = RootFilesystem::merge(&self.layers);
        let launch = Launch::of(&root, &config, &Overlay::default());
        stack::read(
            &root,
            &config,
            &launch,
            &Catalogue::builtin().unwrap(),
            &Bounds::default(),
        )
    }
}

/// An ELF file of x86-64 that no recipe knows.
pub fn plain(soname: &str) -> ElfFacts {
    ElfFacts {
        class: 64,
        machine: 62,
        object_type: 3,
        soname: Some(soname.to_owned()).filter(|soname| !soname.is_empty()),
        ..ElfFacts::default()
    }
}

/// An ELF file of x86-64 that was identified as a library.
pub fn library(library: &str, soname: &str, version: Option<&str>) -> ElfFacts {
    part(library, None, soname, version)
}

pub fn part(library: &str, part: Option<&str>, soname: &str, version: Option<&str>) -> ElfFacts {
    ElfFacts {
        identity: Some(Identity {
            library: library.to_owned(),
            part: part.map(str::to_owned),
            readings: version
                .map(|value| reading("version", value))
                .into_iter()
                .collect(),
        }),
        ..plain(soname)
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

/// `name version path`, with `*` in front of what is loaded.
pub fn table(stack: &Stack, name: &str) -> Vec<String> {
    let rows = stack
        .components
        .iter()
        .filter(|component| component.name == name);
    rows.map(|row| {
        format!(
            "{}{} {}",
            if row.loaded { "*" } else { "" },
            row.version,
            row.path
        )
    })
    .collect()
}

pub fn only<'s>(stack: &'s Stack, name: &str) -> &'s Component {
    let found: Vec<_> = stack
        .components
        .iter()
        .filter(|component| component.name == name)
        .collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0]
}

pub const SITE: &str = "usr/local/lib/python3.11/site-packages";

pub fn torch(image: Image, site: &str, version: &str, cuda: &str) -> Image {
    let version_py = format!(
        "__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\ngit_version = 'abc'\n"
    );
    let release = version.split('+').next().unwrap();
    image
        .text(&format!("{site}/torch/version.py"), &version_py)
        .distribution(site, "torch", release)
        .elf(
            &format!("{site}/torch/lib/libtorch_python.so"),
            library("torch-python", "libtorch_python.so", Some(release)),
        )
}

pub fn libtorch_cuda(sass: &[(&str, u32)]) -> ElfFacts {
    let mut facts = library("torch-cuda", "libtorch_cuda.so", None);
    facts.needed = vec!["libcudart.so.12".to_owned(), "libcudnn.so.9".to_owned()];
    facts.rpath = Some("$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN".to_owned());
    facts.gpu = Some(GpuCode {
        containers: 4,
        sass: sass
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
        ..GpuCode::default()
    });
    let readings = &mut facts.identity.as_mut().unwrap().readings;
    readings.push(reading("compiled-cudnn", "9.8.0"));
    readings.push(reading("arch-list", "sm_80 sm_90"));
    facts
}
