//! ELF files that no linker would write: addresses equal file offsets, one segment loads the file, and every number can be wrong.

/// Program header types.
pub const PT_LOAD: u32 = 1;
pub const PT_INTERP: u32 = 3;
pub const PT_NOTE: u32 = 4;
const PT_DYNAMIC: u32 = 2;

/// Tags of the dynamic section.
pub const DT_NEEDED: u64 = 1;
pub const DT_HASH: u64 = 4;
pub const DT_STRTAB: u64 = 5;
pub const DT_SYMTAB: u64 = 6;
pub const DT_STRSZ: u64 = 10;
pub const DT_SONAME: u64 = 14;
pub const DT_RPATH: u64 = 15;
pub const DT_GNU_HASH: u64 = 0x6fff_fef5;
pub const DT_VERSYM: u64 = 0x6fff_fff0;
pub const DT_VERDEF: u64 = 0x6fff_fffc;
pub const DT_VERDEFNUM: u64 = 0x6fff_fffd;
pub const DT_VERNEED: u64 = 0x6fff_fffe;
pub const DT_VERNEEDNUM: u64 = 0x6fff_ffff;

/// Flags of allocated constants, and of code.
pub const CONSTANTS: u64 = 2;
pub const CODE: u64 = 6;

/// The ELF header and room for some program headers, which stand where the reader of a stream expects them.
const HEADERS: usize = 0x1000;

/// A shared object for x86-64.
#[derive(Clone)]
pub struct RawElf {
    bytes: Vec<u8>,
    dynamic: Vec<(u64, u64)>,
    segments: Vec<[u64; 4]>,
    sections: Vec<(&'static str, u64, u64, u64)>,
    /// `e_phnum`, `e_shoff` and `e_shnum`, where they are to lie.
    pub program_headers: Option<u16>,
    pub section_headers: Option<(u64, u16)>,
    /// The names of sections, if all sections are to have the first.
    pub section_names: Option<Vec<u8>>,
}

impl Default for RawElf {
    fn default() -> Self {
        RawElf::new()
    }
}

impl RawElf {
    pub fn new() -> Self {
        RawElf {
            bytes: vec![0; HEADERS],
            dynamic: Vec::new(),
            segments: Vec::new(),
            sections: Vec::new(),
            program_headers: None,
            section_headers: None,
            section_names: None,
        }
    }

    /// Where the next bytes will stand.
    pub fn here(&self) -> u64 {
        self.bytes.len().next_multiple_of(16) as u64
    }

    /// Adds bytes and gives their address.
    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.here();
        self.bytes.resize(at as usize, 0);
        self.bytes.extend(bytes);
        at
    }

    /// An entry of the dynamic section.
    pub fn tag(&mut self, tag: u64, value: u64) -> &mut Self {
        self.dynamic.push((tag, value));
        self
    }

    /// A string table, as DT_STRTAB and DT_STRSZ.
    pub fn strings(&mut self, strings: &[u8]) -> &mut Self {
        let at = self.put(strings);
        self.tag(DT_STRTAB, at).tag(DT_STRSZ, strings.len() as u64)
    }

    /// Symbols behind the null one, with a DT_HASH that tells their number.
    pub fn symbols(&mut self, symbols: impl IntoIterator<Item = [u8; 24]>) -> &mut Self {
        let mut table = vec![0; 24];
        symbols.into_iter().for_each(|symbol| table.extend(symbol));
        let hash = self.put(&words(&[0, (table.len() / 24) as u32]));
        let table = self.put(&table);
        self.tag(DT_HASH, hash).tag(DT_SYMTAB, table)
    }

    /// A program header: type, offset, bytes.
    pub fn segment(&mut self, kind: u32, offset: u64, size: u64) -> &mut Self {
        self.segments.push([u64::from(kind), offset, offset, size]);
        self
    }

    /// A section header: name, flags, offset, bytes.
    pub fn section(&mut self, name: &'static str, flags: u64, offset: u64, size: u64) -> &mut Self {
        self.sections.push((name, flags, offset, size));
        self
    }

