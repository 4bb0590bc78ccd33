//! Random trees against the kernel: a path leads where `openat2(2)` with RESOLVE_IN_ROOT leads, or fails with the same error.
//! Kernels and sandboxes without `openat2` leave these out; `chroot(2)`, of which it is said to be the equal, needs root.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::tools::say;

use crate::layers::directory_facts;
use imgcheck_archive::archive::path::display;
use proptest::prelude::*;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, mknodat, openat2};
use rustix::io::Errno;

use super::*;

/// A path or a part of one, as the kernel takes it.
type Bytes = Vec<u8>;

/// Where a path leads inside a root, as imgcheck writes it.
fn kernel(root: &fs::File, path: &[u8], last: OFlags) -> Result<String, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | last;
    let found = loop {
        match openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            // Something was renamed meanwhile, anywhere on the machine.
            Err(Errno::AGAIN) => {}
            found => break found?,
        }
    };
    let whole = |file: i32| fs::read_link(format!("/proc/self/fd/{file}")).unwrap();
    let place = whole(found.as_raw_fd());
    let place = place.strip_prefix(whole(root.as_raw_fd())).unwrap();
    Ok(format!("/{}", display(place.as_os_str().as_bytes())))
}

fn errno(error: ResolveError) -> Errno {
    match error {
        ResolveError::Denied => Errno::ACCESS,
        ResolveError::NotFound => Errno::NOENT,
        ResolveError::NotADirectory => Errno::NOTDIR,
        ResolveError::Loop => Errno::LOOP,
        ResolveError::NameTooLong => Errno::NAMETOOLONG,
    }
}

fn is_available() -> bool {
    let root = fs::File::open("/").unwrap();
    let available = kernel(&root, b"/", OFlags::empty()).is_ok();
    if !available {
        say(format_args!("skipped: openat2 is not available here"));
    }
    available
}

/// Compares both answers for each path.
fn compare(directory: &Path, queries: &[Bytes]) {
    let layers = [directory_facts(directory)];
    let merged = RootFilesystem::merge(&layers);
    let root = fs::File::open(directory).unwrap();
    for query in queries {
        let path = display(query);
        let found = merged.resolve(&path).map(|node| node.path()).map_err(errno);
        let absolute = format!("/{path}");
        if let Ok(place) = &found {
            assert_eq!(&merged.destination(&absolute), place, "{path}");
        } else if found == Err(Errno::NOENT) {
            let place = merged.destination(&absolute);
            assert!(merged.resolve(&place).is_err(), "{path} leads to {place}");
        }
        assert_eq!(found, kernel(&root, query, OFlags::empty()), "{path}");
        let found = merged.entry(&path).map(|node| node.path());
        assert_eq!(found, kernel(&root, query, OFlags::NOFOLLOW).ok(), "{path}");
    }
}

#[derive(Debug, Clone)]
enum Kind {
    Directory,
    File,
    Fifo,
    Symlink(Bytes),
    /// So many links, each to the next, the last to a path.
    Chain(usize, Bytes),
}

/// Makes what can be made, with its parents. Names that are taken are left as they are, and no link is followed: it may lead out of
/// the root, or to a fifo that nobody writes to.
fn make(root: &Path, path: &[u8], kind: &Kind) {
    let path = root.join(OsStr::from_bytes(path));
    let parent = path.parent().unwrap();
    let mut above = parent.ancestors().take_while(|above| *above != root);
    if above.any(Path::is_symlink) {
        return;
    }
    let _ = fs::create_dir_all(parent);
    let _ = match kind {
        Kind::Directory => fs::create_dir(&path),
        Kind::File => fs::File::create_new(&path).map(drop),
        Kind::Fifo => {
            mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR, 0).map_err(Into::into)
        }
        Kind::Symlink(target) => symlink(OsStr::from_bytes(target), &path),
        Kind::Chain(length, target) => {
            let link =
                |at: usize| format!("{}l{at}", if at.is_multiple_of(2) { "/" } else { "../" });
            for at in 1..*length {
                let _ = symlink(link(at + 1), root.join(format!("l{at}")));
            }
            let _ = symlink(OsStr::from_bytes(target), root.join(format!("l{length}")));
            symlink("/l1", &path)
        }
    };
}

fn name() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        12 => "[abc]".prop_map(String::into_bytes),
        2 => Just(b"caf\xe9".to_vec()),
        1 => Just("é".repeat(127).into_bytes()),
        1 => Just(vec![b'n'; 255]),
    ]
}

/// A step of a path that is to be looked up.
fn step() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        20 => name(),
        4 => Just(b"..".to_vec()),
        2 => Just(b".".to_vec()),
        1 => Just(Vec::new()),
        1 => Just(vec![b'n'; 256]),
        1 => "l[1-4]".prop_map(String::into_bytes),
    ]
}

fn joined(names: impl Strategy<Value = Bytes>) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(names, 1..5).prop_map(|names| names.join(&b'/'))
}

