//! The byte patterns find the same constants as a disassembler: the constants of real getters, decoded with iced-x86.
//!
//! Uses the files that `testdata/recipes/groundtruth.py` fetches, and is skipped without them.

use std::path::{Path, PathBuf};
use testkit::tools::say;
use testkit::tools::{real_images, real_images_required};

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use imgcheck_elf::{self as elf, Depth};
use object::{Object, ObjectSection, ObjectSymbol};

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let small = entry.metadata().is_ok_and(|it| it.len() < 20_000_000);
        if path.is_dir() {
            files(&path, found);
        } else if small && is_runtime(&path) {
            found.push(path);
        }
    }
}

/// `libcudart.so.12`, or `libcudart-a7b20f20.so.11.0` in a wheel that bundles it.
fn is_runtime(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with("libcudart") && name.contains(".so")
}

/// The instructions of a function up to its first `ret`.
fn function(file: &object::File, address: u64) -> Vec<Instruction> {
    let text = file.section_by_name(".text").unwrap();
    let start = (address - text.address()) as usize;
    let code = &text.data().unwrap()[start..];
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instructions: Vec<Instruction> = Vec::new();
    while instructions.len() < 400 && decoder.can_decode() {
        instructions.push(decoder.decode());
    }
    instructions
}

/// The first constant that a function stores at its first argument, before any other call.
fn stored(file: &object::File, address: u64) -> Option<u32> {
    function(file, address)
        .iter()
        .take_while(|it| !matches!(it.mnemonic(), Mnemonic::Call | Mnemonic::Ret))
        .find(|it| {
            it.mnemonic() == Mnemonic::Mov
                && it.op0_kind() == OpKind::Memory
                && it.memory_base() == Register::RDI
                && it.memory_displacement64() == 0
                && it.op1_kind() == OpKind::Immediate32
        })
        .map(Instruction::immediate32)
}

#[test]
fn getters_say_what_the_disassembler_says() {
    let mut found = Vec::new();
    files(&real_images().join("groundtruth"), &mut found);
    let recipes = imgcheck_model::knowledge::recipes().unwrap();
    let mut compared = 0;
    for path in found {
        let bytes = std::fs::read(&path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        if file.architecture() != object::Architecture::X86_64 {
            continue;
        }
        let getter = file
            .dynamic_symbols()
            .find(|symbol| symbol.name() == Ok("cudaRuntimeGetVersion"));
        let Some(getter) = getter else { continue };
        let end = getter.address() + getter.size();
        let numbers: Vec<u32> = function(&file, getter.address())
            .iter()
            .take_while(|it| it.ip() < end)
            .filter(|it| it.is_call_near())
            .filter_map(|it| stored(&file, it.near_branch_target()))
            .filter(|number| *number >= 1000)
            .collect();
        let expected: Vec<String> = numbers
            .iter()
            .map(|number| format!("{}.{}", number / 1000, number % 1000 / 10))
            .take(1)
            .collect();
        let facts = elf::read(&bytes, &recipes, Depth::Default).unwrap();
        let readings = facts.identity.unwrap().readings;
        let values: Vec<String> = readings.into_iter().map(|it| it.value).collect();
        assert_eq!(values, expected, "{}", path.display());
        compared += 1;
    }
    assert!(
        compared > 0 || !real_images_required(),
        "no files to compare"
    );
    say(format_args!(
        "compared {compared} libraries with their disassembly"
    ));
}
