//! The loader model: programs and libraries with any dependencies, names, search paths, versions and symbols.
//!
//! The input describes an image; lines `open NAME [global] [lazy]` are what each of its programs then opens.

use std::collections::HashSet;

use imgcheck_fuzz::described::Described;
use imgcheck_image::{Node, RootFilesystem, configuration};
use imgcheck_loader::{Object, OpenMode, Process, System};

/// Programs that are started, and things that each opens, at most.
const PROGRAMS: usize = 3;
const OPENED: usize = 8;

pub fn fuzz(text: &str) {
    let image = Described::new(text);
    let root = RootFilesystem::merge(&image.layers);
    let environment = configuration::environment(&image.configuration());
    let programs = root
        .files()
        .filter(|node| node.elf().is_some_and(|elf| elf.interpreter.is_some()));
    for program in programs.take(PROGRAMS) {
        let elf = program.elf().expect("it has an interpreter");
        if let Some(system) = System::of(&root, elf, environment.clone(), "/work") {
            let first = run(&system, program, text);
            assert_eq!(first, run(&system, program, text), "another result");
        }
    }
}

/// Starts a program and lets it open things; what is loaded at the end, and what went wrong on the way.
fn run(system: &System, program: Node, text: &str) -> String {
    let mut process = match Process::start(system, &program.path()) {
        Ok(Ok(process)) => process,
        Ok(Err(failure)) => return format!("{:?}", failure.faults),
        Err(error) => return error.to_string(),
    };
    check(&process);
    let mut told = Vec::new();
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("open "))
        .take(OPENED)
    {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let settings: Vec<&str> = words.collect();
        let mode = OpenMode {
            global: settings.contains(&"global"),
            lazy: settings.contains(&"lazy"),
        };
        let before = process.objects().len();
        // On behalf of the program, and of what was loaded last.
        for caller in [0, before - 1] {
            let loaded = process.objects().len();
            match process.open(name, caller, mode) {
                Err(error) => return error.to_string(),
                Ok(Ok(id)) => assert!(id < process.objects().len()),
                Ok(Err(failure)) => {
                    assert!(!failure.faults.is_empty());
                    assert_eq!(process.objects().len(), loaded, "it stays loaded");
                    told.push(format!("{:?}", failure.faults));
                }
            }
            check(&process);
        }
    }
    let paths: Vec<&str> = process
        .objects()
        .iter()
        .map(|object| object.path.as_str())
        .collect();
    format!(
        "{paths:?} {told:?} {:?} {:?}",
        process.warnings(),
        process.undefined_calls()
    )
}

/// Every object is another file, and all that objects say of each other is there.
fn check(process: &Process) {
    let objects = process.objects();
    let files: HashSet<_> = objects
        .iter()
        .filter_map(|object| object.node.identity())
        .collect();
    assert_eq!(files.len(), objects.len(), "a file is loaded twice");
    for (id, object) in objects.iter().enumerate() {
        let others = [&object.needed, &object.search_list, &object.scopes];
        assert!(
            others
                .into_iter()
                .flatten()
                .all(|other| *other < objects.len()),
            "{}: leads to nothing",
            object.path
        );
        assert!(object.requester.is_none_or(|other| other < objects.len()));
        assert!(
            object.loader.is_none_or(|loader| loader < id),
            "needed by what comes later"
        );
        assert_eq!(process.id_of(object), Some(id));
        let named = process
            .named(&object.path)
            .map(|named: &Object| &named.path);
        assert!(
            named.is_some(),
            "{} does not answer to its path",
            object.path
        );
    }
}
