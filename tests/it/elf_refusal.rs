//! The loader's refusals are in the words of the real glibc.

use std::process::Command;
use testkit::tools::say;

use imgcheck_elf::{self as elf, Depth, ElfFacts, Refusal, refusal};

const PYTHON: &str = "python3";

/// A 64-bit shared object of a header, one PT_LOAD and one PT_DYNAMIC, of which no byte is needed to be refused.
fn sample() -> Vec<u8> {
    let mut file = vec![0; 0x3000];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[16] = 3;
    file[18..20].copy_from_slice(&machine().to_le_bytes());
    for (at, value) in [(20, 1), (32, 64), (52, 64), (54, 56), (56, 2)] {
        file[at] = value;
    }
    for (at, kind, length) in [(64, 1, 0x3000_u64), (120, 2, 16)] {
        file[at] = kind;
        file[at + 4] = 6;
        for place in [at + 32, at + 40] {
            file[place..place + 8].copy_from_slice(&length.to_le_bytes());
        }
        file[at + 49] = 0x10;
    }
    file
}

fn machine() -> u16 {
    if cfg!(target_arch = "aarch64") {
        183
    } else {
        62
    }
}

/// What `dlopen` says of a file, without its name; the empty text if it takes it.
fn dlopen(path: &str) -> Option<String> {
    let code = "import ctypes, sys\ntry: ctypes.CDLL(sys.argv[1])\nexcept OSError as e: print(e)";
    let output = Command::new(PYTHON)
        .args(["-c", code, path])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(
        text.strip_prefix(&format!("{path}: "))
            .map_or(text.clone(), str::to_owned),
    )
}

#[test]
fn glibc_says_the_same() {
    if !cfg!(all(
        target_env = "gnu",
        target_endian = "little",
        target_pointer_width = "64"
    )) || Command::new(PYTHON).arg("-V").output().is_err()
    {
        say(format_args!("skipped: needs python3 on a glibc system"));
        return;
    }
    let with = |places: &[(usize, u8)]| {
        let mut file = sample();
        places.iter().for_each(|(at, value)| file[*at] = *value);
        file
    };
    let cases = [
        (Vec::new(), Refusal::TooShort),
        (sample()[..10].to_vec(), Refusal::TooShort),
        (sample()[..63].to_vec(), Refusal::TooShort),
        (b"INPUT ( -lx )\n".repeat(9), Refusal::NoElf),
        (
            [b"\x7fELF".to_vec(), vec![0xaa; 200]].concat(),
            Refusal::Class,
        ),
        (with(&[(4, 1)]), Refusal::Class),
        (with(&[(5, 2)]), Refusal::ByteOrder),
        (with(&[(6, 0)]), Refusal::IdentVersion),
        (with(&[(7, 9)]), Refusal::OsAbi),
        (with(&[(8, 1)]), Refusal::AbiVersion),
        (with(&[(9, 1)]), Refusal::Padding),
        (with(&[(20, 0)]), Refusal::Version),
        (with(&[(16, 1)]), Refusal::Type),
        (with(&[(54, 32)]), Refusal::ProgramHeaderSize),
        (sample()[..64].to_vec(), Refusal::ProgramHeaders),
        (sample()[..150].to_vec(), Refusal::ProgramHeaders),
        (with(&[(36, 1)]), Refusal::ProgramHeaders),
        (with(&[(72, 8)]), Refusal::Alignment),
        (with(&[(64, 0)]), Refusal::NoSegments),
        (with(&[(120, 0)]), Refusal::NoDynamic),
        (with(&[(152, 0)]), Refusal::NoDynamic),
    ];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sample.so");
    for (file, expected) in cases {
        std::fs::write(&path, &file).unwrap();
        assert_eq!(refusal(&file).unwrap(), Some(expected));
        let said = dlopen(path.to_str().unwrap()).unwrap();
        assert_eq!(said, expected.message().unwrap(), "{expected:?}");
    }
    for executable in ["/bin/sh", "/proc/self/exe"] {
        let file = std::fs::read(executable).unwrap();
        let facts = elf::read(
            &file,
            &imgcheck_model::knowledge::recipes().unwrap(),
            Depth::Default,
        )
        .unwrap();
        let expected = facts
            .refusal_as_library()
            .and_then(Refusal::message)
            .unwrap();
        assert_eq!(dlopen_copy(&path, &file), expected);
    }
}

fn dlopen_copy(path: &std::path::Path, file: &[u8]) -> String {
    std::fs::write(path, file).unwrap();
    dlopen(path.to_str().unwrap()).unwrap()
}

#[test]
fn executables_and_missing_pages_are_reported() {
    let mut file = sample();
    assert_eq!(refusal(&file).unwrap(), None);
    file.truncate(0x2001);
    assert_eq!(refusal(&file).unwrap(), None);
    file.truncate(0x2000);
    assert_eq!(refusal(&file).unwrap(), Some(Refusal::Truncated));
    assert_eq!(Refusal::Truncated.message(), None);
    let executable = ElfFacts {
        object_type: 2,
        ..ElfFacts::default()
    };
    assert_eq!(executable.refusal_as_library(), Some(Refusal::Executable));
    assert_eq!(Refusal::of_other_file(63), Refusal::TooShort);
    assert_eq!(Refusal::of_other_file(64), Refusal::NoElf);
}
