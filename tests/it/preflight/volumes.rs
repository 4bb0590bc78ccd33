//! What volumes may bring, and what they hide.

use serde_json::{Value, json};
use testkit::elf::{SharedObject, Symbol, SymbolKind};
use testkit::{Item, file};

use super::certain_failures::{shown, with_shell};
use super::kubernetes::{GPU, pod};
use super::{Input, containers, findings};

/// Python adds the directory of a user's packages if it is there.
#[test]
fn a_volume_over_the_home_directory_may_bring_the_module() {
    let volumes = "volumes: [{name: v, persistentVolumeClaim: {claimName: v}}]";
    let container = |mount: &str, more: &str| {
        format!(
            "command: [python3, -c, import nosuch]\nvolumeMounts: [{{name: v, mountPath: {mount}}}]{more}"
        )
    };
    let base = "\nenv: [{name: PYTHONUSERBASE, value: /packages}]";
    for (mount, more, expected) in [
        ("/root", "", false),
        ("/root/.local", "", false),
        ("/root/.cache", "", true),
        ("/packages", base, false),
        ("/packages", "", true),
    ] {
        let (_, report) = Input::new(&pod(&container(mount, more), volumes)).json(&[]);
        let found = findings(containers(&report)[0]).join(" ");
        assert_eq!(
            found.contains("python-import-fails"),
            expected,
            "{mount}: {found}"
        );
    }
}

/// An image with a Python and a package whose extension module needs a library that is nowhere.
fn with_extension_module() -> Vec<Item> {
    let function = |name: &str| Symbol {
        name: name.to_owned(),
        kind: SymbolKind::Function(b"\xc3".to_vec()),
    };
    let object = |symbols: &[&str]| SharedObject {
        machine: 62,
        symbols: symbols.iter().map(|it| function(it)).collect(),
        ..SharedObject::default()
    };
    let python = SharedObject {
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
        ..object(&["Py_GetVersion", "Py_BytesMain"])
    };
    let module = SharedObject {
        needed: vec!["libabsent.so.1".to_owned()],
        ..object(&[])
    };
    let package = "usr/lib/python3.11/site-packages/video";
    vec![
        file("lib64/ld-linux-x86-64.so.2", object(&["_dl_x"]).bytes()),
        file("usr/bin/python3.11", python.bytes()),
        file("usr/lib/python3.11/os.py", "name = 'posix'\n"),
        file(&format!("{package}/__init__.py"), "from . import core\n"),
        file(&format!("{package}/core.abi3.so"), module.bytes()),
    ]
}

/// The loader searches the directories of LD_LIBRARY_PATH, whatever is in them.
#[test]
fn a_volume_over_the_search_path_of_the_loader_may_bring_the_library() {
    let volumes = "volumes: [{name: v, hostPath: {path: /opt/lib}}]";
    let command = "command: [/usr/bin/python3.11, -c, import video]";
    for (path, mount, expected) in [
        ("/opt/lib", "/opt/lib", false),
        ("/opt/lib:/x", "/opt", false),
        ("/opt/lib", "/data", true),
        ("/x", "/opt/lib", true),
    ] {
        let variable = format!("env: [{{name: LD_LIBRARY_PATH, value: '{path}'}}]");
        let mounts = format!("volumeMounts: [{{name: v, mountPath: {mount}}}]");
        let input = Input::new(&pod(&format!("{command}\n{variable}\n{mounts}"), volumes));
        let archive = input.path().join("python.tar");
        crate::launch::archive::write(&archive, &json!({}), &with_extension_module());
        input.write("images.yaml", &format!("IMAGE: {}\n", archive.display()));
        let (_, report) = input.json(&[]);
        let found = findings(containers(&report)[0]).join(" ");
        assert_eq!(
            found.contains("python-import-fails"),
            expected,
            "{path} {mount}: {found}"
        );
    }
}

