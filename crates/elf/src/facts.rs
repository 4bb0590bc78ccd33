//! The facts of one ELF file: what its bytes say, without any judgement. They depend on nothing else, and equal bytes give equal facts.
//!
//! "gABI" is the [System V ABI](https://www.sco.com/developers/gabi/latest/contents.html), "LSB" the
//! [Linux Standard Base](https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html).

use goblin::elf::dynamic::DF_1_PIE;
use goblin::elf::header::ET_EXEC;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::exports::Exports;
pub use super::imports::{Bound, Import, Imports};
use super::refusal::Refusal;

/// The facts of one ELF file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ElfFacts {
    /// Size of addresses in bits, 32 or 64. Source: EI_CLASS (gABI, "ELF Identification").
    pub class: u8,
    /// Instruction set: 62 is x86-64, 183 is AArch64. Source: `e_machine` (gABI, "ELF Header").
    pub machine: u16,
    /// 2 is an executable, 3 a shared object. Source: `e_type` (gABI, "ELF Header").
    pub object_type: u16,
    /// Why glibc's loader refuses the file. Source: the headers, checked as in glibc's elf/dl-load.c.
    pub refusal: Option<Refusal>,
    /// The name by which other files need this one. Source: DT_SONAME (gABI, "Dynamic Section").
    pub soname: Option<String>,
    /// The needed files, in the order of the file. Source: DT_NEEDED.
    pub needed: Vec<String>,
    /// Search directories separated by colons, with variables such as `$ORIGIN`. Source: DT_RPATH.
    pub rpath: Option<String>,
    /// Search directories, as in `rpath`. Source: DT_RUNPATH.
    pub runpath: Option<String>,
    /// Bits DF_*. Source: DT_FLAGS.
    pub flags: u64,
    /// Bits DF_1_*. Source: DT_FLAGS_1 (Solaris Linkers and Libraries Guide; glibc's elf/elf.h).
    pub flags_1: u64,
    /// The loader of an executable. Source: PT_INTERP (gABI, "Program Header").
    pub interpreter: Option<String>,
    /// Lowercase hexadecimal. Source: the note NT_GNU_BUILD_ID (binutils, include/elf/common.h).
    pub build_id: Option<String>,
    /// Whether the file requests an executable stack; missing without the header. Source: flags of PT_GNU_STACK (LSB, "Program
    /// Header").
    pub executable_stack: Option<bool>,
    /// The versions that each needed file must define. Source: DT_VERNEED (LSB, "Symbol Versioning").
    pub version_needs: Vec<VersionNeed>,
    /// The versions that this file defines, without the base version. Source: DT_VERDEF (LSB, "Symbol Versioning").
    pub version_definitions: Vec<String>,
    /// Whether symbols have versions. Source: presence of DT_VERSYM (LSB, "Symbol Versioning").
    pub symbol_versions: bool,
    /// The symbols that this file defines. Source: DT_SYMTAB (gABI, "Symbol Table"), DT_VERSYM.
    pub exports: Exports,
    /// The undefined symbols, in the order in which glibc looks them up. Source: DT_SYMTAB, DT_VERSYM, DT_RELA, DT_REL, DT_JMPREL
    /// (gABI, "Relocation").
    #[schemars(with = "Vec<Import>")]
    pub imports: Imports,
    /// The known library that the file is, and its versions; missing if no recipe matches. Source: exports, code and constants,
    /// after `rules/knowledge/libraries.yaml`.
    pub identity: Option<Identity>,
    /// The GPU code in the file; missing if it has no GPU code. Source: fat binaries (the module `fat_binary::format`).
    pub gpu: Option<GpuCode>,
}

/// The versions that one needed file must define.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionNeed {
    /// SONAME of the needed file. Source: `vn_file`.
    pub file: String,
    /// Version names, each with whether the file may lack it. Source: `vna_name`, VER_FLG_WEAK in `vna_flags`.
    pub versions: Vec<(String, bool)>,
}

/// Which known library a file is, and which versions are in its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Name in the recipe table, such as `cuda-runtime`, `cudnn`, `driver`.
    pub library: String,
    /// Which file of a library that consists of several, such as `graph` of cuDNN; `stub` for a stub library.
    pub part: Option<String>,
    /// What the readers found, the most trusted first.
    pub readings: Vec<Reading>,
}

/// One value read from the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// What the value is: `version`, `built-with-cuda`, `compiled-cudnn`, `compiled-cuda`, `compiled-nccl`, `max-device`,
    /// `static-cudart`, `arch-list`, `cuda-level`, `compat-cuda`, `compat-drivers`.
    pub fact: String,
    /// The value; versions with dots, such as `12.8` and `9.10.2`.
    pub value: String,
    /// How it was read.
    pub kind: ReadingKind,
    /// Where it was read: the export, the string or the section.
    pub detail: String,
}

/// How a value was read, the most trusted first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingKind {
    /// From a constant in machine code or a data object.
    Code,
    /// From a string.
    String,
}

/// The GPU code in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuCode {
    /// Whether only some of the containers were read ([`Depth::Sampled`](super::Depth)); all counts are of those.
    pub sampled: bool,
    /// Number of fat-binary containers.
    pub containers: u32,
    /// Number of entries in them.
    pub entries: u32,
    /// In how many containers there is SASS for each architecture: `("sm_90a", 4)`. Ordered by architecture.
    pub sass: Vec<(String, u32)>,
    /// In how many containers there is PTX for each architecture: `("compute_90", 1)`. Ordered by architecture.
    pub ptx: Vec<(String, u32)>,
    /// The newest PTX instruction set of each architecture, which decides what drivers can compile it: `("compute_90", "8.7")`.
    pub ptx_isa: Vec<(String, String)>,
    /// In how many containers there is LTO-IR for each architecture: `("lto_90", 1)`. Ordered by architecture.
    pub lto: Vec<(String, u32)>,
    /// Bytes in the file of the code for each architecture: `("sm_90a", 1024)`. Entries that are compressed together have the names of all:
    /// `("sm_80 sm_90", 2048)`. Ordered by name.
    #[serde(default)]
    pub bytes: Vec<(String, u64)>,
    /// Whether a container could not be read to its end.
    pub damaged: bool,
}

impl ElfFacts {
    /// Why the file cannot be loaded as a library, by DT_NEEDED or `dlopen`; `None` if it can. DF_1_NOOPEN prevents only `dlopen`,
    /// and is considered there.
    pub fn refusal_as_library(&self) -> Option<Refusal> {
        match self.refusal {
            None | Some(Refusal::Truncated) if self.object_type == ET_EXEC => {
                Some(Refusal::Executable)
            }
            None if self.flags_1 & DF_1_PIE != 0 => Some(Refusal::PositionIndependentExecutable),
            refusal => refusal,
        }
    }

    /// Approximate size in memory, in bytes, of what the file can make large.
    pub fn memory(&self) -> u64 {
        let text = |text: &String| size_of::<String>() + text.len();
        let versions = |need: &VersionNeed| {
            let names = need.versions.iter().map(|(name, _)| text(name));
            text(&need.file) + names.sum::<usize>()
        };
        let single = [&self.soname, &self.rpath, &self.runpath, &self.interpreter];
        let texts = self.needed.iter().chain(&self.version_definitions);
        let texts = texts.chain(single.into_iter().flatten()).map(text);
        let needs = self.version_needs.iter().map(versions);
        let bytes = size_of::<ElfFacts>()
            + texts.chain(needs).sum::<usize>()
            + self.imports.memory()
            + self.exports.len() * size_of::<u64>();
        bytes as u64
    }
}
