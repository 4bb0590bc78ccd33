//! Small ELF files as a linker would write them.

use std::collections::BTreeMap;

/// Where the only loaded segment starts in memory: addresses and file offsets differ, as in real files.
const BASE: u64 = 0x1_0000;
/// Bytes of the ELF header, and of a program header.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// Relocations that fill a slot of the global offset table, and one of the procedure linkage table (x86-64).
const GLOB_DAT: u64 = 6;
const JUMP_SLOT: u64 = 7;

/// A 64-bit little-endian ELF file: one segment that has everything, with a dynamic section.
#[derive(Debug, Clone, Default)]
pub struct SharedObject {
    /// `e_machine`.
    pub machine: u16,
    /// PT_INTERP.
    pub interpreter: Option<String>,
    /// DT_SONAME.
    pub soname: Option<String>,
    /// DT_RPATH.
    pub rpath: Option<String>,
    /// DT_RUNPATH.
    pub runpath: Option<String>,
    /// DT_NEEDED.
    pub needed: Vec<String>,
    /// Further entries of the dynamic section: tag and value.
    pub dynamic: Vec<(u64, u64)>,
    /// What is defined and asked for.
    pub symbols: Vec<Symbol>,
    /// Bytes behind the symbols' bodies that have no name.
    pub data: Vec<u8>,
    /// Sections by name. Only with some are there section headers.
    pub sections: Vec<(String, Vec<u8>)>,
    /// Zeros between the headers and everything else.
    pub hole: usize,
}

/// A dynamic symbol.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Its name, with its version as linkers write it: `f@@V2` by default, `f@V1` on request only. The version of a symbol that is
    /// asked for follows the file that must have it: `f@libx.so.1:V1`.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
}

/// What a symbol is.
#[derive(Debug, Clone)]
pub enum SymbolKind {
    /// A function that is defined, with its machine code.
    Function(Vec<u8>),
    /// A data object that is defined.
    Object(Vec<u8>),
    /// Asked for when the file is loaded.
    Import,
    /// Asked for when it is first called.
    LazyImport,
}

/// The string table of the dynamic section.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(text.bytes().chain([0]));
        at
    }
}

/// The version tables: DT_VERSYM, DT_VERDEF, DT_VERNEED.
#[derive(Default)]
struct Versions<'s> {
    /// Names of the versions that are defined, from index 2 on.
    defined: Vec<&'s str>,
    /// The versions that are needed of each file, with their index.
    needed: BTreeMap<&'s str, Vec<(&'s str, u16)>>,
    /// One index a symbol, the null one included.
    of_symbols: Vec<u16>,
}

impl SharedObject {
    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut strings = Strings(vec![0]);
        let names: Vec<u32> = self
            .symbols
            .iter()
            .map(|it| strings.add(bare(&it.name)))
            .collect();
        let versions = Versions::of(&self.symbols);
        let headers = HEADER + PROGRAM_HEADER * (2 + usize::from(self.interpreter.is_some()));
        let mut body = vec![0; headers + self.hole];
        let places = self.bodies(&mut body);
        let sections = self.section_bodies(&mut body);
        let interpreter = append(
            &mut body,
            self.interpreter.iter().flat_map(|it| it.bytes().chain([0])),
        );

