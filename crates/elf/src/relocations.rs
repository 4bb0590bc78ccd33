//! The symbols that relocations refer to: glibc looks up no others.
//!
//! [gABI, "Relocation"](https://www.sco.com/developers/gabi/latest/ch4.reloc.html). The order and extent of the tables are those of
//! glibc's elf/dynamic-link.h and elf/do-rel.h. Relative relocations, which come first and are most of a table, are not read.

use std::ops::{ControlFlow, Range};

use goblin::elf::dynamic::{
    DT_JMPREL, DT_PLTREL, DT_PLTRELSZ, DT_REL, DT_RELA, DT_RELACOUNT, DT_RELASZ, DT_RELCOUNT,
    DT_RELSZ,
};

use super::dynamic::Dynamic;
use super::error::{ElfError, broken};
use super::facts::Bound;
use super::object::{AARCH64, Object, WINDOW, X86_64};

/// `e_machine` of i386.
const I386: u16 = 3;
/// `e_machine` of MIPS, whose global offset table refers to symbols without relocations.
const MIPS: u16 = 8;
/// The relocation type that does nothing, on all machines.
const NOTHING: u32 = 0;

/// When each dynamic symbol is looked up, by its index.
pub(crate) struct Relocations {
    bound: Vec<Bound>,
    /// Position in the order of lookups, of symbols that are looked up.
    order: Vec<u32>,
    next: u32,
}

/// One table of relocations.
struct Table {
    start: u64,
    size: u64,
    entry: u64,
    /// Entries at the start that refer to no symbol.
    relative: u64,
    /// In the procedure linkage table: the entries of this type, or all, wait until the function is called.
    lazy: Option<Option<u32>>,
}

impl Relocations {
    /// Reads all tables; `count` is the number of dynamic symbols.
    pub fn read(object: &Object, dynamic: &Dynamic, count: u64) -> Result<Self, ElfError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if object.machine == MIPS {
            return Ok(Relocations::new(vec![Bound::Now; count]));
        }
        let mut relocations = Relocations::new(vec![Bound::Never; count]);
        for table in tables(object, dynamic) {
            relocations.read_table(object, &table)?;
        }
        Ok(relocations)
    }

    fn new(bound: Vec<Bound>) -> Self {
        Relocations {
            order: vec![u32::MAX; bound.len()],
            bound,
            next: 0,
        }
    }

    /// When the symbol with this index is looked up.
    pub fn of(&self, symbol: usize) -> Bound {
        self.bound.get(symbol).copied().unwrap_or(Bound::Never)
    }

    /// The position of the symbol with this index in the order in which glibc looks symbols up: that of the first relocation that
    /// refers to it. Symbols without relocations come last.
    pub fn place(&self, symbol: usize) -> u32 {
        self.order.get(symbol).copied().unwrap_or(u32::MAX)
    }

    fn read_table(&mut self, object: &Object, table: &Table) -> Result<(), ElfError> {
        let Some(range) = table.symbolic(object)? else {
            return Ok(());
        };
        // Windows overlap by the incomplete entry at the end.
        let overlap = WINDOW % table.entry as usize;
        object.windows(range, overlap, |_, bytes| {
            self.mark(bytes, table);
            ControlFlow::<()>::Continue(())
        })?;
        Ok(())
    }

    fn mark(&mut self, bytes: &[u8], table: &Table) {
        for words in bytes.as_chunks().0.chunks_exact(table.entry as usize / 4) {
            // In ELF32, address and information are one word each, in ELF64 two. An addend may follow.
            let (symbol, kind) = match *words {
                [_, info] | [_, info, _] => {
                    let info = u32::from_le_bytes(info);
                    (info >> 8, info & 0xff)
                }
                [_, _, kind, symbol, ..] => (u32::from_le_bytes(symbol), u32::from_le_bytes(kind)),
                _ => return,
            };
            let Some(bound) = self.bound.get_mut(symbol as usize) else {
                continue;
            };
            if kind == NOTHING {
                continue;
            }
            if *bound == Bound::Never {
                self.order[symbol as usize] = self.next;
                self.next += 1;
            }
            *bound = match table.lazy {
                Some(slot) if slot.is_none_or(|slot| slot == kind) => Bound::Lazy.max(*bound),
                _ => Bound::Now,
            };
        }
    }
}

