//! The loader model against a real glibc in a chroot: loaders outside the system's directories, secure-execution mode. Skipped
//! with a message without root's rights, a C compiler, or a glibc for x86-64 in Debian's directories.

mod chroot;

use std::fs;
use std::path::Path;

use chroot::{Chroot, LIBRARIES, RELOCATED, STANDARD, USER, can_run, replaced};

const MISSING: &str = "libt.so: cannot open shared object file: No such file or directory";

/// The directories, the cache and the list of preloaded libraries are those that are built into the loader.
#[test]
fn a_loader_elsewhere_has_paths_of_its_own() {
    if !can_run() {
        return;
    }
    let relocated = |options: &[&str]| Chroot::new(RELOCATED, options);
    let system = format!("{LIBRARIES}/libt.so");
    relocated(&[]).with(&system).check(MISSING);
    for directory in [
        "/nix/store/glibcx/lib",
        "/nix/store/glibcx/lib/mor",
        "/nlb",
        "/nix/lib",
    ] {
        let path = format!("{directory}/libt.so");
        relocated(&[]).with(&system).with(&path).check(&path);
    }
    relocated(&[])
        .with("/nlb/libt.so")
        .with("/nix/lib/libt.so")
        .check("/nlb/libt.so");
    relocated(&[])
        .with("/opt/cached/libt.so")
        .cache("/etc/ld.so.cache", &["/opt/cached"])
        .check(MISSING);
    relocated(&[])
        .with("/opt/cached/libt.so")
        .cache("/nix/ld.so.cache", &["/opt/cached"])
        .check("/opt/cached/libt.so");
    relocated(&["-Wl,-z,nodefaultlib"])
        .with("/nix/lib/libt.so")
        .check(MISSING);
    let preloading = || {
        let chroot = relocated(&[]).with("/nlb/libt.so");
        chroot.with("/opt/libp.so").with("/opt/libq.so")
    };
    preloading()
        .text("/etc/ld.so.preload", "/opt/libp.so\n")
        .check("/nlb/libt.so");
    preloading()
        .text("/nix/ld.so.preload", "/opt/libp.so # first\n")
        .variable("LD_PRELOAD", "/opt/libq.so:libnone.so")
        .check("/opt/libp.so");
    relocated(&["-Wl,-rpath,$ORIGIN/../own"])
        .with("/own/libt.so")
        .check("/own/libt.so");
}

/// What a user who starts a set-user-ID program, or one with file capabilities, can set does not count.
#[test]
fn secure_execution() {
    if !can_run() {
        return;
    }
    let plain = |options: &[&str]| Chroot::new(STANDARD, options);
    let by_user_id = |options: &[&str]| plain(options).set_user_id();
    let default = format!("{LIBRARIES}/libt.so");
    // The default directory is /lib, a link to /usr/lib.
    let found = "/lib/x86_64-linux-gnu/libt.so";
    for options in [&[][..], &["-Wl,--disable-new-dtags,-rpath,/opt/lib"]] {
        let answer = if options.is_empty() {
            "/opt/other/libt.so"
        } else {
            "/opt/lib/libt.so"
        };
        let chroot = || {
            let chroot = plain(options)
                .with("/opt/lib/libt.so")
                .with("/opt/other/libt.so");
            chroot.variable("LD_LIBRARY_PATH", "/opt/other")
        };
        chroot().check(answer);
        let secure = if options.is_empty() { MISSING } else { answer };
        chroot().set_user_id().check(secure);
        for capabilities in ["cap_net_bind_service=ep", "cap_chown=p"] {
            chroot().capabilities(capabilities).check(secure);
        }
        for (mode, owner, is_secure) in [
            (0o4755, (USER, 0), false),
            (0o2755, (0, 0), true),
            (0o2755, (0, USER), false),
            (0o2745, (0, 0), false),
        ] {
            let answer = if is_secure { secure } else { answer };
            chroot().owned(mode, owner, is_secure).check(answer);
        }
    }
    // $ORIGIN of the program counts only within the default directories, and only at the start of a path.
    for path in [
        "$ORIGIN",
        "$ORIGIN/../app",
        "${ORIGIN}",
        "/opt/$ORIGIN",
        "$ORIGIN:/app",
    ] {
        let option = format!("-Wl,-rpath,{path}");
        plain(&[&option])
            .with("/app/libt.so")
            .with("/opt/app/libt.so")
            .check("libt.so");
        let answer = if path.ends_with(":/app") {
            "/app/libt.so"
        } else {
            MISSING
        };
        by_user_id(&[&option])
            .with("/app/libt.so")
            .with("/opt/app/libt.so")
            .check(answer);
    }
    for path in [
        "$ORIGIN/../usr/lib/deep",
        "$ORIGIN/../lib/./deep/../deep",
        "$ORIGIN/../$LIB/deep",
    ] {
        let option = format!("-Wl,-rpath,{path}");
        let directory = if path.contains("LIB") {
            LIBRARIES
        } else {
            "/usr/lib"
        };
        by_user_id(&[&option])
            .with(&format!("{directory}/deep/libt.so"))
            .check("deep/libt.so");
    }
    // Of preloaded libraries, those without a slash count that are set-user-ID and in a directory that is searched.
    let preloading = |name: &str| by_user_id(&[]).with(&default).variable("LD_PRELOAD", name);
    preloading("/opt/libp.so").with("/opt/libp.so").check(found);
    preloading("libp.so")
        .with(&format!("{LIBRARIES}/libp.so"))
        .check(found);
    let path = format!("{LIBRARIES}/libp.so");
    preloading("libp.so")
        .with_set_user_id(&path)
        .check("x86_64-linux-gnu/libp.so");
    preloading("libp.so")
        .with(&path)
        .with_set_user_id("/usr/lib/libp.so")
        .check("/lib/libp.so");
    preloading("libp.so")
        .with_set_user_id("/opt/libp.so")
        .cache("/etc/ld.so.cache", &["/opt"])
        .check(found);
    by_user_id(&[])
        .with(&default)
        .with("/opt/libp.so")
        .with(&path)
        .text("/etc/ld.so.preload", "/opt/libp.so libp.so\n")
        .check("/opt/libp.so");
}