        let mut dynamic: Vec<(u64, u64)> = Vec::new();
        let mut pointer = |tag, at: usize| dynamic.push((tag, BASE + at as u64));
        pointer(4, append(&mut body, words(&[0, names.len() as u32 + 1])));
        pointer(6, append(&mut body, symbol_table(&names, &places)));
        if versions.any() {
            let symbols = versions.of_symbols.iter().flat_map(|it| it.to_le_bytes());
            pointer(0x6fff_fff0, append(&mut body, symbols));
        }
        let (defined, needed) = (
            versions.definitions(&mut strings),
            versions.needs(&mut strings),
        );
        for (tags, count, table) in [
            (
                [0x6fff_fffc, 0x6fff_fffd],
                versions.defined.len() + 1,
                defined,
            ),
            ([0x6fff_fffe, 0x6fff_ffff], versions.needed.len(), needed),
        ] {
            if !table.is_empty() {
                dynamic.push((tags[0], BASE + append(&mut body, table) as u64));
                dynamic.push((tags[1], count as u64));
            }
        }
        self.relocations(&mut body, &mut dynamic);
        dynamic.extend(self.needed.iter().map(|it| (1, u64::from(strings.add(it)))));
        for (tag, text) in [(14, &self.soname), (15, &self.rpath), (29, &self.runpath)] {
            dynamic.extend(text.as_ref().map(|it| (tag, u64::from(strings.add(it)))));
        }
        dynamic.push((10, strings.0.len() as u64));
        dynamic.push((5, BASE + append(&mut body, strings.0) as u64));
        dynamic.extend(&self.dynamic);
        dynamic.push((0, 0));
        let table = dynamic
            .iter()
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat());
        let at = append(&mut body, table);

        let size = body.len() as u64;
        body[..HEADER].copy_from_slice(&header(self.machine, headers));
        let mut segments = vec![
            segment(1, 7, 0, size),
            segment(2, 6, at, 16 * dynamic.len() as u64),
        ];
        segments.extend(
            self.interpreter
                .as_ref()
                .map(|it| segment(3, 4, interpreter, it.len() as u64 + 1)),
        );
        body[HEADER..headers].copy_from_slice(&segments.concat());
        if !sections.is_empty() {
            section_headers(&mut body, &sections);
        }
        body
    }

    /// Appends what is defined; where each symbol is, and what it is.
    fn bodies(&self, body: &mut Vec<u8>) -> Vec<(u64, u64, u8)> {
        let mut places = Vec::new();
        for symbol in &self.symbols {
            let (bytes, kind) = match &symbol.kind {
                SymbolKind::Function(bytes) => (bytes, 2),
                SymbolKind::Object(bytes) => (bytes, 1),
                SymbolKind::Import | SymbolKind::LazyImport => {
                    places.push((0, 0, 2));
                    continue;
                }
            };
            let at = append(body, bytes.iter().copied());
            places.push((BASE + at as u64, bytes.len() as u64, kind));
        }
        append(body, self.data.iter().copied());
        places
    }

    fn section_bodies(&self, body: &mut Vec<u8>) -> Vec<(&str, usize, usize)> {
        let sections = self.sections.iter();
        sections
            .map(|(name, bytes)| {
                (
                    name.as_str(),
                    append(body, bytes.iter().copied()),
                    bytes.len(),
                )
            })
            .collect()
    }

    /// A relocation for each symbol that is asked for.
    fn relocations(&self, body: &mut Vec<u8>, dynamic: &mut Vec<(u64, u64)>) {
        let numbered = || self.symbols.iter().zip(1_u64..);
        let table = |kind: u64, symbols: Vec<u64>| -> Vec<u8> {
            let entries = symbols
                .into_iter()
                .map(|symbol| [0, symbol << 32 | kind, 0]);
            entries.flatten().flat_map(u64::to_le_bytes).collect()
        };
        let now = numbered().filter(|(it, _)| matches!(it.kind, SymbolKind::Import));
        let lazy = numbered().filter(|(it, _)| matches!(it.kind, SymbolKind::LazyImport));
        let now = table(GLOB_DAT, now.map(|(_, number)| number).collect());
        let lazy = table(JUMP_SLOT, lazy.map(|(_, number)| number).collect());
        for ([start, size], table) in [([7, 8], now), ([23, 2], lazy)] {
            if !table.is_empty() {
                dynamic.push((size, table.len() as u64));
                dynamic.push((start, BASE + append(body, table) as u64));
            }
        }
        dynamic.push((20, 7));
    }
}

impl<'s> Versions<'s> {
    fn of(symbols: &'s [Symbol]) -> Self {
        let mut versions = Versions {
            of_symbols: vec![0],
            ..Versions::default()
        };
        for symbol in symbols {
            let index = match (symbol.name.split_once('@'), &symbol.kind) {
                (None, SymbolKind::Import | SymbolKind::LazyImport) => 0,
                (None, _) => 1,
                (Some((_, version)), SymbolKind::Import | SymbolKind::LazyImport) => {
                    versions.need(version)
                }
                (Some((_, version)), _) => match version.strip_prefix('@') {
                    Some(version) => versions.define(version),
                    None => versions.define(version) | 0x8000,
                },
            };
            versions.of_symbols.push(index);
        }
        versions
    }

    fn define(&mut self, version: &'s str) -> u16 {
        let known = self.defined.iter().position(|it| *it == version);
        let at = known.unwrap_or_else(|| {
            self.defined.push(version);
            self.defined.len() - 1
        });
        at as u16 + 2
    }

    fn need(&mut self, text: &'s str) -> u16 {
        let (file, version) = text.split_once(':').unwrap_or(("libc.so.6", text));
        // Behind all that may be defined.
        let next = 0x1000 + self.needed.values().map(Vec::len).sum::<usize>() as u16;
        let versions = self.needed.entry(file).or_default();
        match versions.iter().find(|(known, _)| *known == version) {
            Some((_, index)) => *index,
            None => {
                versions.push((version, next));
                next
            }
        }
    }