    /// The file. The headers of sections and, if they do not fit at the start, of segments are its end.
    pub fn build(&self) -> Vec<u8> {
        let mut elf = self.clone();
        let entries = self.dynamic.iter().chain([&(0, 0)]);
        let table: Vec<u8> = entries
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()])
            .flatten()
            .collect();
        let dynamic = elf.put(&table);
        let end = elf.bytes.len() as u64;
        let own = [
            [u64::from(PT_LOAD), 0, 0, end],
            [u64::from(PT_DYNAMIC), dynamic, dynamic, table.len() as u64],
        ];
        let headers: Vec<u8> = own
            .iter()
            .chain(&self.segments)
            .flat_map(|segment| program_header(*segment))
            .collect();
        let start = if headers.len() <= HEADERS - 64 {
            elf.bytes[64..64 + headers.len()].copy_from_slice(&headers);
            64
        } else {
            elf.put(&headers)
        };
        let count = (headers.len() / 56) as u16;
        let sections = elf.put_sections();
        let (section_headers, section_count) = self.section_headers.unwrap_or(sections);
        let header = &mut elf.bytes[..64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        header[16] = 3;
        header[18] = 62;
        header[20] = 1;
        header[32..40].copy_from_slice(&start.to_le_bytes());
        header[40..48].copy_from_slice(&section_headers.to_le_bytes());
        let halves = [
            64,
            56,
            self.program_headers.unwrap_or(count),
            64,
            section_count,
            sections.1.saturating_sub(1),
        ];
        for (at, half) in halves.into_iter().enumerate() {
            header[52 + 2 * at..54 + 2 * at].copy_from_slice(&half.to_le_bytes());
        }
        elf.bytes
    }

    /// Adds the section headers, the null one before and that of the names behind; gives their place and number.
    fn put_sections(&mut self) -> (u64, u16) {
        if self.sections.is_empty() {
            return (0, 0);
        }
        let mut known: Vec<&str> = self.sections.iter().map(|it| it.0).collect();
        known.dedup();
        let names = format!("\0.shstrtab\0{}\0", known.join("\0"));
        let name = |wanted: &str| names.find(&format!("\0{wanted}\0")).unwrap() as u32 + 1;
        let all_first = self.section_names.is_some();
        let content = self
            .section_names
            .take()
            .unwrap_or_else(|| names.clone().into());
        let table = self.put(&content);
        let mut headers = vec![0; 64];
        let own = (".shstrtab", 0, table, content.len() as u64);
        for (section, flags, offset, size) in self.sections.iter().chain([&own]) {
            let mut header = [0; 64];
            let name = if all_first { 0 } else { name(section) };
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[4] = 1;
            for (at, value) in [(8, flags), (16, offset), (24, offset), (32, size)] {
                header[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            headers.extend(header);
        }
        (self.put(&headers), self.sections.len() as u16 + 2)
    }
}

fn program_header([kind, offset, address, size]: [u64; 4]) -> [u8; 56] {
    let mut header = [0; 56];
    header[..4].copy_from_slice(&(kind as u32).to_le_bytes());
    header[4] = 7;
    for (at, value) in [
        (8, offset),
        (16, address),
        (24, address),
        (32, size),
        (40, size),
        (48, 0x1000),
    ] {
        header[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    header
}

/// A defined function, or a required one if the address is 0.
pub fn symbol(name: u32, address: u64, size: u64) -> [u8; 24] {
    let mut symbol = [0; 24];
    symbol[..4].copy_from_slice(&name.to_le_bytes());
    symbol[4] = 0x12;
    symbol[6] = u8::from(address > 0);
    symbol[8..16].copy_from_slice(&address.to_le_bytes());
    symbol[16..].copy_from_slice(&size.to_le_bytes());
    symbol
}

/// Words of 32 bits.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A library with a version that is known by its exports, which all lead to one place of it.
pub fn known(exports: &[&str], code: &[u8]) -> RawElf {
    let mut elf = RawElf::new();
    let code_at = elf.put(code);
    let names = format!("\0{}\0", exports.join("\0"));
    elf.strings(names.as_bytes());
    elf.symbols(exports.iter().map(|export| {
        let name = names.find(&format!("\0{export}\0")).unwrap() as u32 + 1;
        symbol(name, code_at, code.len() as u64)
    }));
    elf
}

/// What cudart 12.8 answers with.
pub const CUDART: (&[&str], &[u8]) = (
    &["cudaRuntimeGetVersion", "cudaMalloc"],
    b"\x48\x85\xff\x74\x0b\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3\x90\x90",
);
