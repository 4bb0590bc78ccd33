//! Small made-up images, and what the loader does in them.

#![allow(clippy::unwrap_used)]

mod graphs;
mod hostile;
mod musl;
mod search;
mod symbols;

use std::collections::BTreeMap;

use testkit::ld_so_cache::old_format;

use super::{Failure, OpenMode, Process, System};
use imgcheck_base::error::Error;
use imgcheck_base::limits::Limit;
use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::{Bound, Exports, Import, VersionNeed};
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};

const GLOBAL: OpenMode = OpenMode {
    global: true,
    lazy: false,
};
const LOCAL: OpenMode = OpenMode {
    global: false,
    lazy: false,
};

/// An image with one program, `/app/main`.
struct Sample {
    layer: LayerFacts,
    environment: BTreeMap<String, String>,
    interpreter: &'static str,
}

/// A library for x86-64.
fn elf(needed: &[&str]) -> ElfFacts {
    ElfFacts {
        class: 64,
        machine: 62,
        object_type: 3,
        needed: needed.iter().map(|name| (*name).to_owned()).collect(),
        ..ElfFacts::default()
    }
}

fn rpath(needed: &[&str], path: &str) -> ElfFacts {
    ElfFacts {
        rpath: Some(path.to_owned()),
        ..elf(needed)
    }
}

fn runpath(needed: &[&str], path: &str) -> ElfFacts {
    ElfFacts {
        runpath: Some(path.to_owned()),
        ..elf(needed)
    }
}

fn named(soname: &str, elf: ElfFacts) -> ElfFacts {
    ElfFacts {
        soname: Some(soname.to_owned()),
        ..elf
    }
}

fn importing(names: &[&str], bound: Bound, elf: ElfFacts) -> ElfFacts {
    let imports = names.iter().map(|name| Import {
        name: (*name).into(),
        version: None,
        weak: false,
        bound,
    });
    ElfFacts {
        imports: imports.collect(),
        ..elf
    }
}

fn exporting(names: &[&str], elf: ElfFacts) -> ElfFacts {
    let symbols: Vec<_> = names.iter().map(|name| (*name, None)).collect();
    ElfFacts {
        exports: Exports::of(&symbols),
        ..elf
    }
}

fn version_need(file: &str, version: &str, weak: bool) -> Vec<VersionNeed> {
    vec![VersionNeed {
        file: file.to_owned(),
        versions: vec![(version.to_owned(), weak)],
    }]
}

impl Sample {
    fn with_program(interpreter: &'static str, elf: ElfFacts) -> Self {
        let program = ElfFacts {
            interpreter: Some(interpreter.to_owned()),
            ..elf
        };
        let sample = Sample {
            layer: LayerFacts::default(),
            environment: BTreeMap::new(),
            interpreter,
        };
        sample
            .file("/app/main", program)
            .file(interpreter, super::tests::elf(&[]))
    }

    /// With glibc.
    fn of(program: ElfFacts) -> Self {
        Sample::with_program("/lib64/ld-linux-x86-64.so.2", program)
    }

    fn new(needed: &[&str]) -> Self {
        Sample::of(elf(needed))
    }

    fn musl(program: ElfFacts) -> Self {
        Sample::with_program("/lib/ld-musl-x86_64.so.1", program)
    }

    fn entry(mut self, path: &str, kind: EntryKind) -> Self {
        self.layer.entries.push(Entry {
            path: path.trim_start_matches('/').to_owned(),
            kind,
            size: 4096,
            mode: 0o755,
            owner: Default::default(),
        });
        self
    }

    fn file(self, path: &str, elf: ElfFacts) -> Self {
        self.entry(path, EntryKind::File(Content::Elf(Box::new(elf))))
    }

    fn library(self, path: &str, needed: &[&str]) -> Self {
        self.file(path, elf(needed))
    }

    fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, EntryKind::Symlink(target.to_owned()))
    }

    fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, EntryKind::File(Content::Text(text.to_owned())))
    }

    fn cache(self, entries: &[(&str, &str)]) -> Self {
        self.entry(
            "/etc/ld.so.cache",
            EntryKind::File(Content::Bytes(old_format(entries))),
        )
    }

    fn glibc(self, release: &str) -> Self {
        let libc = ElfFacts {
            version_definitions: vec![format!("GLIBC_{release}")],
            ..named("libc.so.6", elf(&[]))
        };
        self.file("/lib64/libc.so.6", libc)
    }

    fn set(mut self, variable: &str, value: &str) -> Self {
        self.environment
            .insert(variable.to_owned(), value.to_owned());
        self
    }

    /// Starts the program in the directory `/work`.
    fn run<T>(&self, ask: impl FnOnce(Result<Process, Failure>) -> T) -> T {
        let root = RootFilesystem::merge([&self.layer]);
        let program = root.resolve("/app/main").unwrap().elf().unwrap();
        let system = System::of(&root, program, self.environment.clone(), "/data").unwrap();
        ask(Process::start(&system, "/app/main").unwrap())
    }

    /// The limit that ends loading the program.
    fn limit(&self) -> Limit {
        let root = RootFilesystem::merge([&self.layer]);
        let program = root.resolve("/app/main").unwrap().elf().unwrap();
        let system = System::of(&root, program, self.environment.clone(), "/data").unwrap();
        match Process::start(&system, "/app/main") {
            Err(Error::Limit { exceeded, .. }) => exceeded.limit,
            other => panic!("{:?}", other.map(|started| started.is_ok())),
        }
    }

    /// What a program that starts has mapped, without itself and the loader.
    fn mapped(&self) -> Vec<String> {
        self.run(|process| paths(&process.map_err(messages).unwrap(), self.interpreter))
    }

    /// What the loader says instead of starting the program.
    fn fails(&self) -> Vec<String> {
        self.run(|process| process.map(drop).map_err(messages).unwrap_err())
    }

    /// Opens libraries on behalf of the program, one after the other: what is mapped in the end, or the first message.
    fn opens(&self, requests: &[(&str, OpenMode)]) -> Result<Vec<String>, String> {
        self.run(|process| {
            let mut process = process.map_err(messages).unwrap();
            for (name, mode) in requests {
                let opened = process.open(name, 0, *mode).unwrap();
                opened.map_err(|failure| messages(failure).remove(0))?;
            }
            Ok(paths(&process, self.interpreter))
        })
    }
}

fn paths(process: &Process, interpreter: &str) -> Vec<String> {
    let objects = process.objects().iter().skip(1);
    let paths = objects.map(|object| object.path.clone());
    paths.filter(|path| path != interpreter).collect()
}

fn messages(failure: Failure) -> Vec<String> {
    let faults = failure.faults.iter();
    faults
        .map(|fault| fault.message(super::Libc::Glibc))
        .collect()
}

fn missing(name: &str) -> String {
    format!("{name}: cannot open shared object file: No such file or directory")
}
