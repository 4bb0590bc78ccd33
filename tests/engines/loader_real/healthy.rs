//! Images in which everything works.

use imgcheck_model::process::cause::When;
use std::collections::BTreeMap;
use std::path::Path;

use imgcheck::Checker;
use imgcheck_elf::Depth;
use imgcheck_image::RootFilesystem;
use imgcheck_loader::{OpenMode, Process, System};
use imgcheck_model::finding::Severity;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::facts::{ObjectFacts, ProcessFacts};

use super::observed::{Run, images, name, observed, open, report};
use testkit::tools::say;

/// The requests of a real process, put to the model.
fn replay(root: &RootFilesystem, run: &Run) -> Vec<String> {
    let program = root.resolve(&run.objects[0]).unwrap();
    let system = System::of(root, program.elf().unwrap(), run.environment.clone(), "/").unwrap();
    let mut process = Process::start(&system, &run.objects[0])
        .unwrap()
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
        let mode = OpenMode {
            global: request.mode.as_deref() == Some("global"),
            lazy: false,
        };
        let before = process.objects().len();
        let opened = process.open(name, caller.unwrap_or(0), mode).unwrap();
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
        let context = imgcheck_model::knowledge::read_context(Depth::Default).unwrap();
        let layer = context.read_layer(&opened.layers[0]).unwrap();
        let root = RootFilesystem::merge([&*layer.facts]);
        for run in [Some(&observed.import), observed.first_use.as_ref()]
            .into_iter()
            .flatten()
        {
            let real = resolved(&root, &run.objects);
            assert_eq!(replay(&root, run), real, "{}", image.display());
            compared += real.len();
        }
    }
    say(format_args!(
        "replay: {compared} objects compared, no difference"
    ));
}

/// The libraries that the packages of `rules/knowledge/processes/` bring or need. Which extension modules of Python's own library
/// and of packages that have nothing to do with GPUs are imported when, and what those need, differs from one release of Python
/// to the next and is not modeled.
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

/// The packages that a command imports: those of `import torch, torchvision`.
fn imported(command: &[String]) -> Vec<&str> {
    let lines = command.iter().flat_map(|word| word.split(['\n', ';']));
    let lists = lines.filter_map(|line| line.trim().strip_prefix("import "));
    lists
        .flat_map(|list| list.split(", "))
        .map(|name| name.split('.').next().unwrap_or(name))
        .collect()
}

/// The files of each directory, in order.
fn by_directory<'p>(paths: &[&'p str]) -> BTreeMap<&'p str, Vec<&'p str>> {
    let mut directories: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (directory, _) = path.rsplit_once('/').unwrap();
        directories.entry(directory).or_default().push(path);
    }
    directories
}

/// The process that imports what a command imports. An image may hold more packages than its command uses; the model imports all.
fn process_of<'l>(loader: &'l LoaderFacts, packages: &[&str]) -> Option<&'l ProcessFacts> {
    let imports = |process: &&ProcessFacts| {
        process
            .imports
            .iter()
            .any(|import| packages.iter().any(|it| import.package.starts_with(it)))
    };
    loader.processes.iter().find(imports)
}

#[test]
fn what_an_image_imports_is_predicted_in_order() {
    let checker = Checker::builder().without_rules().build().unwrap();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for image in images("loader") {
        let observed = observed(&image).import;
        let packages = imported(&observed.output.command);
        let loader = report(&checker, &image).facts.loader.unwrap();
        let Some(process) = process_of(&loader, &packages) else {
            wrong.push(format!("{}: no process imports {packages:?}", name(&image)));
            continue;
        };
        let is_used = |object: &&ObjectFacts| object.when != When::Use && of_interest(&object.path);
        let predicted = process.objects.iter().filter(is_used);
        let real: Vec<&str> = observed
            .objects
            .iter()
            .map(String::as_str)
            .filter(|path| of_interest(path))
            .collect();
        let predicted: Vec<&str> = predicted
            .filter(|object| {
                real.contains(&object.path.as_str())
                    || packages.contains(&object.package.split('-').next().unwrap_or_default())
            })
            .map(|object| object.path.as_str())
            .collect();
        compared += real.len();
        // Where the image holds packages that the command does not import, theirs come between: what each brings is in order.
        let all = process
            .imports
            .iter()
            .all(|import| packages.contains(&import.package.as_str()));
        let equal = match all {
            true => predicted == real,
            false => by_directory(&predicted) == by_directory(&real),
        };
        if !equal {
            let lacking: Vec<_> = real
                .iter()
                .filter(|path| !predicted.contains(path))
                .collect();
            let excess: Vec<_> = predicted
                .iter()
                .filter(|path| !real.contains(path))
                .collect();
            wrong.push(format!(
                "{} ({}): lacking {lacking:#?}, in excess {excess:#?}",
                name(&image),
                process.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    say(format_args!(
        "prediction: {compared} objects compared, no difference"
    ));
}

#[test]
fn no_healthy_image_has_an_error_or_a_warning() {
    let checker = Checker::builder().build().unwrap();
    let mut alarms = Vec::new();
    for image in images("loader") {
        alarms.extend(alarms_of(&image, &checker));
    }
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

fn alarms_of(image: &Path, checker: &Checker) -> Vec<String> {
    let findings = report(checker, image).findings;
    let findings = findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note);
    findings
        .map(|finding| format!("{}: {} {}", name(image), finding.rule, finding.message))
        .collect()
}
