//! Images in which everything works.

use std::path::Path;

use imgcheck::elf::Depth;
use imgcheck::finding::Severity;
use imgcheck::image::RootFilesystem;
use imgcheck::layer::{self, Wanted};
use imgcheck::loader::{Mode, Process, System};
use imgcheck::pipeline;
use imgcheck::rules::RuleSet;

use crate::observed::{Run, images, name, observed, open, scan};
use crate::say;

/// The requests of a real process, put to the model.
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
            let mut objects = process.objects().iter();
            objects.position(|object| object.node.identity() == caller)
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
    let objects = process.objects().iter();
    objects.map(|object| object.node.path()).collect()
}

fn resolved(root: &RootFilesystem, paths: &[String]) -> Vec<String> {
    let paths = paths.iter();
    paths
        .map(|path| root.resolve(path).unwrap().path())
        .collect()
}

#[test]
fn replayed_requests_map_the_same_files_in_the_same_order() {
    let mut compared = 0;
    for image in images("loader") {
        let observed = observed(&image);
        let opened = open(&image);
        let wanted = Wanted::builtin(Depth::Default).unwrap();
        let layer = layer::scan(&opened.layers[0], &wanted, &|_| {}).unwrap();
        let root = RootFilesystem::merge([&layer]);
        for run in [Some(&observed.import), observed.first_use.as_ref()]
            .into_iter()
            .flatten()
        {
            let real = resolved(&root, &run.objects);
            assert_eq!(replay(&root, run), real, "{}", image.display());
            compared += real.len();
        }
    }
    say::line(format_args!(
        "replay: {compared} objects compared, no difference"
    ));
}

/// The libraries that the packages of `rules/knowledge/processes/` bring or need. Which extension modules of Python's own library
/// and of packages that have nothing to do with GPUs are imported when, and what those need, differs from one release of Python
/// to the next and is not modelled.
fn of_interest(path: &str) -> bool {
    const ROOTS: [&str; 14] = [
        "torch",
        "torchvision",
        "torchaudio",
        "triton",
        "nvidia",
        "tensorflow",
        "jaxlib",
        "jax_plugins",
        "jax_cuda12_plugin",
        "jax_cuda13_plugin",
        "onnxruntime",
        "cupy",
        "cupy_backends",
        "xformers",
    ];
    let inside = ["/site-packages/", "/dist-packages/"]
        .iter()
        .find_map(|site| path.split_once(site));
    let top = inside.and_then(|(_, inside)| inside.split(['/', '.']).next());
    top.is_some_and(|top| ROOTS.contains(&top))
}

#[test]
fn what_an_image_imports_is_predicted_in_order() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for image in images("loader") {
        let scan = scan(&image);
        let loader = scan.facts.loader.unwrap();
        let Some(process) = loader.processes.first() else {
            wrong.push(format!("{}: no process", name(&image)));
            continue;
        };
        let objects = process.objects.iter().filter(|object| object.when != "use");
        let predicted: Vec<&str> = objects
            .map(|object| object.path.as_str())
            .filter(|path| of_interest(path))
            .collect();
        let observed = observed(&image).import.objects;
        let real: Vec<&str> = observed
            .iter()
            .map(String::as_str)
            .filter(|path| of_interest(path))
            .collect();
        compared += real.len();
        if predicted != real {
            let lacking: Vec<_> = real
                .iter()
                .filter(|path| !predicted.contains(path))
                .collect();
            let excess: Vec<_> = predicted
                .iter()
                .filter(|path| !real.contains(path))
                .collect();
            wrong.push(format!(
                "{}: lacking {lacking:#?}, in excess {excess:#?}",
                name(&image)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    say::line(format_args!(
        "prediction: {compared} objects compared, no difference"
    ));
}

#[test]
fn no_healthy_image_has_an_error_or_a_warning() {
    let rules = RuleSet::builtin().unwrap();
    let mut alarms = Vec::new();
    for image in images("loader") {
        alarms.extend(alarms_of(&image, &rules));
    }
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

fn alarms_of(image: &Path, rules: &RuleSet) -> Vec<String> {
    let report = pipeline::judge(scan(image), rules, None).unwrap();
    let findings = report
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note);
    findings
        .map(|finding| format!("{}: {} {}", name(image), finding.rule, finding.message))
        .collect()
}