impl Table {
    /// The range of the file with the entries that may refer to a symbol.
    fn symbolic(&self, object: &Object) -> Result<Option<Range<u64>>, ElfError> {
        let entries = self.size / self.entry;
        let skipped = self.relative.min(entries) * self.entry;
        let length = entries * self.entry - skipped;
        if length == 0 {
            return Ok(None);
        }
        let place = object.locate(self.start.saturating_add(skipped));
        match place {
            Some((offset, left)) if length <= left => Ok(Some(offset..offset + length)),
            _ => Err(broken(format!(
                "the relocations, {} bytes at address {:#x}, are not in a segment",
                self.size, self.start
            ))),
        }
    }
}

/// The tables of a file: DT_RELA, DT_REL and DT_JMPREL. The last is not read twice if the linker made it part of another one.
fn tables(object: &Object, dynamic: &Dynamic) -> Vec<Table> {
    let (with_addend, without) = if object.class == 64 {
        (24, 16)
    } else {
        (12, 8)
    };
    let value = |tag| dynamic.value(tag).unwrap_or(0);
    let jumps = Table {
        start: value(DT_JMPREL),
        size: value(DT_PLTRELSZ),
        entry: match value(DT_PLTREL) {
            DT_REL => without,
            _ => with_addend,
        },
        relative: 0,
        lazy: Some(jump_slot(object.machine)),
    };
    let table = |start, size, count, entry| {
        let (start, size) = (value(start), value(size));
        let both = start.saturating_add(size) == jumps.start.saturating_add(jumps.size);
        Table {
            start,
            size: if both {
                size.saturating_sub(jumps.size)
            } else {
                size
            },
            entry,
            relative: value(count),
            lazy: None,
        }
    };
    vec![
        table(DT_RELA, DT_RELASZ, DT_RELACOUNT, with_addend),
        table(DT_REL, DT_RELSZ, DT_RELCOUNT, without),
        jumps,
    ]
}

/// The relocation type that `elf_machine_lazy_rel` (glibc's sysdeps/*/dl-machine.h) leaves for later; it resolves others in the
/// table, such as TLS descriptors. `None`, all of the table, for machines that were not examined.
fn jump_slot(machine: u16) -> Option<u32> {
    match machine {
        X86_64 | I386 => Some(7),
        AARCH64 => Some(1026),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(entries: &[(u32, u32)], lazy: Option<Option<u32>>, narrow: bool) -> Vec<Bound> {
        let mut bytes = Vec::new();
        for (symbol, kind) in entries {
            if narrow {
                bytes.extend([0; 4]);
                bytes.extend((symbol << 8 | kind).to_le_bytes());
            } else {
                bytes.extend([0; 8]);
                bytes.extend(kind.to_le_bytes());
                bytes.extend(symbol.to_le_bytes());
                bytes.extend([0; 8]);
            }
        }
        let entry = if narrow { 8 } else { 24 };
        let (start, size, relative) = (0, bytes.len() as u64, 0);
        let table = Table {
            start,
            size,
            entry,
            relative,
            lazy,
        };
        let mut relocations =
            Relocations::new(vec![Bound::Never, Bound::Never, Bound::Now, Bound::Lazy]);
        relocations.mark(&bytes, &table);
        relocations.bound
    }

    #[test]
    fn the_earliest_lookup_counts() {
        use Bound::{Lazy, Never, Now};
        let entries = [(1, 7), (2, 7), (900, 7)];
        for narrow in [false, true] {
            assert_eq!(marked(&entries, None, narrow), [Never, Now, Now, Lazy]);
            assert_eq!(
                marked(&entries, Some(Some(7)), narrow),
                [Never, Lazy, Now, Lazy]
            );
            assert_eq!(
                marked(&entries, Some(None), narrow),
                [Never, Lazy, Now, Lazy]
            );
            assert_eq!(
                marked(&[(1, 36)], Some(Some(7)), narrow),
                [Never, Now, Now, Lazy]
            );
            assert_eq!(marked(&[(1, 0)], None, narrow), [Never, Never, Now, Lazy]);
        }
    }
}
