//! The files of an image that identify components, collected in one walk.

use std::collections::{BTreeMap, HashSet};

use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::{Reading, ReadingKind};
use imgcheck_image::Content;
use imgcheck_image::{Node, RootFilesystem};

use super::container_toolkit::ToolkitKnowledge;
use super::network_names::NetworkNames;
use super::tool_knowledge::Tools;
use super::{Evidence, EvidenceKind};

/// An ELF file.
pub(super) struct ElfFile<'r> {
    pub(super) path: String,
    pub(super) node: Node<'r>,
    pub(super) facts: &'r ElfFacts,
}

impl ElfFile<'_> {
    /// The name of the library, as identified by the file's exports.
    pub(super) fn library(&self) -> Option<&str> {
        let identity = self.facts.identity.as_ref()?;
        Some(&identity.library)
    }

    /// Facts read from the file's bytes.
    pub(super) fn readings(&self) -> &[Reading] {
        let identity = self.facts.identity.as_ref();
        identity.map_or(&[], |identity| &identity.readings)
    }

    /// Whether the file is a program, not a library.
    pub(super) fn is_program(&self) -> bool {
        self.facts.interpreter.is_some() && self.facts.soname.is_none()
    }

    /// Versions read from the file's bytes; of a program, that of the CUDA runtime which is linked statically into it.
    pub(super) fn versions(&self) -> impl Iterator<Item = Evidence> {
        let is_version =
            |fact: &str| fact == "version" || fact == "static-cudart" && self.is_program();
        let readings = self.readings().iter();
        let versions = readings.filter(move |reading| is_version(&reading.fact));
        versions.map(|reading| {
            let kind = match reading.kind {
                ReadingKind::Code => EvidenceKind::Code,
                ReadingKind::String => EvidenceKind::String,
            };
            Evidence::new(kind, &reading.value, &self.path, &reading.detail)
        })
    }
}

/// A file whose text is in the layer facts.
pub(super) struct TextFile<'r> {
    pub(super) path: String,
    pub(super) layer: Option<usize>,
    pub(super) text: &'r str,
}

/// The files that describe models: of Hugging Face's transformers, and of NVIDIA's Model Optimizer.
const MODEL_FILES: [&str; 2] = ["config.json", "hf_quant_config.json"];

/// The files that the other files of this module examine.
pub(super) struct Inventory<'r> {
    pub(super) root: &'r RootFilesystem<'r>,
    /// Sorted by path; a file with several hard links occurs once.
    pub(super) elf: Vec<ElfFile<'r>>,
    pub(super) texts: Vec<TextFile<'r>>,
    /// `python`, `python3`, `python3.11` … in directories named `bin`: files and links.
    pub(super) interpreters: Vec<Node<'r>>,
    /// Files and links with the name of a driver file.
    pub(super) driver_names: Vec<Node<'r>>,
    /// Files and links with the name of a library for the network between GPUs.
    pub(super) network_names: Vec<Node<'r>>,
    /// Files and links that packages need to compile something, wherever they are.
    pub(super) tool_files: Vec<Node<'r>>,
    /// Files and links with the name of a file that describes a model.
    pub(super) model_files: Vec<Node<'r>>,
}

impl<'r> Inventory<'r> {
    pub(super) fn take(
        root: &'r RootFilesystem<'r>,
        toolkit: &ToolkitKnowledge,
        network: &NetworkNames,
        tools: &Tools,
    ) -> Self {
        let mut inventory = Inventory {
            root,
            elf: Vec::new(),
            texts: Vec::new(),
            interpreters: Vec::new(),
            driver_names: Vec::new(),
            network_names: Vec::new(),
            tool_files: Vec::new(),
            model_files: Vec::new(),
        };
        let mut seen = HashSet::new();
        for node in root.walk_tree() {
            if is_interpreter_name(node.name())
                && !node.is_directory()
                && node.parent().name() == "bin"
            {
                inventory.interpreters.push(node);
            }
            if network.include(node.name()) && !node.is_directory() {
                inventory.network_names.push(node);
            }
            if MODEL_FILES.contains(&node.name()) && !node.is_directory() {
                inventory.model_files.push(node);
            }
            if tools.are_anywhere(node.name()) && !node.is_directory() {
                inventory.tool_files.push(node);
            }
            if toolkit.driver_name(node.name()).is_some() && !node.is_directory() {
                inventory.driver_names.push(node);
            }
            match node.content() {
                Some(Content::Elf(facts)) if seen.insert(node.identity()) => {
                    inventory.elf.push(ElfFile {
                        path: node.path(),
                        node,
                        facts,
                    });
                }
                Some(Content::Text(text)) => inventory.texts.push(TextFile {
                    path: node.path(),
                    layer: node.layer(),
                    text,
                }),
                _ => {}
            }
        }
        inventory
    }

    /// Number of ELF files per machine (`e_machine`), by the names that `uname -m` prints.
    pub(super) fn machines(&self) -> BTreeMap<String, usize> {
        let mut machines = BTreeMap::new();
        for file in &self.elf {
            let name = match file.facts.machine {
                3 => "i386".to_owned(),
                21 => "ppc64le".to_owned(),
                22 => "s390x".to_owned(),
                40 => "arm".to_owned(),
                62 => "x86_64".to_owned(),
                183 => "aarch64".to_owned(),
                243 => "riscv64".to_owned(),
                other => format!("machine-{other}"),
            };
            *machines.entry(name).or_default() += 1;
        }
        machines
    }

    /// The text of the file at a path, if the layer facts contain it.
    pub(super) fn text(&self, path: &str) -> Option<TextFile<'r>> {
        let node = self.root.entry(path)?;
        Some(TextFile {
            path: node.path(),
            layer: node.layer(),
            text: node.text()?,
        })
    }
}

/// `python`, `python3`, `python3.11` …
pub(super) fn is_interpreter_name(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|version| {
        version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}
