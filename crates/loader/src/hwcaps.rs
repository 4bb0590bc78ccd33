//! Processor-specific subdirectories, which glibc searches before each directory of a search path.
//!
//! There are two mechanisms: `glibc-hwcaps/x86-64-v3` and similar since glibc 2.33, and until 2.36 an older one with
//! all combinations of a few names (`tls/haswell/x86_64`). Source: glibc's `NEWS` for 2.26, 2.33 and 2.37, `elf/dl-hwcaps.c`
//! (`_dl_important_hwcaps`), `sysdeps/x86/dl-hwcap.h`, `sysdeps/x86/cpu-features.c` (`init_cpu_features`), and
//! `sysdeps/unix/sysv/linux/aarch64/dl-procinfo.h`.

use std::fmt;

use super::abi::Abi;
use imgcheck_elf::ElfFacts;

/// A release of glibc: `2.36`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlibcVersion {
    /// The number before the dot.
    pub major: u32,
    /// The number after the dot.
    pub minor: u32,
}

impl GlibcVersion {
    /// Assumed if the C library does not contain its release.
    pub const ASSUMED: Self = GlibcVersion::new(2, 40);

    /// A release of glibc.
    pub const fn new(major: u32, minor: u32) -> Self {
        GlibcVersion { major, minor }
    }

    /// Parses `2.36` or a version definition, `GLIBC_2.36`; ignores a patch release.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("GLIBC_").unwrap_or(text);
        let mut numbers = text.split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some(GlibcVersion { major, minor }),
            _ => None,
        }
    }

    /// The release of the C library in a file with this name: from the banner that it prints when it is run, or until 2.33 from the
    /// file name (`libc-2.31.so`). The highest symbol version is only a lower bound, because some releases add no symbols (2.31 and
    /// 2.37 on x86-64).
    pub fn of_library(name: &str, elf: &ElfFacts) -> Option<Self> {
        let identity = elf.identity.as_ref().filter(|it| it.library == "glibc");
        let readings = identity.map_or(&[][..], |it| &it.readings);
        let said = readings
            .iter()
            .filter(|reading| reading.fact == "version")
            .map(|reading| reading.value.as_str());
        let named = name
            .strip_prefix("libc-")
            .and_then(|rest| rest.strip_suffix(".so"));
        let releases = said.chain(named).filter_map(Self::parse);
        releases
            .chain(Self::of_definitions(&elf.version_definitions))
            .max()
    }

    /// The highest release among the symbol versions of a C library.
    fn of_definitions(definitions: &[String]) -> Option<Self> {
        let versions = definitions.iter().filter(|name| name.starts_with("GLIBC_"));
        versions.filter_map(|name| Self::parse(name)).max()
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// The assumed capabilities of the host's processor: a microarchitecture level of the x86-64 psABI. Ignored on other
/// architectures; AArch64 processors are assumed to have the atomic instructions of Armv8.1 (LSE), as all server processors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CpuLevel {
    /// The baseline.
    V1,
    /// SSE4.2.
    V2,
    /// AVX2. The default: all server processors since Intel's Haswell (2013) and AMD's Zen (2017) have it, and so do nearly all hosts
    /// with a current GPU. AMD's Zen 2 and 3 and Intel's desktop processors lack AVX-512.
    #[default]
    V3,
    /// AVX-512.
    V4,
}

const TLS_BIT: u32 = 63;
const SSE2_BIT: u32 = 0;
const X86_64_BIT: u32 = 1;
const AVX512_BIT: u32 = 2;
const ATOMICS_BIT: u32 = 8;
const I586_BIT: u32 = 48;
const I686_BIT: u32 = 49;
const HASWELL_BIT: u32 = 50;
const XEON_PHI_BIT: u32 = 51;

/// The subdirectories that the loader searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hwcaps {
    abi: Abi,
    glibc: GlibcVersion,
    level: CpuLevel,
}

impl Hwcaps {
    /// Creates the subdirectories for processes with this ABI and glibc on this processor.
    ///
    /// For the older mechanism, an Intel processor is assumed; on others, glibc before 2.37 searches `x86_64` instead of `haswell`.
    pub fn new(abi: Abi, glibc: GlibcVersion, level: CpuLevel) -> Self {
        Hwcaps { abi, glibc, level }
    }

