//! Programs that Linux does not start.

use imgcheck::Overlay;
use imgcheck_elf::{ElfFacts, Refusal};
use imgcheck_image::{Content, EntryKind};

use crate::sample::{Image, elf, program};

const APP: &str = "app/start";

/// Kind and message of the failures of an image whose command is the program.
fn failures(image: Image) -> Vec<(String, String)> {
    let launch = image
        .process(&[], &["/app/start"])
        .launch(&Overlay::default());
    let failures = launch.failures.into_iter();
    failures.map(|it| (it.kind, it.message)).collect()
}

fn failure(kind: &str, message: &str) -> Vec<(String, String)> {
    vec![(kind.to_owned(), format!("exec /app/start: {message}"))]
}

#[test]
fn a_program_whose_loader_is_not_in_the_image() {
    let image = Image::new().elf("usr/lib/libc.so.6", elf(&[]));
    let start = image.elf(APP, program(&[]));
    assert_eq!(
        failures(start.clone()),
        failure("loader", "no such file or directory")
    );
    let whole = start.elf("lib64/ld-linux-x86-64.so.2", elf(&[]));
    assert_eq!(failures(whole), []);
    // The loader model says that the C library is missing.
    assert_eq!(failures(Image::new().elf(APP, program(&[]))), []);
}

#[test]
fn a_program_that_is_cut_off() {
    let refused = |refusal| {
        let problem = "a segment is past the end of the file".to_owned();
        let content = Content::BrokenElf {
            problem,
            refusal: Some(refusal),
        };
        failures(Image::new().entry(APP, EntryKind::File(content)))
    };
    let no_format = failure("damaged", "exec format error");
    assert_eq!(refused(Refusal::TooShort), no_format);
    assert_eq!(
        refused(Refusal::Truncated),
        failure("damaged", "segmentation fault")
    );
    assert_eq!(failures(Image::new().empty(APP)), no_format);
    let static_program = ElfFacts {
        object_type: 2,
        ..elf(&[])
    };
    assert_eq!(failures(Image::new().elf(APP, static_program)), []);
}

#[test]
fn a_script_for_env_with_the_line_endings_of_windows() {
    let image = Image::new()
        .elf("usr/bin/env", elf(&[]))
        .elf("usr/bin/bash", elf(&[]))
        .text(APP, "#!/usr/bin/env bash\r\nexec sleep 1\r\n");
    let launch = image
        .process(&["PATH=/usr/bin"], &["/app/start"])
        .launch(&Overlay::default());
    let [failure] = launch.failures.try_into().unwrap();
    assert_eq!(
        (failure.subject.as_str(), failure.program.as_str()),
        ("bash\r", "/app/start")
    );
}
