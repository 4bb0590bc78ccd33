//! Variables with which PyTorch fails, from where a container gets them to the finding.

use imgcheck::Overlay;
use imgcheck_base::bounds::Bounds;
use imgcheck_image::configuration;
use imgcheck_model::finding::Finding;
use imgcheck_rules::rules::{Facts, ImageFacts, RuleSet};

use crate::sample::{Derived, Image, SITE, program};

const VARIABLE: &str = "PYTORCH_CUDA_ALLOC_CONF";

/// The finding about a setting, if there is one.
fn finding(image: &Image, overlay: &Overlay) -> Option<Finding> {
    let derived = image.derive(overlay).unwrap();
    let Derived {
        config,
        stack,
        loader,
        launch,
        ..
    } = derived;
    let about = ImageFacts {
        os: Some("linux".to_owned()),
        env: Some(configuration::environment(&config)),
        process_env: Some(launch.environment),
        ..ImageFacts::default()
    };
    let facts = Facts {
        loader: Some(loader.into()),
        ..Facts::of_image(about, vec![], &stack.into())
    };
    let findings = RuleSet::builtin()
        .unwrap()
        .evaluate(&facts, &Bounds::default())
        .unwrap();
    let mut findings = findings.into_iter();
    findings.find(|finding| finding.rule.starts_with("setting-"))
}

/// PyTorch 2.8.0, started by a script.
fn image(env: &str, script: &str) -> Image {
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    Image::python()
        .torch()
        .package("torch", "2.8.0+cu128")
        .elf("bin/sh", program(&[]))
        .text(
            "start.sh",
            &format!("#!/bin/sh\n{script}\nexec python3 -c 'import torch'\n"),
        )
        .mode(0o755)
        .process(&[path, env], &["/start.sh"])
}

#[test]
fn a_variable_of_the_image() {
    let finding = finding(
        &image("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:1", ""),
        &Overlay::default(),
    );
    let finding = finding.unwrap();
    assert_eq!(
        finding.message,
        "with `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:1`, the first use of CUDA fails: `1` is no value of `expandable_segments`"
    );
    assert_eq!(
        finding.help.as_deref(),
        Some("write `expandable_segments:True`")
    );
}

#[test]
fn a_script_that_exports_a_variable() {
    let script = "export PYTORCH_CUDA_ALLOC_CONF=max_split_size:128";
    let found = finding(&image("A=b", script), &Overlay::default()).unwrap();
    assert!(
        found
            .message
            .contains("in the process that the container runs"),
        "{}",
        found.message
    );
    assert_eq!(found.help.as_deref(), Some("write `max_split_size_mb`"));
    let corrected = "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128";
    assert_eq!(
        finding(
            &image("PYTORCH_CUDA_ALLOC_CONF=max_split_size:128", corrected),
            &Overlay::default()
        ),
        None
    );
    assert_eq!(
        finding(
            &image(
                "PYTORCH_CUDA_ALLOC_CONF=max_split_size:128",
                "unset PYTORCH_CUDA_ALLOC_CONF"
            ),
            &Overlay::default()
        ),
        None
    );
}

#[test]
fn a_manifest_that_sets_a_variable() {
    let of_value = |value: &str| Overlay {
        env: [(VARIABLE.to_owned(), value.to_owned())].into(),
        ..Overlay::default()
    };
    let image = image(
        "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8",
        "",
    );
    let wrong = finding(&image, &of_value("garbage_collection_threshold:80%")).unwrap();
    assert_eq!(
        wrong.help.as_deref(),
        Some("`garbage_collection_threshold` takes a number between 0 and 1")
    );
    assert_eq!(finding(&image, &of_value("expandable_segments:True")), None);
    assert_eq!(finding(&image, &Overlay::default()), None);
}

/// PyTorch 2.8.0 and Triton with some variable, and a file `/opt/cache`.
fn with_files(env: &str) -> Image {
    Image::python()
        .torch()
        .package("torch", "2.8.0+cu128")
        .package("triton", "3.4.0")
        .text("opt/cache", "")
        .text("opt/app/mymodel/__init__.py", "")
        .process(
            &[
                "PATH=/usr/local/bin:/usr/bin:/bin",
                "PYTHONPATH=/opt/app",
                env,
            ],
            &["python3", "-c", "import torch"],
        )
}

#[test]
fn a_file_in_the_place_of_a_cache() {
    let found = |env: &str| finding(&with_files(env), &Overlay::default());
    for env in [
        "TRITON_CACHE_DIR=/opt/cache",
        "TRITON_CACHE_DIR=/opt/cache/triton",
    ] {
        let message = found(env).unwrap().message;
        assert!(
            message.ends_with("`/opt/cache` is not a directory"),
            "{message}"
        );
    }
    assert!(found("TRITON_CACHE_DIR=/dev/null").is_some());
    assert_eq!(found("TRITON_CACHE_DIR=/opt"), None);
    assert_eq!(found("TRITON_CACHE_DIR=/opt/new/cache"), None);
    assert_eq!(found("TRITON_CACHE_DIR=cache"), None);
}

#[test]
fn a_log_that_is_a_module() {
    let found = |env: &str| finding(&with_files(env), &Overlay::default());
    assert!(found("TORCH_LOGS=dynamo,mymodle").is_some());
    for module in ["mymodel", "sys", "mymodle.layers"] {
        assert_eq!(found(&format!("TORCH_LOGS=+{module}")), None, "{module}");
    }
}

#[test]
fn a_platform_of_jax_that_no_plugin_brings() {
    let image = |plugin: Option<&str>| {
        let image = Image::python()
            .package("jax", "0.8.3")
            .package("jaxlib", "0.8.3");
        let image = match plugin {
            Some(path) => image.text(&format!("{SITE}/{path}"), ""),
            None => image,
        };
        let env = ["PATH=/usr/local/bin:/usr/bin:/bin", "JAX_PLATFORMS=cuda"];
        image.process(&env, &["python3", "-c", "import jax"])
    };
    let found = |plugin| finding(&image(plugin), &Overlay::default());
    let message = found(None).unwrap().message;
    assert!(
        message.contains("Unable to initialize backend 'cuda'"),
        "{message}"
    );
    assert_eq!(found(Some("jax_plugins/xla_cuda12/__init__.py")), None);
}
