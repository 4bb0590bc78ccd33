//! Where a library is looked for, and in which order.

use super::*;

#[test]
fn rpath_of_the_requester_and_of_its_loaders() {
    let sample = Sample::of(rpath(&["liba.so"], "/outer"))
        .file("/outer/liba.so", rpath(&["libb.so"], "/inner"))
        .library("/inner/libb.so", &["libc.so"])
        .library("/outer/libc.so", &[])
        .library("/inner/libc.so", &[]);
    assert_eq!(
        sample.mapped(),
        ["/outer/liba.so", "/inner/libb.so", "/inner/libc.so"]
    );
}

#[test]
fn runpath_switches_rpath_off_and_is_not_inherited() {
    let both = ElfFacts {
        runpath: Some("/run".to_owned()),
        ..rpath(&["liba.so"], "/old")
    };
    let sample = Sample::of(both.clone())
        .library("/old/liba.so", &[])
        .library("/run/liba.so", &[]);
    assert_eq!(sample.mapped(), ["/run/liba.so"]);
    let sample = Sample::of(both)
        .library("/run/liba.so", &["libb.so"])
        .library("/run/libb.so", &[])
        .library("/old/libb.so", &[]);
    assert_eq!(sample.fails(), [missing("libb.so")]);
}

#[test]
fn rpath_does_not_reach_across_dlopen() {
    let sample = Sample::new(&[])
        .file("/p/opener.so", rpath(&[], "/p/lib"))
        .library("/p/lib/plugin.so", &["libdeep.so"])
        .library("/p/lib/libdeep.so", &[]);
    sample.run(|process| {
        let mut process = process.map_err(messages).unwrap();
        let opener = process.open("/p/opener.so", 0, LOCAL).unwrap().unwrap();
        let failure = process
            .open("plugin.so", opener, LOCAL)
            .unwrap()
            .unwrap_err();
        assert_eq!(messages(failure), [missing("libdeep.so")]);
    });
}

#[test]
fn the_library_path_comes_after_rpath_and_before_runpath() {
    let base = |program| {
        Sample::of(program)
            .library("/own/liba.so", &[])
            .library("/env/liba.so", &[])
            .set("LD_LIBRARY_PATH", "/nowhere;/env:/own")
    };
    assert_eq!(base(rpath(&["liba.so"], "/own")).mapped(), ["/own/liba.so"]);
    assert_eq!(
        base(runpath(&["liba.so"], "/own")).mapped(),
        ["/env/liba.so"]
    );
}

#[test]
fn an_empty_element_is_the_working_directory() {
    let sample = Sample::new(&["liba.so"]).library("/data/liba.so", &[]);
    assert_eq!(sample.fails(), [missing("liba.so")]);
    let sample = sample.set("LD_LIBRARY_PATH", "/nowhere:");
    assert_eq!(sample.mapped(), ["/data/liba.so"]);
}

#[test]
fn tokens_in_paths() {
    for path in ["$ORIGIN/deps", "${ORIGIN}/deps", "/nowhere:$ORIGIN/deps"] {
        let sample = Sample::of(rpath(&["liba.so"], path)).library("/app/deps/liba.so", &[]);
        assert_eq!(sample.mapped(), ["/app/deps/liba.so"], "{path}");
    }
    let sample = Sample::of(rpath(&["liba.so"], "/x/$LIB/${PLATFORM}"))
        .library("/x/lib64/x86_64/liba.so", &[]);
    assert_eq!(sample.mapped(), ["/x/lib64/x86_64/liba.so"]);
    let unknown = Sample::of(rpath(&["liba.so"], "/$ORIGINAL")).library("/app/liba.so", &[]);
    assert_eq!(unknown.fails(), [missing("liba.so")]);
}

#[test]
fn the_origin_of_a_link_is_the_directory_of_the_link() {
    let sample = Sample::new(&["/links/liba.so"])
        .file("/real/liba.so", rpath(&["libb.so"], "$ORIGIN"))
        .link("/links/liba.so", "/real/liba.so")
        .library("/links/libb.so", &[])
        .library("/real/libb.so", &[]);
    assert_eq!(sample.mapped(), ["/links/liba.so", "/links/libb.so"]);
}

#[test]
fn the_cache_answers_before_the_default_directories() {
    let sample = Sample::new(&["liba.so", "libb.so"])
        .library("/opt/liba.so", &[])
        .library("/lib64/liba.so", &[])
        .library("/usr/lib64/libb.so", &[])
        .cache(&[("libb.so", "/gone/libb.so"), ("liba.so", "/opt/liba.so")]);
    // An entry that leads nowhere is passed over.
    assert_eq!(sample.mapped(), ["/opt/liba.so", "/usr/lib64/libb.so"]);
}

