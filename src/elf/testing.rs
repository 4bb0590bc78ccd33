//! Small ELF files for the tests.

use super::facts::Reading;
use super::{Depth, ElfFacts, Recipes, read};

/// Where the only segment starts in memory: addresses and file offsets differ, as in real files.
const BASE: u64 = 0x1_0000;

/// The helper behind `cudaRuntimeGetVersion` of CUDA 13.5 for aarch64: mov x1,x0; cbz x0; movz w2,#13050; movz w0,#0;
/// str w2,[x1]; ret.
pub(super) const AARCH64_GETTER: [u32; 6] = [
    0xaa00_03e1,
    0xb400_00a0,
    0x5286_5f42,
    0x5280_0000,
    0xb900_0022,
    0xd65f_03c0,
];

/// A shared object with one segment, without section headers unless asked for.
pub(super) struct Sample {
    machine: u16,
    soname: Option<&'static str>,
    symbols: Vec<(&'static str, Vec<u8>, bool)>,
    code: Vec<u8>,
    data: Vec<u8>,
    section: Option<(&'static str, Vec<u8>)>,
}

impl Sample {
    pub fn new(machine: u16) -> Self {
        Sample {
            machine,
            soname: None,
            symbols: Vec::new(),
            code: Vec::new(),
            data: Vec::new(),
            section: None,
        }
    }

    pub fn soname(mut self, soname: &'static str) -> Self {
        self.soname = Some(soname);
        self
    }

    /// An exported function. Functions follow each other at multiples of 16, before [`Sample::code`].
    pub fn function(mut self, name: &'static str, code: &[u8]) -> Self {
        self.symbols.push((name, code.to_vec(), false));
        self
    }

    /// An exported object.
    pub fn object(mut self, name: &'static str, bytes: &[u8]) -> Self {
        self.symbols.push((name, bytes.to_vec(), true));
        self
    }

    /// Code that is not exported.
    pub fn code(mut self, code: &[u8]) -> Self {
        self.code = code.to_vec();
        self
    }

    /// Constants.
    pub fn data(mut self, data: &[u8]) -> Self {
        self.data = data.to_vec();
        self
    }

    /// A section by name, behind the segment. Only then are there section headers.
    pub fn section(mut self, name: &'static str, bytes: &[u8]) -> Self {
        self.section = Some((name, bytes.to_vec()));
        self
    }

    /// The bytes of the file.
    pub fn build(&self) -> Vec<u8> {
        let mut strings = vec![0];
        let mut name = |text: &str| {
            let at = strings.len() as u32;
            strings.extend(text.bytes().chain([0]));
            at
        };
        let soname = self.soname.map(&mut name);
        let names: Vec<u32> = self.symbols.iter().map(|it| name(it.0)).collect();
        let mut body = vec![0; 64 + 2 * 56];
        let mut places = Vec::new();
        for (_, bytes, _) in &self.symbols {
            body.resize(body.len().next_multiple_of(16), 0x90);
            places.push((body.len() as u64, bytes.len() as u64));
            body.extend(bytes);
        }
        body.resize(body.len().next_multiple_of(16), 0x90);
        body.extend(&self.code);
        body.resize(body.len().next_multiple_of(16), 0);
        body.extend(&self.data);
        body.resize(body.len().next_multiple_of(16), 0);
        let hash = body.len() as u64;
        let count = names.len() as u32 + 1;
        for word in [0, count] {
            body.extend(u32::to_le_bytes(word));
        }
        let table = body.len() as u64;
        body.extend([0; 24]);
        for ((name, (offset, size)), symbol) in names.iter().zip(&places).zip(&self.symbols) {
            body.extend(name.to_le_bytes());
            body.extend([0x10 | if symbol.2 { 1 } else { 2 }, 0, 1, 0]);
            body.extend((BASE + offset).to_le_bytes());
            body.extend(size.to_le_bytes());
        }
        let text = body.len() as u64;
        body.extend(&strings);
        body.resize(body.len().next_multiple_of(8), 0);
        let dynamic = body.len() as u64;
        let mut entries = vec![
            (4, BASE + hash),
            (6, BASE + table),
            (5, BASE + text),
            (10, strings.len() as u64),
        ];
        entries.extend(soname.map(|at| (14, u64::from(at))));
        entries.push((0, 0));
        for (tag, value) in &entries {
            body.extend(u64::to_le_bytes(*tag));
            body.extend(value.to_le_bytes());
        }
        let size = body.len() as u64;
        body[..64].copy_from_slice(&header(self.machine));
        body[64..120].copy_from_slice(&segment(1, 7, 0, BASE, size));
        let length = 16 * entries.len() as u64;
        body[120..176].copy_from_slice(&segment(2, 6, dynamic, BASE + dynamic, length));
        if let Some((name, bytes)) = &self.section {
            append_section(&mut body, name, bytes);
        }
        body
    }

    /// What the file says.
    pub fn facts(&self, recipes: &Recipes, depth: Depth) -> ElfFacts {
        let bytes = self.build();
        read(&bytes, recipes, depth).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The readings of one way to read, from a library that is known by its export `f`.
    pub fn readings(&self, from: &str, decode: &str, depth: Depth) -> Vec<Reading> {
        let recipes = format!(
            "libraries:\n  - library: sample\n    source: a test\n    parts: [{{any-export: [f]}}]\n    \
             readings: [{{fact: version, decode: {decode}, from: {from}}}]\n"
        );
        let recipes = Recipes::parse("test", &recipes).unwrap_or_else(|error| panic!("{error}"));
        let identity = self.facts(&recipes, depth).identity;
        identity.map_or_else(Vec::new, |identity| identity.readings)
    }

    /// Their values.
    pub fn values(&self, from: &str, decode: &str, depth: Depth) -> Vec<String> {
        let readings = self.readings(from, decode, depth);
        readings.into_iter().map(|reading| reading.value).collect()
    }
}

/// Adds a section of notes, the names of sections, and the headers of both behind the null one.
fn append_section(body: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let names = format!("\0{name}\0.shstrtab\0");
    let content = body.len() as u64;
    body.extend(bytes);
    let table = body.len() as u64;
    body.extend(names.bytes());
    body.resize(body.len().next_multiple_of(8), 0);
    let headers = body.len() as u64;
    body.extend([0; 64]);
    let own = [
        (1, 7, content, bytes.len()),
        (name.len() as u32 + 2, 3, table, names.len()),
    ];
    for (at, kind, offset, size) in own {
        let mut header = [0; 64];
        header[..4].copy_from_slice(&at.to_le_bytes());
        header[4..8].copy_from_slice(&u32::to_le_bytes(kind));
        header[24..32].copy_from_slice(&offset.to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        body.extend(header);
    }
    body[40..48].copy_from_slice(&headers.to_le_bytes());
    for (at, value) in [(58, 64u16), (60, 3), (62, 2)] {
        body[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
}

/// An ELF header of a shared object with two program headers behind it.
fn header(machine: u16) -> [u8; 64] {
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16] = 3;
    header[18..20].copy_from_slice(&machine.to_le_bytes());
    header[20] = 1;
    header[32] = 64;
    header[52] = 64;
    header[54] = 56;
    header[56] = 2;
    header
}

fn segment(kind: u32, flags: u32, offset: u64, address: u64, size: u64) -> [u8; 56] {
    let mut segment = [0; 56];
    segment[..4].copy_from_slice(&kind.to_le_bytes());
    segment[4..8].copy_from_slice(&flags.to_le_bytes());
    for (at, value) in [
        (8, offset),
        (16, address),
        (24, address),
        (32, size),
        (40, size),
        (48, 8),
    ] {
        segment[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    segment
}

/// AArch64 instructions as bytes.
pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
