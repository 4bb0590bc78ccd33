//! The rules over the loader model, all together: one fault gives one finding, a healthy process none, and all of it quickly.

use std::time::{Duration, Instant};

use imgcheck_base::bounds::Bounds;
use imgcheck_model::process::LoaderFacts;
use imgcheck_rules::rules::{Facts, ImageFacts, RuleSet, StackFacts};
use serde_json::{Value, json};

fn facts(loader: Value) -> Facts {
    let loader: LoaderFacts = serde_json::from_value(loader).unwrap();
    Facts {
        loader: Some(loader.into()),
        ..Facts::of_image(ImageFacts::default(), vec![], &StackFacts::default())
    }
}

/// The rules that speak, in the order of the findings.
fn speaking(loader: Value) -> Vec<String> {
    let findings = RuleSet::builtin()
        .unwrap()
        .evaluate(&facts(loader), &Bounds::default())
        .unwrap();
    findings.into_iter().map(|finding| finding.rule).collect()
}

fn cudnn(directory: &str, part: &str, version: &str) -> Value {
    let name = match part {
        "dispatcher" => "libcudnn.so.9".to_owned(),
        part => format!("libcudnn_{part}.so.9"),
    };
    json!({"path": format!("{directory}/{name}"), "soname": name, "library": "cudnn", "part": part,
        "readings": {"version": version}})
}

fn torch_cuda() -> Value {
    json!({"path": "/t/torch/lib/libtorch_cuda.so", "directory": "torch", "library": "torch-cuda", "package": "torch",
        "readings": {"compiled-cudnn": "9.8.0", "compiled-cuda": "12.8"}})
}

fn process(objects: Vec<Value>) -> Value {
    json!([{"name": "python", "main": true, "executable": "/usr/bin/python3.11", "glibc": "2.36", "objects": objects,
        "imports": [{"package": "torch", "version": "2.8.0+cu128", "succeeds": true}]}])
}

fn place(package: &str, when: &str, more: Value) -> Value {
    let mut place = json!({"process": "python", "main": true, "package": package, "when": when, "first": true, "message": "m"});
    let (Value::Object(fields), Value::Object(more)) = (&mut place, more) else {
        panic!("two maps");
    };
    fields.extend(more);
    place
}

/// 9.1.0 on LD_LIBRARY_PATH below a dispatcher of 9.10.2: mixed, shadowed, and refused by PyTorch, which says most.
#[test]
fn an_older_cudnn_on_the_library_path_is_one_finding() {
    let graph = cudnn("/opt/old", "graph", "9.1.0");
    let own = cudnn("/t/nvidia/cudnn/lib", "graph", "9.10.2");
    let objects = vec![
        torch_cuda(),
        cudnn("/t/nvidia/cudnn/lib", "dispatcher", "9.10.2"),
        graph.clone(),
    ];
    let loader = json!({
        "processes": process(objects),
        "shadowed": [{"process": "python", "main": true, "library": "libcudnn_graph.so.9", "loaded": graph, "shadowed": own}]
    });
    assert_eq!(speaking(loader), ["torch-cudnn-runtime"]);
}

/// PyTorch accepts a newer minor; that the parts come from two places stays.
#[test]
fn mixed_origins_speak_where_pytorch_does_not() {
    let objects = vec![
        torch_cuda(),
        cudnn("/t/nvidia/cudnn/lib", "dispatcher", "9.10.2"),
        cudnn("/opt/new", "graph", "9.12.0"),
    ];
    assert_eq!(
        speaking(json!({"processes": process(objects)})),
        ["cudnn-mixed-origins"]
    );
}

#[test]
fn a_swapped_part_of_cudnn_is_one_finding() {
    let ops = cudnn("/n", "ops", "9.1.0");
    let objects = vec![
        torch_cuda(),
        cudnn("/n", "dispatcher", "9.10.2"),
        cudnn("/n", "graph", "9.10.2"),
        ops.clone(),
    ];
    let symbols = json!([{"name": "_ZN5cudnn5graph3fpE", "demangled": "f", "version": "libcudnn_graph.so.9"}]);
    let undefined = |when| {
        place(
            "torch",
            when,
            json!({"object": ops, "count": 8, "symbols": symbols}),
        )
    };
    let loader = json!({
        "processes": process(objects),
        "undefined_symbols": [undefined("use")],
        "missing": [place("torch", "use", json!({"library": "libcudnn_ops.so.9.10.2", "opened": true, "needed_by": "/n/libcudnn.so.9"}))]
    });
    assert_eq!(speaking(loader), ["cudnn-sublibrary-mismatch"]);
}

#[test]
fn a_runtime_that_is_too_old_is_one_finding() {
    let cudart = json!({"path": "/n/libcudart.so.12", "library": "cuda-runtime", "readings": {"version": "12.1"}});
    let undefined = |path: &str, directory: &str| {
        let object = json!({"path": path, "directory": directory});
        let symbols = json!([{"name": "cudaGetDriverEntryPointByVersion", "demangled": "cudaGetDriverEntryPointByVersion"}]);
        place(
            "torch",
            "import",
            json!({"object": object, "provider": cudart, "count": 1, "symbols": symbols}),
        )
    };
    let loader = json!({
        "processes": process(vec![cudart.clone()]),
        "undefined_symbols": [undefined("/t/a.so", "torch"), undefined("/t/b.so", "torch")]
    });
    assert_eq!(speaking(loader), ["torch-cuda-runtime"]);
}

