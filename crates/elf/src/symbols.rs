//! The dynamic symbols: how many there are, and which are defined and undefined.
//!
//! [gABI, "Symbol Table"](https://www.sco.com/developers/gabi/latest/ch4.symtab.html) and
//! ["Hash Table"](https://www.sco.com/developers/gabi/latest/ch5.dynamic.html#hash); DT_GNU_HASH as in glibc's elf/dl-lookup.c.

use std::collections::VecDeque;
use std::hint::black_box;
use std::iter;

use goblin::elf::dynamic::{DT_GNU_HASH, DT_HASH, DT_SYMTAB};
use goblin::elf::sym::{
    STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STT_FILE, STT_GNU_IFUNC, STT_SECTION, STT_TLS,
    STV_HIDDEN, STV_INTERNAL, Sym, Symtab,
};
use xxhash_rust::xxh3::xxh3_64;

use super::candidate::Export;
use super::dynamic::Dynamic;
use super::error::{ElfError, broken};
use super::exports::definition;
use super::facts::{Bound, Exports, Import, Imports};
use super::object::{AARCH64, Object};
use super::recipes::Recipes;
use super::relocations::Relocations;
use super::versions::Versions;
use imgcheck_base::limits::Limit;

/// `SHN_ABS`: the value is not an address.
const ABSOLUTE: usize = 0xfff1;
/// Present if functions are marked with [`VARIANT_PCS`]
/// ([ELF for the Arm 64-bit Architecture](https://github.com/ARM-software/abi-aa/blob/main/aaelf64/aaelf64.rst), "Dynamic Section").
const DT_AARCH64_VARIANT_PCS: u64 = 0x7000_0005;
/// `STO_AARCH64_VARIANT_PCS`: not resolved lazily (same document, "Symbol Table").
const VARIANT_PCS: u8 = 0x80;
/// How many names are fetched from memory at a time.
const AHEAD: usize = 32;
/// How much of the last chain of a hash table is read at a time, in bytes.
const CHAIN: u64 = 4096;

/// How many symbols are read between two checks of the cancellation: a few milliseconds.
const CHECK_EVERY: usize = 1 << 14;

/// The dynamic symbols of one file.
#[derive(Default)]
pub(crate) struct Symbols {
    pub exports: Exports,
    pub imports: Imports,
    /// The exports that recipes ask for.
    pub asked: Vec<Export>,
}

impl Symbols {
    /// Reads the symbol table.
    pub fn read(
        object: &Object,
        dynamic: &Dynamic,
        versions: &Versions,
        count: u64,
        recipes: &Recipes,
    ) -> Result<Self, ElfError> {
        let Some((offset, length)) = extent(object, dynamic, count)? else {
            return Ok(Symbols::default());
        };
        let bytes = object.table("the symbol table", offset, length)?;
        let relocations = Relocations::read(object, dynamic, count)?;
        let variants = object.machine == AARCH64 && dynamic.value(DT_AARCH64_VARIANT_PCS).is_some();
        let table = Symtab::parse(&bytes, 0, count as usize, object.context())
            .map_err(|error| broken(format!("invalid symbol table: {error}")))?;
        let mut symbols = Symbols::default();
        let mut definitions = Vec::new();
        let mut imports = Vec::new();
        for (index, symbol) in prefetched(table.iter().enumerate().skip(1), dynamic.strings()) {
            if index.is_multiple_of(CHECK_EVERY) {
                object.bounds.cancellation.check()?;
            }
            if !matches!(symbol.st_bind(), STB_GLOBAL | STB_WEAK | STB_GNU_UNIQUE) {
                continue;
            }
            let name = dynamic.name(symbol.st_name)?;
            if name.is_empty() {
                continue;
            }
            if symbol.st_shndx == 0 {
                let import = Import {
                    name: String::from_utf8_lossy(name),
                    version: versions.needed(index),
                    weak: symbol.st_bind() == STB_WEAK,
                    bound: match relocations.of(index) {
                        _ if is_local(&symbol) => Bound::Never,
                        Bound::Lazy if variants && symbol.st_other & VARIANT_PCS != 0 => Bound::Now,
                        bound => bound,
                    },
                };
                imports.push((relocations.place(index), import));
            } else if is_visible(&symbol) {
                let hash = xxh3_64(name);
                let (version, answers) = versions.defined(index);
                definitions.push(definition(hash, version, answers));
                symbols.ask(name, hash, &symbol, recipes);
            }
        }
        // The loader reports the first symbol that it does not find.
        imports.sort_by_key(|(place, _)| *place);
        symbols.imports = imports.into_iter().map(|(_, import)| import).collect();
        symbols.exports = Exports::new(definitions);
        Ok(symbols)
    }

    /// Keeps a defined symbol that a recipe asks for.
    fn ask(&mut self, name: &[u8], hash: u64, symbol: &Sym, recipes: &Recipes) {
        let object = symbol.st_type() == goblin::elf::sym::STT_OBJECT;
        if recipes.asks_for(name, hash, object.then_some(symbol.st_size)) {
            self.asked.push(Export {
                name: String::from_utf8_lossy(name).into_owned(),
                address: symbol.st_value,
                size: symbol.st_size,
                object,
            });
        }
    }
}