    /// The ABI of the process.
    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// The subdirectories of `glibc-hwcaps` that the loader uses, best first.
    pub fn active(&self) -> &'static [&'static str] {
        const LEVELS: &[&str] = &["x86-64-v4", "x86-64-v3", "x86-64-v2"];
        match self.abi {
            Abi::X86_64 | Abi::X32 if self.glibc >= GlibcVersion::new(2, 33) => {
                &LEVELS[CpuLevel::V4 as usize - self.level as usize..]
            }
            _ => &[],
        }
    }

    /// All subdirectories that the loader searches before each directory of a search path, in order, without trailing slashes. As in
    /// glibc, the list may contain duplicates.
    pub fn subdirectories(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .active()
            .iter()
            .map(|name| format!("glibc-hwcaps/{name}"))
            .collect();
        let names = self.older_names();
        // Every combination of the names, from all of them to the last one alone, like a binary number that counts down.
        for combination in (1..1_u32 << names.len()).rev() {
            let chosen: Vec<&str> = names
                .iter()
                .enumerate()
                .filter(|(at, _)| combination >> (names.len() - 1 - at) & 1 == 1)
                .map(|(_, name)| *name)
                .collect();
            all.push(chosen.join("/"));
        }
        all
    }

    /// The names of the older mechanism, outermost directory first: `tls`, the platform, the capabilities.
    fn older_names(&self) -> &'static [&'static str] {
        if self.glibc >= GlibcVersion::new(2, 37) {
            return &[];
        }
        match (self.abi, self.level) {
            (Abi::I386, _) => &["tls", "i686", "sse2"],
            (Abi::Aarch64, _) => &["tls", "aarch64", "atomics"],
            _ if self.glibc < GlibcVersion::new(2, 26) => &["tls", "x86_64"],
            (_, CpuLevel::V1 | CpuLevel::V2) => &["tls", "x86_64", "x86_64"],
            (_, CpuLevel::V3) => &["tls", "haswell", "x86_64"],
            (_, CpuLevel::V4) => &["tls", "haswell", "avx512_1", "x86_64"],
        }
    }

    /// The position of a subdirectory of `glibc-hwcaps`, 0 for the best; `None` if the loader does not use it.
    pub(crate) fn rank(&self, subdirectory: &str) -> Option<usize> {
        self.active().iter().position(|name| *name == subdirectory)
    }

    /// Whether the processor has the level that a file in a subdirectory of `glibc-hwcaps` requires.
    pub(crate) fn accepts_isa_level(&self, level: u16) -> bool {
        self.abi == Abi::Aarch64 || level <= self.level as u16
    }

    /// Whether the processor fits the capability bits of a cache entry: it has every capability, and the platform is its own.
    pub(crate) fn accepts_bits(&self, bits: u64) -> bool {
        if bits == 0 || self.glibc >= GlibcVersion::new(2, 37) {
            return bits == 0;
        }
        let (capabilities, platforms, own_platform): (&[u32], &[u32], Option<u32>) = match self.abi
        {
            Abi::I386 => (&[SSE2_BIT], &[I586_BIT, I686_BIT], Some(I686_BIT)),
            Abi::Aarch64 => (&[ATOMICS_BIT], &[], None),
            Abi::X86_64 | Abi::X32 => (
                match self.level {
                    CpuLevel::V4 => &[X86_64_BIT, AVX512_BIT],
                    _ => &[X86_64_BIT],
                },
                &[I586_BIT, I686_BIT, HASWELL_BIT, XEON_PHI_BIT],
                (self.level >= CpuLevel::V3).then_some(HASWELL_BIT),
            ),
        };
        let mask = |bits: &[u32]| bits.iter().fold(0, |mask, bit| mask | 1_u64 << bit);
        let platform = bits & mask(platforms);
        bits & !(mask(capabilities) | mask(platforms) | 1 << TLS_BIT) == 0
            && (platform == 0 || own_platform.is_some_and(|own| platform == 1 << own))
    }
}