#[test]
fn a_volume_over_the_search_path_of_python_may_bring_the_module() {
    let volumes = "volumes: [{name: code, persistentVolumeClaim: {claimName: code}}]";
    for (mount, rules, gaps) in [
        ("/src", vec![], 1),
        ("/src/train", vec![], 1),
        ("/data", vec!["python-import-fails"], 0),
    ] {
        for start in [
            "command: [python3, -m, train]\nworkingDir: /src",
            "command: [python3, -m, train]\nenv: [{name: PYTHONPATH, value: /src}]",
        ] {
            let mounts = format!("{start}\nvolumeMounts: [{{name: code, mountPath: {mount}}}]");
            let (_, report) = Input::new(&pod(&mounts, volumes)).json(&[]);
            let container = containers(&report)[0];
            let is_import = |it: &String| it.contains("python-import-fails");
            let mut found = findings(container);
            found.retain(is_import);
            assert_eq!(found.len(), rules.len(), "{start} {mount}: {found:?}");
            let count = container["gaps"].as_array().unwrap().iter();
            let count = count.filter(|it| it["code"] == "overlay-unknown").count();
            assert!(count >= gaps, "{start} {mount}: {container}");
        }
    }
}

#[test]
fn a_volume_over_the_libraries_is_said() {
    let mount = |path: &str| {
        pod(
            &format!("{GPU}\nvolumeMounts: [{{name: v, mountPath: {path}}}]"),
            "volumes: [{name: v, emptyDir: {}}]",
        )
    };
    let (code, report) = Input::new(&mount("/usr/local/")).json(&[]);
    let container = containers(&report)[0];
    assert_eq!(
        (code, findings(container)[0].as_str()),
        (0, "deploy-volume-hides-files 10:43")
    );
    let message = container["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the emptyDir v at /usr/local hides /usr/local/"),
        "{message}"
    );
    let gaps = container["gaps"].as_array().unwrap();
    assert!(
        gaps.iter().any(|it| it["code"] == "overlay-unknown"),
        "{gaps:?}"
    );
    let (code, report) = Input::new(&mount("/data")).json(&["--strict"]);
    assert_eq!((code, findings(containers(&report)[0])), (0, vec![]));
}

/// Nothing writes into an `emptyDir` that no other container mounts.
#[test]
fn an_empty_volume_hides_the_script() {
    let mount =
        "volumeMounts: [{name: v, mountPath: /usr/local/lib/python3.11/site-packages/torch}]";
    let volumes = "volumes: [{name: v, emptyDir: {}}]";
    let init = format!("initContainers: [{{name: i, image: IMAGE, {mount}}}]\n{volumes}");
    let python = "command: [python3, /usr/local/lib/python3.11/site-packages/torch/version.py]";
    let start = "lifecycle: {postStart: {exec: {command: [python3, -c, pass]}}}";
    for (more, pod_fields, expected) in [
        ("", volumes, true),
        ("", init.as_str(), false),
        (start, volumes, false),
    ] {
        let text = pod(&format!("{python}\n{mount}\n{more}"), pod_fields);
        let (_, report) = Input::new(&text).json(&[]);
        let containers = containers(&report);
        let main = containers.iter().find(|it| it["role"] == "main").unwrap();
        let found = main["findings"].as_array().unwrap();
        let is_error =
            |it: &Value| it["rule"] == "deploy-volume-hides-files" && it["severity"] == "error";
        let errors = found.iter().any(is_error);
        assert_eq!(errors, expected, "{found:?}");
    }
}

/// A script may be written to `/tmp` before it is executed.
#[test]
fn an_empty_volume_for_temporary_files_hides_nothing() {
    let container = "command: [bash, -c, 'cat > /tmp/a.py; exec python3 /tmp/a.py']\nvolumeMounts: [{name: v, mountPath: /tmp}]";
    let (_, report) = Input::new(&pod(container, "volumes: [{name: v, emptyDir: {}}]")).json(&[]);
    assert_eq!(shown(&report, "deploy-volume"), "");
}

/// The injector of Vault mounts its volume where an annotation asks for it.
#[test]
fn a_volume_that_a_webhook_adds_may_bring_a_script() {
    let text = pod(
        "command: [bash, -c, source /vault/secrets/env && exec cat]",
        "",
    );
    let annotated = text.replacen(
        "metadata: {",
        "metadata: {annotations: {vault.hashicorp.com/agent-inject: 'true'}, ",
        1,
    );
    assert_ne!(text, annotated);
    let found = |text: &str| shown(&with_shell(text), "deploy-path-missing");
    assert!(found(&text).starts_with("deploy-path-missing"));
    assert!(!found(&annotated).starts_with("deploy-path-missing"));
}
