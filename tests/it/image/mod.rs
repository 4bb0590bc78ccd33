//! The merged root filesystem: cases by hand, and properties against the kernel itself.

mod resolution;

use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_image::{ResolveError, RootFilesystem};

fn entry(path: &str, kind: EntryKind) -> Entry {
    Entry {
        path: path.to_owned(),
        kind,
        size: 0,
        mode: 0o755,
        owner: Default::default(),
    }
}

fn directory(path: &str) -> Entry {
    entry(path, EntryKind::Directory)
}

fn file(path: &str, text: &str) -> Entry {
    entry(path, EntryKind::File(Content::Text(text.to_owned())))
}

fn symlink(path: &str, target: &str) -> Entry {
    entry(path, EntryKind::Symlink(target.to_owned()))
}

fn hard_link(path: &str, target: &str) -> Entry {
    entry(path, EntryKind::HardLink(target.to_owned()))
}

fn whiteout(path: &str) -> Entry {
    entry(path, EntryKind::Whiteout)
}

fn opaque(path: &str) -> Entry {
    entry(path, EntryKind::Opaque)
}

fn layers<const N: usize>(layers: [Vec<Entry>; N]) -> Vec<LayerFacts> {
    layers.map(|entries| LayerFacts { entries }).to_vec()
}

/// Every path of the tree with its layer, directories with a `/` at their end.
fn listing(root: &RootFilesystem) -> Vec<String> {
    root.walk_tree()
        .map(|node| {
            let slash = if node.is_directory() { "/" } else { "" };
            format!(
                "{}{slash} {}",
                node.path(),
                node.layer().unwrap_or(usize::MAX)
            )
        })
        .collect()
}

#[test]
fn later_layers_replace_and_remove() {
    let layers = layers([
        vec![
            directory("a"),
            file("a/kept", ""),
            file("a/gone", ""),
            file("b", "old"),
        ],
        vec![
            directory("a"),
            whiteout("a/gone"),
            file("b", "new"),
            file("c", ""),
        ],
    ]);
    let root = RootFilesystem::merge(&layers);
    assert_eq!(listing(&root), ["/a/ 0", "/a/kept 0", "/b 1", "/c 1"]);
    assert_eq!(root.resolve("/b").unwrap().text(), Some("new"));
}

#[test]
fn what_a_layer_removes_is_known() {
    let layers = layers([
        vec![
            file("a/one", ""),
            file("a/deep/two", ""),
            file("b/three", ""),
            file("c/four", ""),
        ],
        vec![whiteout("a/one"), opaque("b"), file("b/new", "")],
        vec![whiteout("a/deep"), file("c", "in place of a directory")],
    ]);
    let root = RootFilesystem::merge(&layers);
    let removed = root.removed();
    let removed: Vec<_> = removed.map(|(node, layer)| (node.path(), layer)).collect();
    let expected = [("/a/one", 1), ("/b/three", 1), ("/a/deep/two", 2)];
    let mut removed: Vec<_> = removed.iter().map(|(it, at)| (it.as_str(), *at)).collect();
    removed.sort_by_key(|(path, layer)| (*layer, *path));
    assert_eq!(removed, expected);
}

#[test]
fn a_whiteout_affects_only_lower_layers_wherever_it_is() {
    // The example of the OCI image specification, layer.md, "Whiteouts", in both orders.
    let base = vec![
        directory("a"),
        directory("a/b"),
        directory("a/b/c"),
        file("a/b/c/bar", ""),
    ];
    let recreated = [
        directory("a"),
        directory("a/b"),
        directory("a/b/c"),
        file("a/b/c/foo", ""),
    ];
    for marker_first in [true, false] {
        let listing = |marker: Entry| {
            let mut upper = recreated.to_vec();
            upper.insert(if marker_first { 0 } else { upper.len() }, marker);
            let layers = layers([base.clone(), upper]);
            listing(&RootFilesystem::merge(&layers))
        };
        let hidden = ["/a/ 0", "/a/b/ 1", "/a/b/c/ 1", "/a/b/c/foo 1"];
        assert_eq!(listing(opaque("a")), hidden);
        // To an overlay this directory lies over the lower one, whatever stood in its place before.
        let merged = [
            "/a/ 0",
            "/a/b/ 0",
            "/a/b/c/ 0",
            "/a/b/c/bar 0",
            "/a/b/c/foo 1",
        ];
        assert_eq!(listing(whiteout("a/b")), merged);
    }
}