/// The capability bit of a directory name in the older mechanism; `None` if the name has no meaning for this ABI. On x86, `ldconfig`
/// knows the names of both 32-bit and 64-bit processors.
pub(crate) fn older_bit(abi: Abi, directory: &str) -> Option<u32> {
    let bit = match (abi, directory) {
        (_, "tls") => TLS_BIT,
        (Abi::Aarch64, "atomics") => ATOMICS_BIT,
        (Abi::Aarch64, _) => return None,
        (_, "sse2") => SSE2_BIT,
        (_, "x86_64") => X86_64_BIT,
        (_, "avx512_1") => AVX512_BIT,
        (_, "i586") => I586_BIT,
        (_, "i686") => I686_BIT,
        (_, "haswell") => HASWELL_BIT,
        (_, "xeon_phi") => XEON_PHI_BIT,
        _ => return None,
    };
    Some(bit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use imgcheck_elf::facts::{Identity, Reading, ReadingKind};

    fn of(abi: Abi, glibc: &str, level: CpuLevel) -> String {
        let glibc = GlibcVersion::parse(glibc).unwrap();
        Hwcaps::new(abi, glibc, level).subdirectories().join(":")
    }

    #[test]
    fn as_the_real_loaders_list_them() {
        // `LD_DEBUG=libs LD_LIBRARY_PATH=/x /bin/true` on an Intel processor with AVX-512; Debian 11, 12 and 13.
        let older = "tls/haswell/avx512_1/x86_64:tls/haswell/avx512_1:tls/haswell/x86_64:tls/haswell:tls/avx512_1/x86_64:\
            tls/avx512_1:tls/x86_64:tls:haswell/avx512_1/x86_64:haswell/avx512_1:haswell/x86_64:haswell:avx512_1/x86_64:avx512_1:x86_64";
        let newer = "glibc-hwcaps/x86-64-v4:glibc-hwcaps/x86-64-v3:glibc-hwcaps/x86-64-v2";
        assert_eq!(of(Abi::X86_64, "2.31", CpuLevel::V4), older);
        assert_eq!(
            of(Abi::X86_64, "2.36", CpuLevel::V4),
            format!("{newer}:{older}")
        );
        assert_eq!(of(Abi::X86_64, "2.41", CpuLevel::V4), newer);
        // With GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512CD,-AVX512BW, and with -AVX2 as well.
        assert_eq!(
            of(Abi::X86_64, "2.31", CpuLevel::V3),
            "tls/haswell/x86_64:tls/haswell:tls/x86_64:tls:haswell/x86_64:haswell:x86_64"
        );
        assert_eq!(
            of(Abi::X86_64, "2.31", CpuLevel::V2),
            "tls/x86_64/x86_64:tls/x86_64:tls/x86_64:tls:x86_64/x86_64:x86_64:x86_64"
        );
    }

    #[test]
    fn by_level_and_architecture() {
        assert_eq!(
            of(Abi::X86_64, "2.39", CpuLevel::V3),
            "glibc-hwcaps/x86-64-v3:glibc-hwcaps/x86-64-v2"
        );
        assert_eq!(of(Abi::X86_64, "2.39", CpuLevel::V1), "");
        assert_eq!(
            of(Abi::X86_64, "2.17", CpuLevel::V4),
            "tls/x86_64:tls:x86_64"
        );
        assert_eq!(of(Abi::Aarch64, "2.39", CpuLevel::V3), "");
        assert_eq!(
            of(Abi::Aarch64, "2.31", CpuLevel::V3),
            "tls/aarch64/atomics:tls/aarch64:tls/atomics:tls:aarch64/atomics:aarch64:atomics"
        );
    }

    #[test]
    fn bits_of_cache_entries() {
        let bits = |names: &[&str]| {
            names.iter().fold(0, |bits, name| {
                bits | 1_u64 << older_bit(Abi::X86_64, name).unwrap()
            })
        };
        let accepts = |glibc: &str, level, names: &[&str]| {
            let glibc = GlibcVersion::parse(glibc).unwrap();
            Hwcaps::new(Abi::X86_64, glibc, level).accepts_bits(bits(names))
        };
        assert!(accepts("2.31", CpuLevel::V3, &["haswell", "tls"]));
        assert!(!accepts("2.31", CpuLevel::V2, &["haswell"]));
        assert!(!accepts("2.31", CpuLevel::V4, &["xeon_phi"]));
        assert!(!accepts("2.31", CpuLevel::V4, &["sse2"]));
        assert!(accepts("2.36", CpuLevel::V4, &["avx512_1", "x86_64"]));
        assert!(!accepts("2.36", CpuLevel::V3, &["avx512_1"]));
        assert!(!accepts("2.37", CpuLevel::V4, &["x86_64"]));
        assert!(accepts("2.37", CpuLevel::V1, &[]));
    }

    /// The glibc 2.31 of Debian 11, whose newest symbol version is `GLIBC_2.30`.
    #[test]
    fn the_release_is_that_of_the_banner_or_of_the_file_name() {
        let bare = ElfFacts {
            version_definitions: ["GLIBC_2.2.5", "GLIBC_2.30"].map(str::to_owned).to_vec(),
            ..ElfFacts::default()
        };
        let banner = ElfFacts {
            identity: Some(Identity {
                library: "glibc".to_owned(),
                part: None,
                readings: vec![Reading {
                    fact: "version".to_owned(),
                    value: "2.31".to_owned(),
                    kind: ReadingKind::String,
                    detail: String::new(),
                }],
            }),
            ..bare.clone()
        };
        for (name, elf, minor) in [
            ("libc.so.6", &bare, 30),
            ("libc-2.31.so", &bare, 31),
            ("libc-2.17.so", &bare, 30),
            ("libc.so.6", &banner, 31),
        ] {
            let expected = Some(GlibcVersion::new(2, minor));
            assert_eq!(GlibcVersion::of_library(name, elf), expected, "{name}");
        }
        assert_eq!(
            GlibcVersion::of_library("libc.so.6", &ElfFacts::default()),
            None
        );
    }

    #[test]
    fn releases() {
        let names = ["GLIBC_2.4", "GLIBC_2.36", "GLIBC_PRIVATE", "GLIBC_2.9"].map(str::to_owned);
        let newest = GlibcVersion::of_definitions(&names);
        assert_eq!(newest, Some(GlibcVersion::new(2, 36)));
        assert_eq!(
            GlibcVersion::parse("2.31.1"),
            Some(GlibcVersion::new(2, 31))
        );
        assert_eq!(GlibcVersion::parse("two"), None);
    }
}