/// The loader as the command: its options, and whose links count for `$ORIGIN`.
#[test]
fn the_loader_as_the_command() {
    if !can_run() {
        return;
    }
    const PATH: &str = "--library-path";
    const INHIBIT: &str = "--inhibit-rpath";
    let main = "/app/main";
    let plain = || Chroot::new(STANDARD, &[]);
    let two = || plain().with("/opt/lib/libt.so").with("/opt/other/libt.so");
    let by = |words: &[&str]| two().command(words);
    by(&[STANDARD, main]).check(MISSING);
    by(&[STANDARD, PATH, "/opt/lib", main]).check("/opt/lib/libt.so");
    by(&[STANDARD, PATH, "/opt/lib", main])
        .variable("LD_LIBRARY_PATH", "/opt/other")
        .check("/opt/lib/libt.so");
    by(&[STANDARD, PATH, "", main])
        .variable("LD_LIBRARY_PATH", "/opt/other")
        .check(MISSING);
    by(&[STANDARD, PATH, "/opt/lib", PATH, "/opt/other", main]).check("/opt/other/libt.so");
    by(&[STANDARD, PATH, "$ORIGIN/../opt/lib", main]).check("/opt/lib/libt.so");
    by(&[STANDARD, "--argv0", "other", main])
        .variable("LD_LIBRARY_PATH", "/opt/other")
        .check("/opt/other/libt.so");
    let preloading = |list: &str| {
        let chroot = two().with("/opt/libp.so").with("/opt/libq.so");
        let chroot = chroot.variable("LD_PRELOAD", "/opt/libq.so");
        chroot.command(&[STANDARD, PATH, "/opt/lib", "--preload", list, main])
    };
    preloading("/opt/libp.so").check("/opt/libp.so");
    preloading("/opt/libp.so").check("/opt/libq.so");
    preloading("/opt/none.so:/opt/libp.so").check("/opt/libp.so");
    // The kernel follows links to the program; the loader does not.
    let linked = |options: &[&str]| {
        let chroot = Chroot::new(STANDARD, options).link("/srv/bin/main", "../../app/main");
        chroot.with("/own/libt.so").with("/srv/own/libt.so")
    };
    let own = &["-Wl,-rpath,$ORIGIN/../own"];
    linked(own).check("/own/libt.so");
    linked(own)
        .command(&[STANDARD, main])
        .check("/app/../own/libt.so");
    linked(own)
        .command(&[STANDARD, "/srv/bin/main"])
        .check("/srv/bin/../own/libt.so");
    linked(own)
        .command(&[STANDARD, "srv/bin/main"])
        .check("/srv/bin/../own/libt.so");
    // Which objects an element of the list names.
    for (list, answer) in [
        ("", MISSING),
        (":x", MISSING),
        ("x:", "/own/libt.so"),
        (main, "/own/libt.so"),
        ("x::y", MISSING),
    ] {
        let command = [STANDARD, INHIBIT, list, main];
        linked(own).command(&command).check(answer);
    }
    let cached = || {
        let chroot = plain().with("/opt/cached/libt.so");
        chroot.cache("/etc/ld.so.cache", &["/opt/cached"])
    };
    cached()
        .command(&[STANDARD, main])
        .check("/opt/cached/libt.so");
    cached()
        .command(&[STANDARD, "--inhibit-cache", main])
        .check(MISSING);
    // The loader that is the command counts, not the one that the program names.
    let relocated = || {
        let chroot = plain().with("/nix/lib/libt.so");
        let bytes = fs::read(Path::new(LIBRARIES).join("ld-linux-x86-64.so.2")).unwrap();
        chroot.write(RELOCATED, &replaced(bytes), 0o755);
        let libc = fs::read(Path::new(LIBRARIES).join("libc.so.6")).unwrap();
        chroot.write("/nix/store/glibcx/lib/libc.so.6", &libc, 0o755);
        chroot
    };
    relocated().check(MISSING);
    relocated()
        .command(&[RELOCATED, main])
        .check("/nix/lib/libt.so");
}