/// A path that is looked up or the target of a link: never empty.
fn target() -> impl Strategy<Value = Bytes> {
    let start = prop_oneof![Just(&b""[..]), Just(&b"/"[..]), Just(&b"../"[..])];
    (start, joined(step()))
        .prop_map(|(start, path)| [start, &path].concat())
        .prop_filter("a path", |path| !path.is_empty())
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => Just(Kind::Directory),
        2 => Just(Kind::File),
        1 => Just(Kind::Fifo),
        6 => target().prop_map(Kind::Symlink),
        1 => (37_usize..43, target()).prop_map(|(length, target)| Kind::Chain(length, target)),
    ]
}

fn tree() -> impl Strategy<Value = Vec<(Bytes, Kind)>> {
    prop::collection::vec((joined(name()), kind()), 1..16)
}

/// So many cases, unless the environment says how many.
fn cases(usual: u32) -> u32 {
    let said = std::env::var("PROPTEST_CASES").ok();
    said.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

fn make_all(root: &Path, tree: &[(Bytes, Kind)]) {
    for (path, kind) in tree {
        make(root, path, kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    #[test]
    fn a_path_leads_where_the_kernel_says(tree in tree(), queries in prop::collection::vec(target(), 24)) {
        if is_available() {
            let scratch = tempfile::tempdir().unwrap();
            make_all(scratch.path(), &tree);
            compare(scratch.path(), &queries);
        }
    }
}

#[test]
fn the_kernel_counts_links_and_bytes_alike() {
    if !is_available() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let target = |path: &str| path.as_bytes().to_vec();
    for (place, length) in [("forty", 39), ("more", 40)] {
        fs::create_dir(root.join(place)).unwrap();
        let below = root.join(place);
        for at in 1..length {
            symlink(format!("l{}", at + 1), below.join(format!("l{at}"))).unwrap();
        }
        symlink("end", below.join(format!("l{length}"))).unwrap();
        symlink("l1", below.join("first")).unwrap();
        make(&below, b"end/file", &Kind::File);
    }
    let mut queries: Vec<Bytes> = ["forty/first", "more/first", "more/l1", "forty/first/file"]
        .map(target)
        .to_vec();
    // Links are counted over the whole path, not for each of its names.
    queries.push(target("forty/l21/../l21/file"));
    queries.push(target("forty/l20/../l21/file"));
    queries.push(target("forty/first/../first/file"));
    for length in [4094, 4095, 4096, 4097] {
        queries.push([vec![b'/'; length - 5], target("forty")].concat());
    }
    for length in [254, 255, 256] {
        let long = vec![b'n'; length];
        make(root, &long, &Kind::File);
        make(
            root,
            &[b"to-", &*length.to_string().into_bytes()].concat(),
            &Kind::Symlink(long.clone()),
        );
        queries.extend([long, target(&format!("to-{length}"))]);
    }
    // The longest link that there can be.
    make(
        root,
        b"longest",
        &Kind::Symlink([vec![b'/'; 4090], target("forty")].concat()),
    );
    queries.push(target("longest/end"));
    for path in [
        "forty/end/file/",
        "forty/end/file/.",
        "forty/end/file/..",
        "forty/end/",
        "/..",
        "../../forty",
    ] {
        queries.push(target(path));
    }
    compare(root, &queries);
}

/// Where each path leads that leads somewhere, in a root of Python's own.
const CHROOT: &str = "
import os, sys
paths = sys.stdin.buffer.read().split(b'\\0')
os.chroot(sys.argv[1])
os.chdir('/')
for path in paths:
    try:
        os.stat(path)
        sys.stdout.buffer.write(os.path.realpath(path) + b'\\0')
    except OSError as error:
        sys.stdout.buffer.write(b'%d\\0' % error.errno)
";

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(10), ..ProptestConfig::default() })]

    #[test]
    fn a_path_leads_where_a_chroot_says(tree in tree(), queries in prop::collection::vec(target(), 64)) {
        if !rustix::process::geteuid().is_root() {
            say(format_args!("skipped: only root may chroot"));
            return Ok(());
        }
        let scratch = tempfile::tempdir().unwrap();
        make_all(scratch.path(), &tree);
        let layers = [directory_facts(scratch.path())];
        let merged = RootFilesystem::merge(&layers);
        let expected = chroot(scratch.path(), &queries);
        for (query, expected) in queries.iter().zip(expected) {
            let path = display(query);
            let found = merged.resolve(&path).map(|node| node.path());
            let found = found.unwrap_or_else(|error| errno(error).raw_os_error().to_string());
            prop_assert_eq!(found, expected, "{}", path);
        }
    }
}

fn chroot(root: &Path, queries: &[Bytes]) -> Vec<String> {
    let mut child = Command::new("python3")
        .args(["-c", CHROOT])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&queries.join(&0))
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    output
        .stdout
        .split(|byte| *byte == 0)
        .map(display)
        .collect()
}
