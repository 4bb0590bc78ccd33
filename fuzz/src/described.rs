//! Images that are described in lines of text, which a fuzzer can cut, double and mix.
//!
//! ```text
//! layer                          what follows is in a further layer
//! dir PATH
//! link PATH TARGET               a symbolic link
//! hard PATH TARGET               a hard link
//! device PATH
//! gone PATH                      a whiteout
//! opaque PATH
//! text PATH                      a text; its lines follow, each behind a `|`
//! elf PATH KEY=VALUE …           see `elf`
//! cached NAME PATH               an entry of etc/ld.so.cache, flags=NUMBER and subdirectory=NAME may follow
//! env NAME=VALUE                 of the image's configuration, as the following
//! label NAME=VALUE
//! entrypoint WORD …
//! cmd WORD …
//! workdir PATH
//! reference NAME
//! target NAME GPU DRIVER         a machine that it must run on
//! ```
//!
//! What is not understood is passed over.

use imgcheck_archive::archive::path::normalise;
use imgcheck_elf::facts::{GpuCode, Identity, Reading, ReadingKind};
use imgcheck_elf::{self as elf, Depth, ElfFacts, Recipes};
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_loader::cache::{self, Cache, Format, Hwcap};
use oci_spec::image::ImageConfiguration;
use serde_json::{Value, json};

use crate::ld_so_cache;
use testkit::elf::{SharedObject, Symbol, SymbolKind};

/// An image, as its layers and its configuration say.
#[derive(Debug, Default)]
pub struct Described {
    /// The layers, lowest first.
    pub layers: Vec<LayerFacts>,
    /// What it is called.
    pub reference: Option<String>,
    /// Machines: name, GPU, driver.
    pub targets: Vec<[String; 3]>,
    environment: Vec<String>,
    labels: Vec<(String, String)>,
    entrypoint: Vec<String>,
    command: Vec<String>,
    working_directory: Option<String>,
    cached: Vec<cache::Entry>,
    subdirectories: Vec<String>,
}

impl Described {
    /// Reads a description.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut image = Described {
            layers: vec![LayerFacts::default()],
            ..Described::default()
        };
        for line in text.lines() {
            match line.strip_prefix('|') {
                Some(text) => image.continues(text),
                None => image.line(line),
            }
        }
        image.write_cache();
        image
    }

    /// The configuration of the image.
    ///
    /// # Panics
    /// Never: what it is made of is always valid.
    #[must_use]
    pub fn configuration(&self) -> ImageConfiguration {
        let labels = self
            .labels
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)));
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Env": self.environment,
                "Labels": Value::Object(labels.collect()),
                "Entrypoint": self.entrypoint,
                "Cmd": self.command,
                "WorkingDir": self.working_directory,
            },
            "rootfs": {"type": "layers", "diff_ids": []},
        });
        serde_json::from_value(config).expect("a valid configuration")
    }

    fn line(&mut self, line: &str) {
        let (keyword, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split(' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        let target = || normalise(second.unwrap_or_default().as_bytes());
        let pair = || {
            rest.split_once('=')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
        };
        let several = || rest.split(' ').map(str::to_owned).collect();
        match keyword {
            "layer" => self.layers.push(LayerFacts::default()),
            "dir" => self.add(first, EntryKind::Directory),
            "link" => self.add(
                first,
                EntryKind::Symlink(second.unwrap_or_default().to_owned()),
            ),
            "hard" => self.add(first, EntryKind::HardLink(target())),
            "device" => self.add(first, EntryKind::Special),
            "gone" => self.add(first, EntryKind::Whiteout),
            "opaque" => self.add(first, EntryKind::Opaque),
            "text" => self.add(first, EntryKind::File(Content::Text(String::new()))),
            "elf" => {
                let facts = rest.split_once(' ').map_or("", |(_, keys)| keys);
                self.add(
                    first,
                    EntryKind::File(Content::Elf(Box::new(facts_of(facts)))),
                );
            }
            "cached" => self.cached(first, second.unwrap_or_default(), words),
            "env" => self.environment.push(rest.to_owned()),
            "label" => self.labels.extend(pair()),
            "entrypoint" => self.entrypoint = several(),
            "cmd" => self.command = several(),
            "workdir" => self.working_directory = Some(rest.to_owned()),
            "reference" => self.reference = Some(rest.to_owned()),
            "target" => {
                let mut word = || words.next().unwrap_or_default().to_owned();
                let gpu = second.unwrap_or_default().to_owned();
                self.targets.push([first.to_owned(), gpu, word()]);
            }
            _ => {}
        }
    }

    fn add(&mut self, path: &str, kind: EntryKind) {
        let path = normalise(path.as_bytes());
        let is_root = matches!(kind, EntryKind::Directory | EntryKind::Opaque);
        if let Some(layer) = self.layers.last_mut()
            && (is_root || !path.is_empty())
        {
            layer.entries.push(Entry {
                path,
                kind,
                size: 1,
                mode: 0o755,
                owner: Default::default(),
            });
        }
    }

    /// One more line of the text that was added last.
    fn continues(&mut self, line: &str) {
        let last = self
            .layers
            .last_mut()
            .and_then(|layer| layer.entries.last_mut());
        if let Some(Entry {
            kind: EntryKind::File(Content::Text(text)),
            ..
        }) = last
        {
            text.push_str(line);
            text.push('\n');
        }
    }

    fn cached<'w>(&mut self, name: &str, path: &str, settings: impl Iterator<Item = &'w str>) {
        let mut entry = cache::Entry {
            name: name.to_owned(),
            path: path.to_owned(),
            flags: 0x303,
            kernel: 0,
            hwcap: Hwcap::Bits(0),
        };
        for (key, value) in settings.filter_map(|it| it.split_once('=')) {
            match key {
                "flags" => entry.flags = number(value) as u32,
                "bits" => entry.hwcap = Hwcap::Bits(number(value)),
                "subdirectory" => {
                    let index = self.subdirectories.len() as u32;
                    self.subdirectories.push(value.to_owned());
                    entry.hwcap = Hwcap::Subdirectory {
                        index,
                        isa_level: 0,
                    };
                }
                _ => {}
            }
        }
        self.cached.push(entry);
    }

    fn write_cache(&mut self) {
        if self.cached.is_empty() {
            return;
        }
        let cache = Cache {
            format: Format::New,
            generator: None,
            subdirectories: std::mem::take(&mut self.subdirectories),
            entries: std::mem::take(&mut self.cached),
        };
        let bytes = Content::Bytes(ld_so_cache::bytes(&cache));
        self.add("etc/ld.so.cache", EntryKind::File(bytes));
    }
}

