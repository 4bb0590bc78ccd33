//! What holds in all processes, on small random ones.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const COUNT: usize = 8;
const DIRECTORIES: [&str; 4] = ["/lib64", "/a", "/b", "/app"];

#[derive(Debug, Clone)]
struct Library {
    directory: usize,
    soname: Option<usize>,
    needed: Vec<usize>,
    path: Option<(bool, usize)>,
    link: bool,
    broken: bool,
}

fn library() -> impl Strategy<Value = Library> {
    let number = 0..COUNT;
    (
        0..DIRECTORIES.len(),
        proptest::option::of(number.clone()),
        proptest::collection::vec(number, 0..4),
        proptest::option::of((any::<bool>(), 0..DIRECTORIES.len())),
        any::<bool>(),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(directory, soname, needed, path, link, broken)| Library {
            directory,
            soname,
            needed,
            path,
            link,
            broken,
        })
}

fn name(number: usize) -> String {
    format!("lib{number}.so")
}

fn sample(libraries: &[Library], needed: &[usize]) -> Sample {
    let names = |numbers: &[usize]| numbers.iter().map(|it| name(*it)).collect::<Vec<_>>();
    let of = |numbers: &[usize]| ElfFacts {
        needed: names(numbers),
        ..elf(&[])
    };
    let mut sample = Sample::of(of(needed));
    for (number, library) in libraries.iter().enumerate() {
        let path = format!("{}/{}", DIRECTORIES[library.directory], name(number));
        let mut facts = of(&library.needed);
        facts.soname = library.soname.map(name);
        match library.path {
            Some((true, directory)) => facts.rpath = Some(DIRECTORIES[directory].to_owned()),
            Some((false, directory)) => facts.runpath = Some(DIRECTORIES[directory].to_owned()),
            None => {}
        }
        sample = match library.broken {
            true => sample.text(&path, "no library"),
            false => sample.file(&path, facts),
        };
        if library.link {
            let other = DIRECTORIES[(library.directory + 1) % DIRECTORIES.len()];
            sample = sample.link(&format!("{other}/{}", name(number)), &path);
        }
    }
    sample
}

proptest! {
    #[test]
    fn each_file_is_mapped_once_and_a_failed_open_leaves_no_trace(
        libraries in proptest::collection::vec(library(), COUNT),
        needed in proptest::collection::vec(0..COUNT, 0..2),
        opened in proptest::collection::vec((0..COUNT, any::<bool>()), 0..6),
    ) {
        sample(&libraries, &needed).run(|process| {
            let Ok(mut process) = process else {
                return Ok(());
            };
            for (number, global) in &opened {
                let before = paths(&process, "");
                let mode = OpenMode { global: *global, lazy: false };
                match process.open(&name(*number), 0, mode).unwrap() {
                    Ok(id) => {
                        let list = &process.objects()[id].search_list;
                        let once: HashSet<_> = list.iter().collect();
                        prop_assert_eq!(once.len(), list.len());
                        prop_assert_eq!(list[0], id);
                    }
                    Err(failure) => {
                        prop_assert!(!failure.faults.is_empty());
                        prop_assert_eq!(paths(&process, ""), before);
                    }
                }
                let files: HashSet<_> =
                    process.objects().iter().map(|it| it.node.identity()).collect();
                prop_assert_eq!(files.len(), process.objects().len());
                let scope: HashSet<_> = process.global_scope().iter().collect();
                prop_assert_eq!(scope.len(), process.global_scope().len());
            }
            Ok(())
        })?;
    }
}
