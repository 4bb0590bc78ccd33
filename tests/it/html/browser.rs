//! Browsers, sizes and destinations.

use super::*;
use crate::browser::visit;

#[test]
fn the_tree_has_a_page() {
    let output = program::imgcheck()
        .args(["tree", "-f", "html"])
        .arg(program::repository(FAULTY))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = String::from_utf8(output.stdout).unwrap();
    assert_self_contained(&page);
    let text = text(&page);
    for words in [
        "pytorch-cuda:v2.9",
        "libtorch_cuda.so",
        "nothing is missing",
        "DT_RPATH of libtorch_python.so",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
    assert!(!text.contains("Claimed"), "{text}");
}

/// The program draws the graph whether the page goes to the standard output or to a file besides another format.
#[test]
fn a_page_is_written_to_every_destination() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    let printed = program::imgcheck()
        .args(["check", "-f", "html"])
        .arg(program::repository(FAULTY))
        .output()
        .unwrap();
    assert_eq!(printed.status.code(), Some(1), "{printed:?}");
    let besides = program::imgcheck()
        .args(["check", "-f", "json", "-o"])
        .arg(format!("html={}", path.display()))
        .arg(program::repository(FAULTY))
        .output()
        .unwrap();
    assert_eq!(besides.status.code(), Some(1), "{besides:?}");
    let printed = String::from_utf8(printed.stdout).unwrap();
    for page in [printed, fs::read_to_string(&path).unwrap()] {
        assert_self_contained(&page);
        assert!(page.contains("libcudnn_engines_runtime_compiled.so.9</text>"));
    }
}

/// Opens a file in Chromium: its document, its log, and the addresses that it requested. `None` without Chromium.
fn browsed(page: &Path) -> Option<(String, String, Vec<String>)> {
    let visit = visit(&format!("file://{}", page.display()), &[])?;
    Some((visit.dom, visit.log, visit.requests))
}

/// Otherwise the next test would prove nothing.
#[test]
fn requests_of_a_page_are_detected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    fs::write(&path, "<!doctype html><img src='http://example.invalid/x.png'><script>console.log('said')</script>").unwrap();
    let Some((_, said, requests)) = browsed(&path) else {
        return;
    };
    assert_eq!(requests, ["http://example.invalid/x.png"]);
    assert!(said.contains(":CONSOLE"), "{said}");
}

#[test]
fn a_browser_shows_the_page_without_an_error_and_asks_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (image, file, error) = hostile();
    let pages = [
        (
            "report.html",
            page(&[judged(HEALTHY), judged(FAULTY)], &[], &[]),
        ),
        ("hostile.html", page(&[image], &[file], &[error])),
    ];
    for (name, page) in pages {
        let path = directory.path().join(name);
        fs::write(&path, &page).unwrap();
        let Some((dom, said, requests)) = browsed(&path) else {
            return;
        };
        assert_eq!(requests, Vec::<String>::new(), "{name}");
        assert!(!said.contains(":CONSOLE"), "{name}: {said}");
        assert!(
            dom.contains("</svg>") && dom.contains("</footer>"),
            "{name}: {dom}"
        );
        assert_eq!(
            dom.matches("<svg").count(),
            page.matches("<svg").count(),
            "{name}"
        );
        assert_eq!(dom.matches("<script").count(), 0, "{name}");
    }
}

/// Root filesystems that the recipes made, with their configurations: a healthy one, two broken ones, and all where people look at them.
fn real_images() -> Vec<(String, ImageReport)> {
    let directories = ["loader", "loader/faults"].map(|name| tools::real_images().join(name));
    let entries = directories
        .iter()
        .flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let is_all = std::env::var_os("IMGCHECK_PAGES").is_some();
    let some = ["cudnn-ops-missing", "libstdcxx-3.4.21", "torch-2.8.0"];
    paths.retain(|path| {
        let is_wanted = is_all || some.iter().any(|name| path.ends_with(name));
        is_wanted && path.join("observed.json").exists()
    });
    paths.sort();
    if paths.is_empty() {
        let message = format!("there is no image in {}", tools::real_images().display());
        assert!(!tools::real_images_required(), "{message}");
        say(format_args!("skipped: {message}"));
    }
    let checker = checker();
    let reports = paths.iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let facts = checker
            .facts(&ImageRequest::new(root(path).to_string()))
            .unwrap();
        // A root directory has no configuration.
        let mut facts = serde_json::to_value(&facts).unwrap();
        facts["config"] = serde_json::to_value(configuration(path)).unwrap();
        let facts = serde_json::from_value(facts).unwrap();
        let subject = Subject::new(format!("example/{name}:latest"), Day::default());
        (name, checker.report(&facts, &subject).unwrap())
    });
    reports.collect()
}

/// Where real images are, the page of each is written beside them, for people to look at, if IMGCHECK_PAGES names a directory.
#[test]
fn pages_of_real_images_stay_small() {
    for (name, image) in real_images() {
        if let Some(directory) = std::env::var_os("IMGCHECK_PAGES") {
            let tree = serde_json::to_string(&image.tree).unwrap();
            fs::write(PathBuf::from(directory).join(format!("{name}.json")), tree).unwrap();
        }
        let page = page(&[image], &[], &[]);
        assert!(page.len() < 2_000_000, "{name}: {} bytes", page.len());
        assert_self_contained(&page);
        if let Some(directory) = std::env::var_os("IMGCHECK_PAGES") {
            fs::write(PathBuf::from(directory).join(format!("{name}.html")), page).unwrap();
        }
    }
}
