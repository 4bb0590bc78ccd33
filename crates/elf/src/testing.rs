//! Small ELF files for the tests.

use testkit::elf::{SharedObject, Symbol, SymbolKind};

use super::facts::Reading;
use super::{Depth, ElfFacts, Recipes, read};

/// The helper behind `cudaRuntimeGetVersion` of CUDA 13.5 for aarch64: mov x1,x0; cbz x0; movz w2,#13050; movz w0,#0;
/// str w2,[x1]; ret.
pub(crate) const AARCH64_GETTER: [u32; 6] = [
    0xaa00_03e1,
    0xb400_00a0,
    0x5286_5f42,
    0x5280_0000,
    0xb900_0022,
    0xd65f_03c0,
];

/// A shared object, with what it must be read for.
#[derive(Default)]
pub(crate) struct Sample {
    file: SharedObject,
    code: Vec<u8>,
    constants: Vec<u8>,
}

impl Sample {
    pub fn new(machine: u16) -> Self {
        Sample {
            file: SharedObject {
                machine,
                ..SharedObject::default()
            },
            ..Sample::default()
        }
    }

    pub fn soname(mut self, soname: &str) -> Self {
        self.file.soname = Some(soname.to_owned());
        self
    }

    /// An exported function. Functions follow each other at multiples of 16, before [`Sample::code`].
    pub fn function(self, name: &str, code: &[u8]) -> Self {
        self.symbol(name, SymbolKind::Function(code.to_vec()))
    }

    /// An exported object.
    pub fn object(self, name: &str, bytes: &[u8]) -> Self {
        self.symbol(name, SymbolKind::Object(bytes.to_vec()))
    }

    fn symbol(mut self, name: &str, kind: SymbolKind) -> Self {
        let name = name.to_owned();
        self.file.symbols.push(Symbol { name, kind });
        self
    }

    /// Code that is not exported.
    pub fn code(mut self, code: &[u8]) -> Self {
        self.code = code.to_vec();
        self
    }

    /// Constants, behind the code.
    pub fn data(mut self, data: &[u8]) -> Self {
        self.constants = data.to_vec();
        self
    }

    /// A section by name. Only then are there section headers.
    pub fn section(mut self, name: &str, bytes: &[u8]) -> Self {
        self.file.sections.push((name.to_owned(), bytes.to_vec()));
        self
    }

    /// The bytes of the file.
    pub fn build(&self) -> Vec<u8> {
        let mut file = self.file.clone();
        file.data = self.code.clone();
        file.data.resize(self.code.len().next_multiple_of(16), 0);
        file.data.extend(&self.constants);
        file.bytes()
    }

    /// The facts of the file.
    pub fn facts(&self, recipes: &Recipes, depth: Depth) -> ElfFacts {
        let bytes = self.build();
        read(&bytes, recipes, depth).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a reader finds in the file.
    pub fn readings(&self, from: &str, decode: &str, depth: Depth) -> Vec<Reading> {
        let recipes = format!(
            "libraries:\n  - library: sample\n    source: a test\n    files: [{{}}]\n    \
             readings: [{{fact: version, decode: {decode}, from: {from}}}]\n"
        );
        let recipes = Recipes::parse("test", &recipes).unwrap_or_else(|error| panic!("{error}"));
        let identity = self.facts(&recipes, depth).identity;
        identity.map_or_else(Vec::new, |identity| identity.readings)
    }

    /// The values of [`Sample::readings`].
    pub fn values(&self, from: &str, decode: &str, depth: Depth) -> Vec<String> {
        let readings = self.readings(from, decode, depth);
        readings.into_iter().map(|reading| reading.value).collect()
    }
}

/// AArch64 instructions as bytes.
pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