    fn any(&self) -> bool {
        !(self.defined.is_empty() && self.needed.is_empty())
    }

    fn definitions(&self, strings: &mut Strings) -> Vec<u8> {
        if self.defined.is_empty() {
            return Vec::new();
        }
        let mut table = Vec::new();
        let last = self.defined.len();
        for (number, name) in ["base"].iter().chain(&self.defined).enumerate() {
            let flags = u16::from(number == 0);
            let halves = [1, flags, number as u16 + 1, 1];
            table.extend(halves.iter().flat_map(|it| it.to_le_bytes()));
            let next = if number == last { 0 } else { 28 };
            table.extend(words(&[0, 20, next, strings.add(name), 0]));
        }
        table
    }

    fn needs(&self, strings: &mut Strings) -> Vec<u8> {
        let mut table = Vec::new();
        let last = self.needed.len().saturating_sub(1);
        for (number, (file, versions)) in self.needed.iter().enumerate() {
            table.extend(
                [1, versions.len() as u16]
                    .iter()
                    .flat_map(|it| it.to_le_bytes()),
            );
            let next = if number == last {
                0
            } else {
                16 + 16 * versions.len() as u32
            };
            table.extend(words(&[strings.add(file), 16, next]));
            for (position, (version, index)) in versions.iter().enumerate() {
                table.extend(words(&[0]));
                table.extend([0, *index].iter().flat_map(|it| it.to_le_bytes()));
                let next = if position + 1 == versions.len() {
                    0
                } else {
                    16
                };
                table.extend(words(&[strings.add(version), next]));
            }
        }
        table
    }
}

/// A symbol's name without its version.
fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or_default()
}

/// Appends bytes at a multiple of 16; where they are.
fn append(body: &mut Vec<u8>, bytes: impl IntoIterator<Item = u8>) -> usize {
    body.resize(body.len().next_multiple_of(16), 0);
    let at = body.len();
    body.extend(bytes);
    at
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|it| it.to_le_bytes()).collect()
}

fn symbol_table(names: &[u32], places: &[(u64, u64, u8)]) -> Vec<u8> {
    let mut table = vec![0; 24];
    for (name, (address, size, kind)) in names.iter().zip(places) {
        table.extend(name.to_le_bytes());
        table.extend([0x10 | kind, 0, u8::from(*address != 0), 0]);
        table.extend(address.to_le_bytes());
        table.extend(size.to_le_bytes());
    }
    table
}

fn header(machine: u16, headers: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16] = 3;
    header[18..20].copy_from_slice(&machine.to_le_bytes());
    header[20] = 1;
    header[32] = HEADER as u8;
    header[52] = HEADER as u8;
    header[54] = PROGRAM_HEADER as u8;
    header[56] = ((headers - HEADER) / PROGRAM_HEADER) as u8;
    header
}

fn segment(kind: u32, flags: u32, offset: usize, size: u64) -> [u8; PROGRAM_HEADER] {
    let mut segment = [0; PROGRAM_HEADER];
    segment[..4].copy_from_slice(&kind.to_le_bytes());
    segment[4..8].copy_from_slice(&flags.to_le_bytes());
    let offset = offset as u64;
    let fields = [offset, BASE + offset, BASE + offset, size, size, 8];
    for (at, value) in (8..).step_by(8).zip(fields) {
        segment[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    segment
}

/// Appends the names and headers of sections that are loaded, and says in the ELF header where they are.
fn section_headers(body: &mut Vec<u8>, sections: &[(&str, usize, usize)]) {
    let mut names = Strings(vec![0]);
    let mut headers = vec![0; 64];
    let mut add = |name: u32, kind: u32, flags: u64, at: usize, size: usize| {
        headers.extend(words(&[name, kind]));
        let address = if flags == 0 { 0 } else { BASE + at as u64 };
        for value in [flags, address, at as u64, size as u64, 0, 1, 0] {
            headers.extend(value.to_le_bytes());
        }
    };
    for (name, at, size) in sections {
        add(names.add(name), 1, 2, *at, *size);
    }
    let own = names.add(".shstrtab");
    let table = append(body, names.0.iter().copied());
    add(own, 3, 0, table, names.0.len());
    let at = append(body, headers);
    body[40..48].copy_from_slice(&(at as u64).to_le_bytes());
    let count = sections.len() as u16 + 2;
    for (at, value) in [(58, 64), (60, count), (62, count - 1)] {
        body[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
}
