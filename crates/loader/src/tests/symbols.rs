//! Versions, symbols and scopes.

use super::*;

#[test]
fn a_failed_dlopen_maps_nothing() {
    let sample = Sample::new(&[])
        .library("/p/liba.so", &["/p/libb.so", "libgone.so"])
        .library("/p/libb.so", &[]);
    sample.run(|process| {
        let mut process = process.map_err(messages).unwrap();
        let before = process.objects().len();
        let failure = process.open("/p/liba.so", 0, GLOBAL).unwrap().unwrap_err();
        assert_eq!(failure.discarded.len(), 2);
        assert_eq!(messages(failure), [missing("libgone.so")]);
        assert_eq!(process.objects().len(), before);
        assert!(process.named("/p/libb.so").is_none());
        assert!(process.open("/p/libb.so", 0, LOCAL).unwrap().is_ok());
    });
}

#[test]
fn symbols_are_visible_if_opened_globally() {
    let sample = Sample::new(&[])
        .file("/p/provider.so", exporting(&["f"], elf(&[])))
        .file("/p/user.so", importing(&["f"], Bound::Now, elf(&[])));
    let user = ("/p/user.so", LOCAL);
    assert!(sample.opens(&[("/p/provider.so", GLOBAL), user]).is_ok());
    assert_eq!(
        sample.opens(&[("/p/provider.so", LOCAL), user]),
        Err("/p/user.so: undefined symbol: f".to_owned())
    );
    // A later RTLD_GLOBAL makes it so.
    let opened = sample.opens(&[("/p/provider.so", LOCAL), ("/p/provider.so", GLOBAL), user]);
    assert!(opened.is_ok());
}

#[test]
fn symbols_of_an_object_come_from_what_it_needs_itself() {
    let sample = Sample::new(&[])
        .file("/p/provider.so", exporting(&["f"], elf(&[])))
        .file(
            "/p/user.so",
            importing(&["f"], Bound::Now, elf(&["/p/provider.so"])),
        );
    assert!(sample.opens(&[("/p/user.so", LOCAL)]).is_ok());
}

#[test]
fn weak_symbols_may_be_undefined() {
    let mut user = importing(&["f"], Bound::Now, elf(&[]));
    let import = |it| Import { weak: true, ..it };
    user.imports = user.imports.iter().map(import).collect();
    let sample = Sample::new(&[]).file("/p/user.so", user);
    assert!(sample.opens(&[("/p/user.so", LOCAL)]).is_ok());
}

#[test]
fn versions_must_be_defined_unless_the_need_is_weak_or_there_are_none() {
    let sample = |definitions: &[&str], weak| {
        let provider = ElfFacts {
            version_definitions: definitions.iter().map(|it| (*it).to_owned()).collect(),
            ..elf(&[])
        };
        let program = ElfFacts {
            version_needs: version_need("liba.so", "A_2", weak),
            ..elf(&["liba.so"])
        };
        Sample::of(program).file("/lib64/liba.so", provider)
    };
    assert_eq!(
        sample(&["A_1"], false).fails(),
        ["/lib64/liba.so: version `A_2' not found (required by /app/main)"]
    );
    assert_eq!(sample(&["A_1", "A_2"], false).mapped().len(), 1);
    assert_eq!(sample(&["A_1"], true).mapped().len(), 1);
    assert_eq!(sample(&[], false).mapped().len(), 1);
}

#[test]
fn a_symbol_is_looked_up_with_its_version() {
    let sample = |version| {
        let provider = ElfFacts {
            version_definitions: vec!["A_1".to_owned(), "A_2".to_owned()],
            exports: Exports::of(&[("f", Some(version))]),
            ..elf(&[])
        };
        let mut program = importing(&["f"], Bound::Now, elf(&["liba.so"]));
        program.version_needs = version_need("liba.so", "A_2", false);
        let import = |it| Import {
            version: Some(0),
            ..it
        };
        program.imports = program.imports.iter().map(import).collect();
        Sample::of(program).file("/lib64/liba.so", provider)
    };
    assert_eq!(sample("A_2").mapped().len(), 1);
    assert_eq!(
        sample("A_1").fails(),
        ["/app/main: undefined symbol: f, version A_2"]
    );
}

#[test]
fn functions_that_are_bound_late_fail_when_they_are_called() {
    let sample = Sample::of(importing(&["f"], Bound::Lazy, elf(&[])));
    let calls = sample.run(|process| {
        process
            .map_err(messages)
            .unwrap()
            .undefined_calls()
            .unwrap()
    });
    assert_eq!(calls.len(), 1);
    let eager = sample.set("LD_BIND_NOW", "1");
    assert_eq!(eager.fails(), ["/app/main: undefined symbol: f"]);
}

#[test]
fn executable_stacks_are_refused_since_glibc_2_41() {
    let stack = ElfFacts {
        executable_stack: Some(true),
        ..elf(&[])
    };
    let sample = |release| {
        Sample::new(&[])
            .glibc(release)
            .file("/p/liba.so", stack.clone())
            .opens(&[("/p/liba.so", LOCAL)])
    };
    assert!(sample("2.40").is_ok());
    assert_eq!(
        sample("2.41").unwrap_err(),
        "/p/liba.so: cannot enable executable stack as shared object requires: Invalid argument"
    );
}
