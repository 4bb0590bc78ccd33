//! What depends on the processor, and on `ldconfig`.

use imgcheck_image::{Content, EntryKind};
use imgcheck_model::process::LoaderFacts;
use testkit::ld_so_cache::old_format;

use super::pytorch;
use crate::sample::{Image, identified, program};

/// PyTorch in a Python that needs `libx.so` from the default directories.
fn needing_x() -> Image {
    let python = program(&["libx.so"]);
    let image = pytorch().wheel("cuda_runtime", "libcudart.so.12");
    image.elf("usr/local/bin/python3.11", python)
}

fn on_hosts(facts: &LoaderFacts) -> Vec<(&str, bool, &str)> {
    let faults = facts.host_faults.iter();
    faults
        .map(|it| {
            (
                it.processor.as_str(),
                it.after_ldconfig,
                it.context.message.as_str(),
            )
        })
        .collect()
}

#[test]
fn a_broken_library_for_other_processors_fails_only_there() {
    let hwcaps = "usr/lib64/glibc-hwcaps";
    let whole = || needing_x().library("usr/lib64", "libx.so", &[]);
    for (level, expected) in [("x86-64-v4", 1), ("valgrind", 0)] {
        let facts = whole().empty(&format!("{hwcaps}/{level}/libx.so")).loader();
        assert_eq!(facts.host_faults.len(), expected, "{level}");
        assert!(facts.missing.iter().all(|it| it.library != "libx.so"));
    }
    let facts = whole()
        .empty(&format!("{hwcaps}/x86-64-v4/libx.so"))
        .loader();
    let message = format!("/{hwcaps}/x86-64-v4/libx.so: file too short");
    assert_eq!(on_hosts(&facts), [("x86-64-v4", false, message.as_str())]);
    assert_eq!(
        facts.host_faults[0].path,
        format!("/{hwcaps}/x86-64-v4/libx.so")
    );
    // On processors of the assumed level and above, it is a fault, and where it is none is known.
    let facts = whole()
        .empty(&format!("{hwcaps}/x86-64-v3/libx.so"))
        .loader();
    assert_eq!(facts.host_faults, []);
    assert_eq!(facts.missing[0].context.absent_on, ["x86-64-v2"]);
    // A library that only some processors find.
    let facts = needing_x()
        .library(&format!("{hwcaps}/x86-64-v3"), "libx.so", &[])
        .loader();
    let message = "libx.so: cannot open shared object file: No such file or directory";
    assert_eq!(on_hosts(&facts), [("x86-64-v2", false, message)]);
    let same = ["x86-64-v2", "x86-64-v3", "x86-64-v4"].map(|it| format!("{hwcaps}/{it}"));
    let all = same
        .iter()
        .fold(whole(), |image, it| image.library(it, "libx.so", &[]));
    assert_eq!(all.loader().host_faults, []);
}

#[test]
fn what_fails_everywhere_is_no_fault_of_some_hosts() {
    // The Python fails on all hosts, with a different library first.
    let facts = needing_x()
        .elf("usr/local/bin/python3.11", program(&["libx.so", "liby.so"]))
        .library("usr/lib64", "libx.so", &[])
        .empty("usr/lib64/glibc-hwcaps/x86-64-v4/libx.so")
        .loader();
    assert_eq!(on_hosts(&facts), []);
    let found = facts.missing.iter().find(|it| it.library == "liby.so");
    assert_eq!(found.unwrap().context.absent_on, [""; 0]);
}

#[test]
fn what_ldconfig_changes_is_played_with_and_without() {
    let bytes = |path: &str| EntryKind::File(Content::Bytes(old_format(&[("libx.so", path)])));
    // Somebody ran `ldconfig /opt/x`; the next ldconfig drops the directory.
    let libc = || {
        let needing = needing_x();
        needing.elf(
            "lib64/libc.so.6",
            identified("glibc", "libc.so.6", &[("version", "2.36")]),
        )
    };
    let facts = libc()
        .library("opt/x", "libx.so", &[])
        .entry("etc/ld.so.cache", bytes("/opt/x/libx.so"))
        .loader();
    let message = "libx.so: cannot open shared object file: No such file or directory";
    assert_eq!(on_hosts(&facts), [("", true, message)]);
    assert!(facts.missing.iter().all(|it| it.library != "libx.so"));
    // A directory of ld.so.conf that the cache does not know.
    let facts = libc()
        .library("opt/x", "libx.so", &[])
        .text("etc/ld.so.conf", "/opt/x\n")
        .entry("etc/ld.so.cache", bytes("/gone/libx.so"))
        .loader();
    assert_eq!(facts.host_faults, []);
    assert_eq!(facts.missing[0].after_ldconfig, "/opt/x/libx.so");
    assert_eq!(facts.missing[0].context.absent_on, ["ldconfig"]);
}