/// The facts of an ELF file: of one that is made as the keys say, and then of what no small file has.
fn facts_of(keys: &str) -> ElfFacts {
    let mut file = SharedObject {
        machine: 62,
        ..SharedObject::default()
    };
    let keys: Vec<(&str, &str)> = keys
        .split(' ')
        .filter_map(|it| it.split_once('='))
        .collect();
    for (key, value) in &keys {
        let text = || Some((*value).to_owned());
        let mut symbol = |kind| {
            file.symbols.push(Symbol {
                name: (*value).to_owned(),
                kind,
            })
        };
        match *key {
            "machine" => file.machine = number(value) as u16,
            "interpreter" => file.interpreter = text(),
            "soname" => file.soname = text(),
            "rpath" => file.rpath = text(),
            "runpath" => file.runpath = text(),
            "needed" => file.needed.extend(text()),
            "export" => symbol(SymbolKind::Function(vec![0xc3])),
            "import" => symbol(SymbolKind::Import),
            "call" => symbol(SymbolKind::LazyImport),
            "flags" => file.dynamic.push((30, number(value))),
            "flags-1" => file.dynamic.push((0x6fff_fffb, number(value))),
            _ => {}
        }
    }
    // Names of any length and kind are allowed; what cannot be read then has no facts.
    let mut facts = elf::read(&file.bytes(), recipes(), Depth::Default).unwrap_or_default();
    for (key, value) in keys {
        known(&mut facts, key, value);
    }
    facts
}

/// What imgcheck knows of a file beside what the loader sees.
fn known(facts: &mut ElfFacts, key: &str, value: &str) {
    let (name, rest) = value.split_once(':').unwrap_or((value, ""));
    match key {
        "class" => facts.class = number(value) as u8,
        "type" => facts.object_type = number(value) as u16,
        "stack" => facts.executable_stack = Some(value == "executable"),
        // `library=cudnn:graph`: what its exports said it is.
        "library" => {
            facts.identity = Some(Identity {
                library: name.to_owned(),
                part: (!rest.is_empty()).then(|| rest.to_owned()),
                readings: Vec::new(),
            });
        }
        // `code=version:9.1.0`, `string=version:9.1.0`: what was read in it.
        "code" | "string" => {
            if let Some(identity) = &mut facts.identity {
                identity.readings.push(Reading {
                    fact: name.to_owned(),
                    value: rest.to_owned(),
                    kind: if key == "code" {
                        ReadingKind::Code
                    } else {
                        ReadingKind::String
                    },
                    detail: "described".to_owned(),
                });
            }
        }
        "sass" => gpu_code(facts).sass.push((value.to_owned(), 1)),
        "ptx" => {
            let gpu = gpu_code(facts);
            gpu.ptx.push((name.to_owned(), 1));
            gpu.ptx_isa.push((name.to_owned(), rest.to_owned()));
        }
        _ => {}
    }
}

fn gpu_code(facts: &mut ElfFacts) -> &mut GpuCode {
    facts.gpu.get_or_insert_with(|| GpuCode {
        containers: 1,
        entries: 1,
        ..GpuCode::default()
    })
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap_or(0),
        None => text.parse().unwrap_or(0),
    }
}

/// Names no library, so that every file is what its description says.
fn recipes() -> &'static Recipes {
    static NONE: std::sync::LazyLock<Recipes> = std::sync::LazyLock::new(|| {
        Recipes::parse("none", "libraries: []").expect("a valid table")
    });
    &NONE
}
