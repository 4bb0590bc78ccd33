//! The facts of one ELF file.

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;

/// All that is kept of one ELF file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ElfFacts {
    /// 32 or 64.
    pub class: u8,
    /// `e_machine`: 62 is x86-64, 183 is AArch64.
    pub machine: u16,
    /// `e_type`: 2 is an executable, 3 a shared object.
    pub object_type: u16,
    /// Why glibc's loader refuses the file for what its headers say.
    pub refusal: Option<Refusal>,
    /// DT_SONAME.
    pub soname: Option<String>,
    /// DT_NEEDED, in order.
    pub needed: Vec<String>,
    /// DT_RPATH.
    pub rpath: Option<String>,
    /// DT_RUNPATH.
    pub runpath: Option<String>,
    /// DT_FLAGS.
    pub flags: u64,
    /// DT_FLAGS_1.
    pub flags_1: u64,
    /// PT_INTERP.
    pub interpreter: Option<String>,
    /// NT_GNU_BUILD_ID, lower-case hexadecimal.
    pub build_id: Option<String>,
    /// Whether PT_GNU_STACK asks for an executable stack; `None` without that header.
    pub executable_stack: Option<bool>,
    /// DT_VERNEED: what each needed file must define.
    pub version_needs: Vec<VersionNeed>,
    /// DT_VERDEF: the versions this file defines, without the base one.
    pub version_definitions: Vec<String>,
    /// Whether there is a DT_VERSYM, without which no symbol has a version.
    pub symbol_versions: bool,
    /// Defined dynamic symbols.
    pub exports: Exports,
    /// Undefined dynamic symbols, in the order in which the loader looks them up.
    pub imports: Vec<Import>,
    /// What the file was identified as by its exports, and the version evidence in it. `None` for a file that no
    /// recipe knows.
    pub identity: Option<Identity>,
    /// GPU code in the file; `None` where there is none.
    pub gpu: Option<GpuCode>,
}

impl ElfFacts {
    /// Bytes that they take in memory, as far as the file decides it.
    pub fn memory(&self) -> u64 {
        let text = |text: &String| size_of::<String>() + text.len();
        let versions = |need: &VersionNeed| {
            let names = need.versions.iter().map(|(name, _)| text(name));
            text(&need.file) + names.sum::<usize>()
        };
        let texts = self.needed.iter().chain(&self.version_definitions);
        let single = [&self.soname, &self.rpath, &self.runpath, &self.interpreter];
        let bytes = size_of::<ElfFacts>()
            + texts
                .chain(single.into_iter().flatten())
                .map(text)
                .sum::<usize>()
            + self.version_needs.iter().map(versions).sum::<usize>()
            + self
                .imports
                .iter()
                .map(|it| size_of::<Import>() + it.name.len())
                .sum::<usize>()
            + self.exports.len() * size_of::<u64>();
        bytes as u64
    }
}

/// The versions that one needed file must define.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionNeed {
    /// The needed file, by SONAME.
    pub file: String,
    /// Version names, with whether the reference is weak (VER_FLG_WEAK).
    pub versions: Vec<(String, bool)>,
}

/// The defined dynamic symbols of a file, with their versions, as sorted hashes.
///
/// Ask with [`Exports::defines`], or of many files with a [`SymbolRequest`](super::SymbolRequest).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// Sorted; the bits are described in `exports.rs`.
    pub(super) definitions: Vec<u64>,
    /// For each value of the uppermost bits of a definition, where in `definitions` these start; one more for the end.
    pub(super) index: Vec<u32>,
    /// The number of the other bits.
    pub(super) shift: u32,
}

/// One undefined dynamic symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Mangled name.
    pub name: String,
    /// Index into the versions of [`ElfFacts::version_needs`], counted through all files; `None` if unversioned.
    pub version: Option<u16>,
    /// STB_WEAK: may stay undefined.
    pub weak: bool,
    /// When it is looked up.
    pub bound: Bound,
}

/// When glibc's loader looks a symbol up: where a relocation refers to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Never: no relocation refers to it, or it is hidden.
    Never,
    /// At load under RTLD_NOW, LD_BIND_NOW or DF_BIND_NOW/DF_1_NOW, else when the function is first called: only the
    /// procedure linkage table (DT_JMPREL) refers to it.
    #[default]
    Lazy,
    /// Always at load.
    Now,
}

/// Which library a file is, and what its bytes say of its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// A name of the recipe table, such as `cuda-runtime`, `cudnn`, `torch-cuda`, `driver`.
    pub library: String,
    /// Which part of a library that comes in several files, such as `graph` of cuDNN; `stub` for a stub.
    pub part: Option<String>,
    /// What was read, strongest first.
    pub readings: Vec<Reading>,
}

/// One value read from a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// What the value is: `version`, `built-with-cuda`, `compiled-cudnn`, `compiled-cuda`, `compiled-nccl`,
    /// `max-device`, `min-device`, `static-cudart`, `arch-list`, `cuda-level` …
    pub fact: String,
    /// Dotted for versions: `12.8`, `9.10.2`.
    pub value: String,
    /// How it was read.
    pub kind: ReadingKind,
    /// Where: the export, the string or the section.
    pub detail: String,
}

/// How a value was read from a file's bytes, in the order of trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingKind {
    /// A constant in machine code or a data object.
    Code,
    /// A string.
    String,
}

/// The GPU code in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuCode {
    /// Whether only some of the containers were looked at: then all numbers are theirs ([`Depth::Sampled`](super::Depth)).
    pub sampled: bool,
    /// Number of fat-binary containers.
    pub containers: u32,
    /// Number of entries in them.
    pub entries: u32,
    /// For each architecture with SASS, in how many containers it is: `("sm_90a", 4)`.
    pub sass: Vec<(String, u32)>,
    /// For each architecture with PTX, in how many containers: `("compute_90", 1)`.
    pub ptx: Vec<(String, u32)>,
    /// For each architecture with PTX, the newest version of the PTX instruction set that it is written in: `("compute_90", "8.7")`.
    /// Which driver can compile it depends on that.
    pub ptx_isa: Vec<(String, String)>,
    /// For each architecture with LTO-IR, in how many containers.
    pub lto: Vec<(String, u32)>,
    /// A container could not be read to its end.
    pub damaged: bool,
}
