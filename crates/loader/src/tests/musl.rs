//! What musl does in another way.

use super::*;

#[test]
fn the_library_path_comes_first_and_runpath_is_inherited() {
    let sample = Sample::musl(rpath(&["liba.so"], "/own"))
        .library("/own/liba.so", &[])
        .library("/env/liba.so", &["libb.so"])
        .library("/own/libb.so", &[])
        .set("LD_LIBRARY_PATH", "/env");
    assert_eq!(sample.mapped(), ["/env/liba.so", "/own/libb.so"]);
}

#[test]
fn empty_elements_mean_nothing() {
    let sample = Sample::musl(elf(&["liba.so"]))
        .library("/data/liba.so", &[])
        .set("LD_LIBRARY_PATH", ":/nowhere:");
    assert_eq!(sample.fails(), [missing("liba.so")]);
}

#[test]
fn the_path_file_names_the_default_directories() {
    let sample = Sample::musl(elf(&["liba.so"])).library("/vendor/liba.so", &[]);
    assert_eq!(sample.fails(), [missing("liba.so")]);
    let sample = sample.text("/etc/ld-musl-x86_64.path", "/lib\n/vendor\n");
    assert_eq!(sample.mapped(), ["/vendor/liba.so"]);
}

#[test]
fn the_names_of_libc_are_the_loader_itself() {
    let sample = Sample::musl(elf(&["libc.musl-x86_64.so.1", "libm.so.6"]));
    assert_eq!(sample.mapped(), Vec::<String>::new());
}

#[test]
fn libraries_are_known_by_the_requested_name() {
    let sample = Sample::musl(elf(&["liba-1.so", "liba.so.1"]))
        .file("/lib/liba-1.so", named("liba.so.1", elf(&[])));
    assert_eq!(sample.fails(), [missing("liba.so.1")]);
}

#[test]
fn versions_do_not_matter_and_all_symbols_are_bound_at_load() {
    let program = ElfFacts {
        version_needs: version_need("liba.so", "A_2", false),
        ..elf(&["liba.so"])
    };
    let provider = ElfFacts {
        version_definitions: vec!["A_1".to_owned()],
        ..elf(&[])
    };
    let sample = Sample::musl(program).file("/lib/liba.so", provider);
    assert_eq!(sample.mapped(), ["/lib/liba.so"]);
    let lazy = Sample::musl(importing(&["f"], Bound::Lazy, elf(&[])));
    assert_eq!(lazy.fails(), ["/app/main: undefined symbol: f"]);
}