#[test]
fn files_below_a_whiteout_are_new() {
    let layers = layers([
        vec![file("a/old", ""), file("b/old", "")],
        vec![
            whiteout("a"),
            file("a/new", ""),
            whiteout("b"),
            whiteout("b/old"),
        ],
    ]);
    assert_eq!(
        listing(&RootFilesystem::merge(&layers)),
        ["/a/ 0", "/a/new 1"]
    );
}

#[test]
fn a_device_without_a_number_is_a_whiteout() {
    let device = |path: &str| entry(path, EntryKind::WhiteoutDevice);
    let layers = layers([
        vec![file("a/x", ""), file("a/y", ""), device("base")],
        vec![
            file("a/x", ""),
            device("a/x"),
            device("a/y"),
            file("a/y", ""),
            device("new/z"),
        ],
    ]);
    assert_eq!(
        listing(&RootFilesystem::merge(&layers)),
        ["/a/ 0", "/a/y 1", "/new/ 1"]
    );
}

#[test]
fn a_whiteout_of_nothing_and_of_the_root_does_nothing() {
    let layers = layers([
        vec![file("a", "")],
        vec![whiteout("x/y"), whiteout(""), opaque("z")],
    ]);
    assert_eq!(
        listing(&RootFilesystem::merge(&layers)),
        ["/a 0", "/x/ 1", "/z/ 1"]
    );
}

#[test]
fn an_opaque_root_hides_nothing() {
    let layers = layers([vec![file("a/b", "")], vec![file("c", ""), opaque("")]]);
    assert_eq!(
        listing(&RootFilesystem::merge(&layers)),
        ["/a/ 0", "/a/b 0", "/c 1"]
    );
}

#[test]
fn a_directory_and_a_file_replace_each_other() {
    let layers = layers([
        vec![file("a/x", ""), file("b", "")],
        vec![file("a", ""), file("b/x", "")],
    ]);
    assert_eq!(
        listing(&RootFilesystem::merge(&layers)),
        ["/a 1", "/b/ 1", "/b/x 1"]
    );
}

#[test]
fn entries_before_their_parents_and_duplicates() {
    let layers = layers([vec![
        file("a/b/c", "first"),
        directory("a"),
        file("a/b/c", "second"),
    ]]);
    let root = RootFilesystem::merge(&layers);
    assert_eq!(listing(&root), ["/a/ 0", "/a/b/ 0", "/a/b/c 0"]);
    assert_eq!(root.resolve("a/b/c").unwrap().text(), Some("second"));
    assert_eq!(root.resolve("a").unwrap().mode(), Some(0o755));
    assert_eq!(root.resolve("a/b").unwrap().mode(), None);
}

#[test]
fn hard_links_are_one_file_also_across_layers() {
    let layers = layers([
        vec![
            hard_link("early", "a"),
            file("a", "one"),
            hard_link("b", "a"),
            file("other", "one"),
        ],
        vec![
            hard_link("c", "b"),
            file("a", "two"),
            hard_link("lost", "nowhere"),
        ],
    ]);
    let root = RootFilesystem::merge(&layers);
    let identity = |path: &str| root.entry(path).unwrap().identity();
    assert_eq!(identity("b"), identity("c"));
    assert_eq!(identity("b"), identity("early"));
    assert_ne!(identity("a"), identity("b"));
    assert_ne!(identity("other"), identity("b"));
    assert_eq!(root.resolve("c").unwrap().text(), Some("one"));
    assert_eq!(root.resolve("c").unwrap().layer(), Some(1));
    assert!(root.entry("lost").is_none());
    let links: Vec<_> = root
        .hard_links(identity("b").unwrap())
        .map(|node| node.path())
        .collect();
    assert_eq!(links, ["/b", "/c", "/early"]);
}

