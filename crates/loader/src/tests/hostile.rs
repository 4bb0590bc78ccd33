//! Images that are made to run forever, to exhaust memory, or to cause a panic.

use super::*;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("lib{number}.so")).collect()
}

/// Each library needs the next one.
fn chain_of(count: usize, change: impl Fn(usize, ElfFacts) -> ElfFacts) -> Sample {
    let names = names(count + 1);
    let mut sample = Sample::new(&[&names[0]]);
    for number in 0..count {
        let next: &[&str] = match number + 1 == count {
            true => &[],
            false => &[&names[number + 1]],
        };
        let path = format!("/lib64/{}", names[number]);
        sample = sample.file(&path, change(number, elf(next)));
    }
    sample
}

#[test]
fn cycles_end() {
    let sample = Sample::new(&["liba.so"])
        .library("/lib64/liba.so", &["libb.so", "liba.so"])
        .library("/lib64/libb.so", &["liba.so"]);
    assert_eq!(sample.mapped(), ["/lib64/liba.so", "/lib64/libb.so"]);
}

#[test]
fn a_chain_longer_than_the_limit_of_objects_is_an_error() {
    let whole = chain_of(19_000, |_, elf| elf);
    assert_eq!(whole.mapped().len(), 19_000);
    assert_eq!(chain_of(21_000, |_, elf| elf).limit(), Limit::LoaderObjects);
}

#[test]
fn a_long_chain_of_search_paths_exceeds_the_limit_of_lookups() {
    let sample = chain_of(5_000, |number, elf| ElfFacts {
        rpath: Some(format!("/none/{number}")),
        ..elf
    });
    assert_eq!(sample.limit(), Limit::LoaderLookups);
}

#[test]
fn a_symbol_missing_in_a_long_chain_exceeds_the_limit_of_symbols() {
    let sample = chain_of(15_000, |_, elf| importing(&["f"], Bound::Now, elf));
    assert_eq!(sample.limit(), Limit::LoaderSymbols);
}

#[test]
fn at_most_1000_missing_libraries_are_reported() {
    let names = names(100_000);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fails = Sample::new(&names).fails();
    assert_eq!(fails.len(), 1000);
    let present = names[..10_000]
        .iter()
        .fold(Sample::new(&names[..10_000]), |sample, name| {
            sample.library(&format!("/lib64/{name}"), &[])
        });
    assert_eq!(present.mapped().len(), 10_000);
    let repeated = Sample::new(&vec!["libgone.so"; 100_000]);
    assert_eq!(repeated.fails(), [missing("libgone.so")]);
}

