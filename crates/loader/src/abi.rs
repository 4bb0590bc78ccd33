//! The calling conventions whose libraries glibc distinguishes.

/// The ABI of a process, and so of every library that it can load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Abi {
    /// x86-64, 64-bit pointers.
    X86_64,
    /// x86-64, 32-bit pointers.
    X32,
    /// 32-bit x86.
    I386,
    /// 64-bit Arm.
    Aarch64,
}

/// Any ELF library, in the `flags` of an entry of `ld.so.cache` (`FLAG_ELF`, glibc's `sysdeps/generic/ldconfig.h`).
pub(crate) const ELF: u32 = 1;
/// A library for libc 5 (`FLAG_ELF_LIBC5`).
pub(crate) const ELF_LIBC5: u32 = 2;
/// A library for libc 6, which is glibc (`FLAG_ELF_LIBC6`).
pub(crate) const ELF_LIBC6: u32 = 3;

impl Abi {
    /// The ABI of an ELF file: `machine` is its `e_machine`, `class` 32 or 64. `None` for one that is not known here.
    pub fn of(machine: u16, class: u8) -> Option<Self> {
        match (machine, class) {
            (62, 64) => Some(Abi::X86_64),
            (62, 32) => Some(Abi::X32),
            (3, 32) => Some(Abi::I386),
            (183, 64) => Some(Abi::Aarch64),
            _ => None,
        }
    }

    /// The `flags` that `ldconfig` writes for libraries of this ABI (`_DL_CACHE_DEFAULT_ID`, the architectures' `dl-cache.h`).
    pub fn cache_flags(self) -> u32 {
        match self {
            Abi::X86_64 => 0x0300 | ELF_LIBC6,
            Abi::X32 => 0x0800 | ELF_LIBC6,
            Abi::I386 => ELF_LIBC6,
            Abi::Aarch64 => 0x0a00 | ELF_LIBC6,
        }
    }

    /// Whether the loader takes cache entries with these `flags` (`_dl_cache_check_flags`): 32-bit x86 also takes libraries that
    /// name no libc.
    pub fn accepts(self, flags: u32) -> bool {
        flags == self.cache_flags() || (self == Abi::I386 && flags == ELF)
    }

    /// The name of Debian's multiarch directories, such as `x86_64-linux-gnu`.
    pub fn multiarch(self) -> &'static str {
        match self {
            Abi::X86_64 => "x86_64-linux-gnu",
            Abi::X32 => "x86_64-linux-gnux32",
            Abi::I386 => "i386-linux-gnu",
            Abi::Aarch64 => "aarch64-linux-gnu",
        }
    }
}