#[test]
fn links_in_the_parents_of_an_entry_are_followed_in_its_layer() {
    let layers = layers([
        vec![
            directory("usr/lib"),
            symlink("lib", "usr/lib"),
            symlink("lib64", "usr/lib"),
            file("lib/x/libfoo.so", ""),
            file("usr/lib/gone", ""),
        ],
        vec![
            file("lib/libbar.so", ""),
            symlink("usr64", "/usr"),
            whiteout("usr64/lib/gone"),
            whiteout("lib64/x"),
        ],
    ]);
    let root = RootFilesystem::merge(&layers);
    assert_eq!(
        listing(&root),
        [
            "/lib/ 1",
            "/lib/libbar.so 1",
            "/lib64/ 1",
            "/usr/ 0",
            "/usr/lib/ 0",
            "/usr/lib/x/ 0",
            "/usr/lib/x/libfoo.so 0",
            "/usr64 1"
        ]
    );
}

#[test]
fn links_are_resolved_inside_the_root() {
    let layers = layers([vec![
        file("usr/lib/x86_64-linux-gnu/libc.so.6", ""),
        symlink("lib", "usr/lib"),
        symlink("absolute", "/lib/x86_64-linux-gnu"),
        symlink("outside", "../../../../usr/lib"),
        symlink("usr/lib/up", ".."),
        symlink("self", "self"),
        symlink("ping", "pong"),
        symlink("pong", "/ping"),
        symlink("dangling", "/nowhere"),
        symlink("empty", ""),
        file("plain", ""),
    ]]);
    let root = RootFilesystem::merge(&layers);
    let path = |path: &str| root.resolve(path).map(|node| node.path());
    let libc = "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned();
    for name in [
        "/lib/x86_64-linux-gnu/libc.so.6",
        "absolute/libc.so.6",
        "outside/x86_64-linux-gnu/libc.so.6",
        "/lib/up/lib//x86_64-linux-gnu/./libc.so.6",
        "../../usr/lib/x86_64-linux-gnu/libc.so.6",
    ] {
        assert_eq!(path(name), Ok(libc.clone()), "{name}");
    }
    assert_eq!(path("/"), Ok("/".to_owned()));
    assert_eq!(path("self"), Err(ResolveError::Loop));
    assert_eq!(path("ping/x"), Err(ResolveError::Loop));
    assert_eq!(path("dangling"), Err(ResolveError::NotFound));
    assert_eq!(path("empty"), Err(ResolveError::NotFound));
    assert_eq!(path("plain/x"), Err(ResolveError::NotADirectory));
    assert_eq!(path("plain/.."), Err(ResolveError::NotADirectory));
    assert_eq!(path(&"x/".repeat(3000)), Err(ResolveError::NameTooLong));
    assert_eq!(
        root.read_dir("/lib")
            .map(|node| node.name())
            .collect::<Vec<_>>(),
        ["up", "x86_64-linux-gnu"]
    );
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let chain = |length: usize| {
        let mut entries: Vec<_> = (1..length)
            .map(|index| symlink(&format!("l{index}"), &format!("l{}", index + 1)))
            .collect();
        entries.push(symlink(&format!("l{length}"), "end"));
        entries.push(file("end", ""));
        layers([entries])
    };
    let forty = chain(40);
    assert!(RootFilesystem::merge(&forty).resolve("l1").is_ok());
    let more = chain(41);
    assert_eq!(
        RootFilesystem::merge(&more).resolve("l1").err(),
        Some(ResolveError::Loop)
    );
}

#[test]
fn hostile_layers_end() {
    let deep = "d/".repeat(100_000) + "f";
    let mut entries = vec![
        file(&deep, ""),
        symlink("loop", "loop/loop"),
        file("loop/x", ""),
        file("../../escape", ""),
        file("a/..", ""),
        hard_link("me", "me"),
        directory(""),
        file("", ""),
        hard_link("dir", "d"),
    ];
    entries.extend((0..1000).map(|index| file(&format!("loop/{index}/x"), "")));
    let layers = layers([entries]);
    let root = RootFilesystem::merge(&layers);
    assert!(root.entry("escape").is_some());
    assert!(root.entry("me").is_none());
    assert!(root.entry("dir").is_none());
    assert!(root.files().count() > 1000);
}
