//! Browsers, sizes and destinations.

use super::*;
use crate::browser::{measured, visit};

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

/// A page with all that is wide: libraries for every GPU, long names and paths, targets.
fn wide_page() -> String {
    const NAME: &str =
        "_vllm_fa3_grouped_gemm_kernels_for_all_gpus.cpython-312-x86_64-linux-gnu.so";
    const DIRECTORY: &str = "/opt/conda/envs/train/lib/python3.12/site-packages/vllm/vllm_flash_attn/third_party/kernels";
    let checker = Checker::builder().loader_trees(true);
    let checker = checker.gpus(["h100", "a100"]).driver("525.85.12");
    let checker = checker.build().unwrap();
    let mut image = report(&checker, repository(FAULTY).to_str().unwrap());
    let path = format!("{DIRECTORY}/{NAME}");
    let library = &mut Arc::make_mut(&mut image.facts.gpu).libraries[0];
    library.path.clone_from(&path);
    library.coverage.sass = [
        35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120,
        121,
    ]
    .map(|it| format!("sm_{it}"))
    .to_vec();
    let component = &mut Arc::make_mut(&mut image.facts.stack)[0];
    component.path.clone_from(&path);
    component.version = "2.8.0a0+5228986c39.nv25.6.post1".to_owned();
    let object = &mut Arc::make_mut(&mut image.tree).processes[0].objects[1];
    object.facts.path = path;
    object.facts.reason = format!("DT_RPATH of {NAME}");
    page(&[image], &[], &[])
}

/// By how much the page is wider than its window, and each box that scrolls than its content; and the sizes of the labels of treemaps.
const WIDTHS: &str = "(page.querySelectorAll('details').forEach(it => it.open = true), {
    page: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    boxes: Array.from(page.querySelectorAll('.scroll'), it => [it.ariaLabel, it.scrollWidth - it.clientWidth]),
    labels: Array.from(page.querySelectorAll('.treemap text'), it => parseFloat(getComputedStyle(it).fontSize) * it.getScreenCTM().a),
})";

#[test]
fn a_laptop_shows_all_and_a_phone_scrolls_only_within_boxes() {
    let mut pages = vec![
        ("wide".to_owned(), wide_page()),
        ("healthy".to_owned(), page(&[judged(HEALTHY)], &[], &[])),
    ];
    let real = real_images().into_iter();
    pages.extend(real.map(|(name, image)| (name, page(&[image], &[], &[]))));
    for (name, page) in pages {
        // The second one has a scroll bar.
        let Some(widths) = measured(&page, &[1280, 1265, 360], WIDTHS) else {
            return;
        };
        for (width, window) in widths.iter().zip(["laptop", "laptop", "phone"]) {
            assert_eq!(width["page"], 0, "{name} {window}");
            let boxes = width["boxes"].as_array().unwrap();
            let hidden = boxes.iter().filter(|it| it[1] != 0);
            let hidden: Vec<&Value> = hidden.collect();
            match window {
                "laptop" => assert!(hidden.is_empty(), "{name}: {hidden:?}"),
                _ => assert!(hidden.len() >= 3, "{name}: {boxes:?}"),
            }
            let labels = width["labels"].as_array().unwrap();
            assert!(!labels.is_empty(), "{name}");
            let is_legible = |it: &Value| it.as_f64().unwrap() >= 10.0;
            assert!(labels.iter().all(is_legible), "{name} {window}: {labels:?}");
        }
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
        tools::skip(message, tools::real_images_required());
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