#[test]
fn torchvision_of_another_release_is_one_finding() {
    let object = json!({"path": "/t/torchvision/_C.so", "directory": "torchvision"});
    let symbols = json!([{"name": "_ZN3c104cuda9SetDeviceEa", "demangled": "c10::cuda::SetDevice(signed char)"}]);
    let loader = json!({
        "processes": process(vec![torch_cuda()]),
        "undefined_symbols": [place("torchvision", "import", json!({
            "optional": true, "without": "package", "object": object, "count": 1, "symbols": symbols}))],
        "missing": [place("torchvision", "import", json!({"library": "libcudart.so.11.0", "optional": true, "without": "package",
            "needed_by": "/t/torchvision/_C.so"}))]
    });
    assert_eq!(speaking(loader), ["torch-partner-version"]);
}

/// A rule suppresses findings that are at most as severe as its own, whichever file comes first.
#[test]
fn a_warning_hides_no_error() {
    let rule = |id: &str, severity: &str, suppresses: &str| {
        format!(
            "id: {id}\ntitle: t\nseverity: {severity}\nsince: '1'\neach: loader.missing\nfail: it.library != ''\n{suppresses}\nmessage: m\nwhy: w\n"
        )
    };
    let loader = json!({"missing": [place("torch", "import", json!({"library": "libx.so"}))]});
    for (severity, expected) in [
        ("warning", vec!["a-general", "b-special"]),
        ("error", vec!["b-special"]),
    ] {
        let mut set = RuleSet::default();
        set.add_text("a.yaml", &rule("a-general", "error", ""))
            .unwrap();
        set.add_text(
            "b.yaml",
            &rule("b-special", severity, "suppresses: ['a-*']"),
        )
        .unwrap();
        let findings = set
            .evaluate(&facts(loader.clone()), &Bounds::default())
            .unwrap();
        let rules: Vec<&str> = findings
            .iter()
            .map(|finding| finding.rule.as_str())
            .collect();
        assert_eq!(rules, expected, "{severity}");
    }
}

#[test]
fn every_suppressed_rule_exists() {
    let set = RuleSet::builtin().unwrap();
    for rule in set.rules() {
        for pattern in &rule.suppresses {
            let known = set
                .rules()
                .any(|other| imgcheck_rules::rules::functions::glob(&other.id, pattern));
            assert!(known, "{}: no rule is called {pattern}", rule.id);
        }
    }
}

/// 150 objects, as the process of an inference server has them, with a cuDNN and all CUDA libraries.
fn healthy() -> Value {
    let parts = ["dispatcher", "graph", "ops", "cnn", "adv", "heuristic"];
    let mut objects: Vec<Value> = parts
        .iter()
        .map(|part| cudnn("/n", part, "9.10.2"))
        .collect();
    objects.push(torch_cuda());
    for library in ["cuda-runtime", "cublas", "cublaslt", "cufft", "cusparse"] {
        objects.push(
            json!({"path": format!("/n/lib{library}.so.12"), "library": library, "cuda": "12",
            "readings": {"version": "12.8"}}),
        );
    }
    while objects.len() < 150 {
        let path = format!("/usr/lib/libother{}.so.1", objects.len());
        objects.push(json!({"path": path, "soname": "libother.so.1", "request": "libother.so.1", "reason": "ld.so.cache",
            "found_by": "cache", "package": "torch", "when": "import"}));
    }
    json!({"objects": 150, "processes": process(objects), "cache": {"state": "current"}})
}

/// How long this thread has run: other tests and other programs do not count (`proc_pid_schedstat`, in nanoseconds).
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn a_healthy_process_is_silent_and_quick() {
    let set = RuleSet::builtin().unwrap();
    let facts = facts(healthy());
    assert_eq!(set.evaluate(&facts, &Bounds::default()).unwrap(), []);
    let runs = 20;
    let started = processor_time();
    for _ in 0..runs {
        set.evaluate(&facts, &Bounds::default()).unwrap();
    }
    let each = (processor_time() - started) / runs;
    eprintln!("all rules over 150 objects: {each:?}");
    assert!(each < Duration::from_millis(250), "{each:?}");
}

/// A process with hundreds of faults of a kind is judged in bounded time, and in few findings.
#[test]
fn hundreds_of_faults_are_few_findings() {
    let undefined: Vec<Value> = (0..500)
        .map(|index| {
            let object = json!({"path": format!("/x/{index}.so")});
            let symbols = json!([{"name": "f", "demangled": "f"}]);
            place("x", "import", json!({"object": object, "provider": {"path": "/p.so"}, "count": 1, "symbols": symbols}))
        })
        .collect();
    let missing: Vec<Value> = (0..500)
        .map(|index| place("x", "import", json!({"library": format!("lib{index}.so")})))
        .collect();
    let started = Instant::now();
    let rules = speaking(json!({"undefined_symbols": undefined, "missing": missing}));
    assert_eq!(rules, ["load-missing-library", "load-undefined-symbol"]);
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}
