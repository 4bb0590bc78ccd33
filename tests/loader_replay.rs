//! The loader model against glibc: the requests that real processes made are replayed, and the model must map the same files in
//! the same order. `testdata/recipes/loader_images.py` makes the images and writes down what the real loader did in them.

#![allow(clippy::unwrap_used)]

#[path = "support/real.rs"]
mod real;
#[path = "support/say.rs"]
mod say;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use imgcheck::elf::Depth;
use imgcheck::image::RootFilesystem;
use imgcheck::layer::{self, LayerFacts, Wanted};
use imgcheck::loader::{Mode, Process, System};
use imgcheck::reference::transport::Target;
use imgcheck::source::{self, Selection};
use serde::Deserialize;

#[derive(Deserialize)]
struct Observed {
    #[serde(flatten)]
    import: Run,
    first_use: Option<Run>,
}

#[derive(Deserialize)]
struct Run {
    environment: BTreeMap<String, String>,
    objects: Vec<String>,
    dlopens: Vec<Request>,
}

#[derive(Deserialize)]
struct Request {
    name: Option<String>,
    caller: Option<String>,
    path: Option<String>,
    mode: Option<String>,
}

fn images() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(real::directory().join("loader")) else {
        return Vec::new();
    };
    let mut images: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("observed.json").exists())
        .collect();
    images.sort();
    images
}

fn facts(root: &Path) -> LayerFacts {
    let target = Target::parse(&format!("dir:{}", root.display()));
    let images = source::open(&target, &Selection::default()).unwrap();
    let wanted = Wanted::builtin(Depth::Default).unwrap();
    layer::scan(&images[0].layers[0], &wanted, &|_| {}).unwrap()
}

fn replay(root: &RootFilesystem, run: &Run) -> Vec<String> {
    let program = root.resolve(&run.objects[0]).unwrap();
    let system = System::of(root, program.elf().unwrap(), run.environment.clone(), "/").unwrap();
    let mut process = Process::start(&system, &run.objects[0])
        .map_err(|failure| failure.faults)
        .unwrap();
    for request in &run.dlopens {
        let Some(name) = request.name.as_deref().filter(|name| !name.is_empty()) else {
            continue;
        };
        let caller = request.caller.as_deref().and_then(|caller| {
            let caller = root.resolve(caller).ok()?.identity();
            process
                .objects()
                .iter()
                .position(|object| object.node.identity() == caller)
        });
        let mode = Mode {
            global: request.mode.as_deref() == Some("global"),
            lazy: false,
        };
        let before = process.objects().len();
        let opened = process.open(name, caller.unwrap_or(0), mode);
        match (opened, request.path.as_deref()) {
            (Ok(id), Some(path)) => {
                let path = root.resolve(path).unwrap().path();
                assert_eq!(process.objects()[id].node.path(), path, "{name}");
            }
            // Of what was loaded before under another path, none is written down.
            (Ok(id), None) => assert!(id < before, "{name} really fails"),
            // A path is written down for what was found and failed later, too; what is mapped in the end tells.
            (Err(_), _) => {}
        }
    }
    process
        .objects()
        .iter()
        .map(|object| object.node.path())
        .collect()
}

#[test]
fn replayed_requests_map_the_same_files_in_the_same_order() {
    let mut compared = 0;
    for image in images() {
        let text = fs::read_to_string(image.join("observed.json")).unwrap();
        let observed: Observed = serde_json::from_str(&text).unwrap();
        let layer = facts(&image.join("root"));
        let root = RootFilesystem::merge([&layer]);
        for run in [Some(&observed.import), observed.first_use.as_ref()]
            .into_iter()
            .flatten()
        {
            let modelled = replay(&root, run);
            let real: Vec<String> = run
                .objects
                .iter()
                .map(|path| root.resolve(path).unwrap().path())
                .collect();
            assert_eq!(modelled, real, "{}", image.display());
            compared += real.len();
        }
        say::line(format_args!("{}: equal", image.display()));
    }
    say::line(format_args!("{compared} objects compared"));
}