/// The symbols in order, with several names at a time fetched from memory: they are all over a string table of many megabytes, and
/// waiting for each one in turn would take half of the time.
fn prefetched<'a>(
    mut symbols: impl Iterator<Item = (usize, Sym)> + 'a,
    strings: &'a [u8],
) -> impl Iterator<Item = (usize, Sym)> + 'a {
    let mut batch = VecDeque::with_capacity(AHEAD);
    iter::from_fn(move || {
        if batch.is_empty() {
            batch.extend(symbols.by_ref().take(AHEAD));
            let names = batch.iter().map(|(_, symbol)| symbol.st_name);
            let touched = names.filter_map(|name| strings.get(name));
            black_box(touched.fold(0, |all, byte| all ^ byte));
        }
        batch.pop_front()
    })
}

/// Whether glibc's `check_match` and `do_lookup_x` (elf/dl-lookup.c) would accept a defined symbol.
fn is_visible(symbol: &Sym) -> bool {
    let kind = symbol.st_type();
    let has_value = symbol.st_value != 0 || symbol.st_shndx == ABSOLUTE || kind == STT_TLS;
    let defines =
        !matches!(kind, STT_SECTION | STT_FILE) && kind <= STT_TLS || kind == STT_GNU_IFUNC;
    has_value && defines && !is_local(symbol)
}

/// Whether no other file may define or use the symbol.
fn is_local(symbol: &Sym) -> bool {
    matches!(symbol.st_visibility(), STV_HIDDEN | STV_INTERNAL)
}

/// Offset and length of the symbol table, checked against its segment.
fn extent(object: &Object, dynamic: &Dynamic, count: u64) -> Result<Option<(u64, u64)>, ElfError> {
    let Some(address) = dynamic.value(DT_SYMTAB) else {
        return Ok(None);
    };
    if count == 0 {
        return Ok(None);
    }
    let (offset, left) = object
        .locate(address)
        .ok_or_else(|| broken("the symbol table is not in a segment"))?;
    let length = count.checked_mul(Sym::size(object.context().container) as u64);
    match length {
        Some(length) if length <= left => Ok(Some((offset, length))),
        _ => Err(broken(format!(
            "{count} dynamic symbols do not fit into their segment"
        ))),
    }
}

/// The number of dynamic symbols; 0 without a table.
pub(crate) fn count(object: &Object, dynamic: &Dynamic) -> Result<u64, ElfError> {
    let count = claimed_count(object, dynamic)?;
    // A false number makes a broken file, whatever the limit is.
    if extent(object, dynamic, count)?.is_none() {
        return Ok(0);
    }
    object.bounds.limits.check(Limit::Symbols, count)?;
    Ok(count)
}

/// The number of symbols, which no header has: from DT_HASH, or from the end of the last DT_GNU_HASH chain. In a file without
/// exports, from the length of `.dynsym` or the start of the next table.
fn claimed_count(object: &Object, dynamic: &Dynamic) -> Result<u64, ElfError> {
    if let Some(address) = dynamic.value(DT_HASH) {
        let header = object.at_address(address, 8)?;
        if let Some(chains) = word(&header, 1) {
            return Ok(u64::from(chains));
        }
    }
    if let Some(address) = dynamic.value(DT_GNU_HASH)
        && let Some(count) = count_gnu(object, address)?
    {
        return Ok(count);
    }
    Ok(count_by_neighbour(object, dynamic))
}

fn count_gnu(object: &Object, address: u64) -> Result<Option<u64>, ElfError> {
    let header = object.at_address(address, 16)?;
    let (Some(buckets), Some(first), Some(bloom)) =
        (word(&header, 0), word(&header, 1), word(&header, 2))
    else {
        return Ok(None);
    };
    let bloom_word = u64::from(object.class / 8);
    let start = address
        .checked_add(16 + u64::from(bloom) * bloom_word)
        .ok_or_else(|| broken("DT_GNU_HASH ends past the end of the address space"))?;
    let table = object.at_address(start, u64::from(buckets) * 4)?;
    let last = table
        .chunks_exact(4)
        .filter_map(|bucket| word(bucket, 0))
        .max()
        .unwrap_or(0);
    let Some(mut index) = last.checked_sub(first).map(u64::from) else {
        return Ok(None);
    };
    let chains = start
        .checked_add(u64::from(buckets) * 4)
        .ok_or_else(|| broken("DT_GNU_HASH ends past the end of the address space"))?;
    loop {
        let at = chains.saturating_add(index * 4);
        let (window, hole) = object.held_at_address(at, CHAIN)?;
        let mut links = window.chunks_exact(4).filter_map(|link| word(link, 0));
        if let Some(end) = links.position(|link| link & 1 == 1) {
            return Ok(Some(u64::from(first) + index + end as u64 + 1));
        }
        if (window.len() as u64) < CHAIN {
            return Err(hole.unwrap_or_else(|| broken("a DT_GNU_HASH chain has no end")));
        }
        index += CHAIN / 4;
    }
}

fn count_by_neighbour(object: &Object, dynamic: &Dynamic) -> u64 {
    let Some(start) = dynamic.value(DT_SYMTAB) else {
        return 0;
    };
    let entry = Sym::size(object.context().container) as u64;
    if let Some(section) = object
        .sections
        .iter()
        .find(|it| it.address == start && it.allocated)
    {
        return (section.file.end - section.file.start) / entry;
    }
    let Some((_, left)) = object.locate(start) else {
        return 0;
    };
    let end = dynamic
        .values()
        .filter(|&value| value > start && value - start < left)
        .min()
        .unwrap_or(start + left);
    (end - start) / entry
}

fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let bytes = bytes.get(index * 4..index * 4 + 4)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