#[test]
fn without_default_directories() {
    const NODEFLIB: u64 = 0x800;
    let program = ElfFacts {
        flags_1: NODEFLIB,
        ..elf(&["liba.so"])
    };
    let sample = Sample::of(program.clone()).library("/lib64/liba.so", &[]);
    assert_eq!(sample.fails(), [missing("liba.so")]);
    let cached = sample.cache(&[("liba.so", "/lib64/liba.so")]);
    assert_eq!(cached.fails(), [missing("liba.so")]);
    let elsewhere = Sample::of(program)
        .library("/opt/liba.so", &[])
        .cache(&[("liba.so", "/opt/liba.so")]);
    assert_eq!(elsewhere.mapped(), ["/opt/liba.so"]);
}

#[test]
fn subdirectories_for_better_processors_come_first() {
    let sample = Sample::new(&["liba.so"])
        .glibc("2.41")
        .library("/lib64/liba.so", &[])
        .library("/lib64/glibc-hwcaps/x86-64-v4/liba.so", &[])
        .library("/lib64/glibc-hwcaps/x86-64-v3/liba.so", &[]);
    assert_eq!(sample.mapped(), ["/lib64/glibc-hwcaps/x86-64-v3/liba.so"]);
}

#[test]
fn files_of_another_machine_are_skipped_and_a_broken_file_ends_the_search() {
    let arm = ElfFacts {
        machine: 183,
        ..elf(&[])
    };
    let sample = || {
        Sample::new(&["liba.so"])
            .library("/good/liba.so", &[])
            .set("LD_LIBRARY_PATH", "/first:/good")
    };
    let other = sample().file("/first/liba.so", arm);
    assert_eq!(other.mapped(), ["/good/liba.so"]);
    other.run(|process| {
        let process = process.map_err(messages).unwrap();
        assert!(process.named("liba.so").unwrap().searched[0].wrong_machine);
    });
    let broken = sample().text("/first/liba.so", "INPUT ( liba.so.1 )");
    assert_eq!(broken.fails(), ["/first/liba.so: invalid ELF header"]);
}

#[test]
fn loaded_libraries_match_by_soname_name_and_identity() {
    let sample = Sample::new(&["/a/liba-1.so", "liba.so.1", "liba-1.so", "libsame.so"])
        .file("/a/liba-1.so", named("liba.so.1", elf(&[])))
        .library("/lib64/liba.so.1", &[])
        .link("/lib64/liba-1.so", "/a/liba-1.so")
        .entry(
            "/lib64/libsame.so",
            EntryKind::HardLink("a/liba-1.so".to_owned()),
        );
    assert_eq!(sample.mapped(), ["/a/liba-1.so"]);
}

#[test]
fn preloaded_libraries_come_first_and_a_missing_one_only_warns() {
    let sample = Sample::new(&["liba.so"])
        .library("/lib64/liba.so", &[])
        .library("/lib64/libone.so", &[])
        .library("/p/libtwo.so", &[])
        .set("LD_PRELOAD", "libone.so:libgone.so")
        .text("/etc/ld.so.preload", "/p/libtwo.so # a comment\n");
    assert_eq!(
        sample.mapped(),
        ["/lib64/libone.so", "/p/libtwo.so", "/lib64/liba.so"]
    );
    sample.run(|process| {
        let process = process.map_err(messages).unwrap();
        assert_eq!(process.warnings().len(), 1);
    });
}

#[test]
fn the_loader_is_mapped_where_it_is_first_needed() {
    let order = |needed: &[&str]| {
        let sample = Sample::new(needed).library("/lib64/liba.so", &[]);
        sample.run(|process| {
            let process = process.map_err(messages).unwrap();
            let names: Vec<&str> = process.objects().iter().map(|it| it.node.name()).collect();
            names.join(" ")
        })
    };
    assert_eq!(
        order(&["ld-linux-x86-64.so.2", "liba.so"]),
        "main ld-linux-x86-64.so.2 liba.so"
    );
    assert_eq!(order(&["liba.so"]), "main liba.so ld-linux-x86-64.so.2");
}

#[test]
fn programs_cannot_be_opened() {
    const PIE: u64 = 0x0800_0000;
    let pie = ElfFacts {
        flags_1: PIE,
        ..elf(&[])
    };
    let fixed = ElfFacts {
        object_type: 2,
        ..elf(&[])
    };
    let sample = Sample::new(&[])
        .file("/bin/pie", pie)
        .file("/bin/fixed", fixed);
    let message = |path| sample.opens(&[(path, LOCAL)]).unwrap_err();
    assert_eq!(
        message("/bin/pie"),
        "/bin/pie: cannot dynamically load position-independent executable"
    );
    assert_eq!(
        message("/bin/fixed"),
        "/bin/fixed: cannot dynamically load executable"
    );
}