#[test]
fn many_symbols() {
    let names: Vec<String> = (0..300_000).map(|number| format!("f{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let user = |elf| importing(&names, Bound::Now, elf);
    let sample =
        Sample::of(user(elf(&["liba.so"]))).file("/lib64/liba.so", exporting(&names, elf(&[])));
    assert_eq!(sample.mapped().len(), 1);
    assert_eq!(Sample::of(user(elf(&[]))).fails().len(), 300_000);
}

#[test]
fn many_versions() {
    let versions: Vec<String> = (0..60_000).map(|number| format!("V_{number}")).collect();
    let provider = ElfFacts {
        version_definitions: versions.clone(),
        ..elf(&[])
    };
    let needs = |version: &String| version_need("liba.so", version, false);
    let program = ElfFacts {
        version_needs: versions.iter().flat_map(needs).collect(),
        ..elf(&["liba.so"])
    };
    let sample = Sample::of(program).file("/lib64/liba.so", provider);
    assert_eq!(sample.mapped().len(), 1);
}

#[test]
fn an_invalid_version_index_means_no_version() {
    let mut program = importing(&["f"], Bound::Now, elf(&[]));
    let import = |it| Import {
        version: Some(u16::MAX),
        ..it
    };
    program.imports = program.imports.iter().map(import).collect();
    assert_eq!(
        Sample::of(program).fails(),
        ["/app/main: undefined symbol: f"]
    );
}

#[test]
fn a_search_path_that_exceeds_the_limit_is_an_error() {
    let path: Vec<String> = (0..100_000).map(|number| format!("/d{number}")).collect();
    let path = path.join(":");
    for sample in [
        Sample::of(rpath(&["liba.so"], &path)),
        Sample::of(runpath(&["liba.so"], &path)),
        Sample::new(&["liba.so"]).set("LD_LIBRARY_PATH", &path),
    ] {
        // It would be found behind them all.
        let sample = sample.library("/lib64/liba.so", &[]);
        assert_eq!(sample.limit(), Limit::LoaderDirectories);
        let early = sample.library("/d17/liba.so", &[]);
        assert_eq!(early.mapped(), ["/d17/liba.so"]);
    }
}

#[test]
fn a_long_search_path_is_read_once() {
    let path: Vec<String> = (0..4_000).map(|number| format!("/d{number}")).collect();
    let names = names(10_000);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sample = Sample::of(rpath(&names, &path.join(":")));
    assert_eq!(sample.limit(), Limit::LoaderLookups);
}

#[test]
fn repeated_tokens_are_bounded() {
    let origin = "deep/".repeat(700);
    let element = "$ORIGIN".repeat(100_000);
    let program = format!("/{origin}liba.so");
    let sample = Sample::new(&[&program])
        .file(&program, rpath(&["libb.so"], &element))
        .library("/lib64/libb.so", &[]);
    assert_eq!(sample.mapped(), [program.as_str(), "/lib64/libb.so"]);
    let request = Sample::new(&[&element]);
    assert_eq!(request.fails().len(), 1);
}

#[test]
fn links_stay_within_the_root_and_loops_do_not_resolve() {
    let sample = Sample::new(&["liba.so"])
        .link("/lib64/liba.so", "../../../../../../opt/liba.so")
        .library("/opt/liba.so", &[]);
    assert_eq!(sample.mapped(), ["/lib64/liba.so"]);
    let sample = Sample::new(&["liba.so"])
        .link("/lib64/liba.so", "libb.so")
        .link("/lib64/libb.so", "liba.so");
    assert_eq!(sample.fails(), [missing("liba.so")]);
}

#[test]
fn variables_and_lists_of_a_megabyte() {
    let many: String = (0..45_000)
        .map(|number| format!("lib{number}.so "))
        .collect();
    for sample in [
        Sample::new(&[]).set("LD_PRELOAD", &many),
        Sample::new(&[]).text("/etc/ld.so.preload", &many),
    ] {
        sample.run(|process| {
            assert_eq!(process.map_err(messages).unwrap().warnings().len(), 45_000);
        });
    }
    let sample = Sample::new(&["liba.so"]).set("LD_LIBRARY_PATH", &"x".repeat(1 << 20));
    assert_eq!(sample.fails(), [missing("liba.so")]);
}

#[test]
fn a_cache_of_one_name_a_hundred_thousand_times() {
    let paths: Vec<String> = (0..100_000).map(|number| format!("/{number}")).collect();
    let entries: Vec<(&str, &str)> = paths
        .iter()
        .map(|path| ("liba.so", path.as_str()))
        .collect();
    let names = names(5_000);
    let mut sample = Sample::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        sample = sample.library(&format!("/lib64/{name}"), &["liba.so"]);
    }
    assert_eq!(sample.cache(&entries).fails().len(), 1000);
}

/// The interpreter is there before all that it needs, which is loaded when it is opened by name.
#[test]
fn an_interpreter_that_cannot_be_opened_forgets_what_it_needs() {
    let sample = Sample::new(&[])
        .library("/lib64/ld-linux-x86-64.so.2", &["liba.so"])
        .file("/lib64/liba.so", importing(&["none"], Bound::Now, elf(&[])));
    sample.run(|process| {
        let mut process = process.map_err(messages).unwrap();
        for _ in 0..2 {
            let failure = process
                .open("ld-linux-x86-64.so.2", 0, GLOBAL)
                .unwrap()
                .unwrap_err();
            assert_eq!(failure.discarded.len(), 1);
            let interpreter = process.named("/lib64/ld-linux-x86-64.so.2").unwrap();
            assert!(interpreter.needed.is_empty() && interpreter.search_list.is_empty());
        }
    });
}
