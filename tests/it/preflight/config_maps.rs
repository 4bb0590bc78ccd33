//! Files of ConfigMaps that are in the same input.

use super::certain_failures::{shown, with_programs, with_shell};
use super::kubernetes::pod;
use super::{Input, containers, findings};

/// A ConfigMap with a file.
fn config_map(name: &str, text: &str) -> String {
    let lines = text.lines().map(|it| format!("    {it}\n"));
    let lines: String = lines.collect();
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata:\n  {name}: |\n{lines}"
    )
}

const PROGRAMS: [&str; 8] = [
    "bash", "cat", "chmod", "chown", "cp", "dirname", "mkdir", "readlink",
];
const SCRIPTS: &str = "volumeMounts: [{name: v, mountPath: /scripts}]";
const VOLUME: &str = "volumes: [{name: v, configMap: {name: m}}]";

/// The kubelet writes each key as a file of root, without the right to execute it unless the volume says so.
#[test]
fn a_script_of_a_config_map_is_read() {
    let script = "#!/bin/bash\nexec cat /opt/a\n";
    let fine = "#!/bin/bash\nexec cat /scripts/run.sh\n";
    let executable = "volumes: [{name: v, configMap: {name: m, defaultMode: 0755}}]";
    let one = "volumes: [{name: v, configMap: {name: m, items: [{key: run.sh, path: bin/x.sh, mode: 493}]}}]";
    let file = "volumeMounts: [{name: v, mountPath: /opt/run.sh, subPath: run.sh}]";
    let missing = "deploy-path-missing";
    let refused = "launch-program-not-run";
    for (start, mounts, volumes, text, expected) in [
        ("[bash, /scripts/run.sh]", SCRIPTS, VOLUME, script, missing),
        ("[bash, /scripts/run.sh]", SCRIPTS, VOLUME, fine, ""),
        ("[bash, /scripts/start.sh]", SCRIPTS, VOLUME, fine, missing),
        ("[/scripts/run.sh]", SCRIPTS, VOLUME, fine, refused),
        ("[/scripts/run.sh]", SCRIPTS, executable, fine, ""),
        ("[/scripts/run.sh]", SCRIPTS, executable, script, missing),
        ("[/scripts/bin/x.sh]", SCRIPTS, one, script, missing),
        ("[bash, /scripts/run.sh]", SCRIPTS, one, script, missing),
        ("[bash, /opt/run.sh]", file, VOLUME, script, missing),
        ("[cat, /opt/run.sh]", file, VOLUME, script, ""),
        ("[bash, /data/run.sh]", SCRIPTS, VOLUME, script, missing),
    ] {
        let container = format!("command: {start}\n{mounts}");
        let text = pod(&container, volumes) + &config_map("run.sh", text);
        let report = with_shell(&text);
        let found = findings(containers(&report)[0]).join(", ");
        let found = found.replace("deploy-mutable-tag", "");
        assert!(found.contains(expected), "{text}{found}");
        assert!(
            !expected.is_empty() || !found.contains(missing) && !found.contains(refused),
            "{text}{found}"
        );
        let gaps = shown(&report, "nothing");
        assert_eq!(gaps, "", "{text}");
    }
}

/// The kubelet mounts it read-only, lets the group of `fsGroup` read its files, and makes them links to files in a directory of their own.
#[test]
fn the_files_of_a_config_map_are_as_the_kubelet_writes_them() {
    let private = "volumes: [{name: v, configMap: {name: m, defaultMode: 0440}}]";
    let of_group = format!("{private}\nsecurityContext: {{fsGroup: 2000}}");
    let user = format!("{SCRIPTS}\nsecurityContext: {{runAsUser: 1000, runAsGroup: 1000}}");
    let run = "bash /scripts/run.sh";
    let fails = "ends the script before it starts a program";
    let missing = "deploy-path-missing";
    let parent = "cd \"$(dirname \"$(readlink -f /scripts/run.sh)\")/..\" && exec cat run.sh";
    for (start, mounts, volumes, expected) in [
        (run, user.as_str(), of_group.as_str(), ""),
        (
            "chmod +x /scripts/run.sh && exec cat",
            SCRIPTS,
            VOLUME,
            fails,
        ),
        ("chown -R 1000 /scripts && exec cat", SCRIPTS, VOLUME, fails),
        ("mkdir -p /scripts/out && exec cat", SCRIPTS, VOLUME, fails),
        (
            "cp /scripts/run.sh /scripts/a && exec cat",
            SCRIPTS,
            VOLUME,
            fails,
        ),
        (
            "cat /scripts/..data/run.sh && exec cat",
            SCRIPTS,
            VOLUME,
            "",
        ),
        (parent, SCRIPTS, VOLUME, ""),
    ] {
        let script = start.replace('\'', "''");
        let container = format!("command: [bash, -c, '{script}']\n{mounts}");
        let text = pod(&container, volumes) + &config_map("run.sh", "exec cat\n");
        let report = with_programs(&text, &PROGRAMS);
        let found = shown(&report, missing);
        assert!(found.contains(expected), "{text}{found}");
        assert!(!expected.is_empty() || found.is_empty(), "{text}{found}");
    }
}

/// A program of Python is judged as one of the image is.
#[test]
fn a_program_of_a_config_map_is_judged() {
    let judged = |text: &str, name: &str| {
        let container = format!("command: [python3, /scripts/{name}]\n{SCRIPTS}");
        let text = pod(&container, VOLUME) + &config_map("train.py", text);
        let (_, report) = Input::new(&text).json(&[]);
        let found = findings(containers(&report)[0]);
        let gaps = &containers(&report)[0]["gaps"];
        (found.join(", "), gaps.as_array().unwrap().len(), report)
    };
    let (found, gaps, report) = judged("import nosuch\n", "train.py");
    assert!(found.contains("python-import-fails"), "{report}");
    assert_eq!(gaps, 0, "{report}");
    let (found, gaps, report) = judged("import json\n", "train.py");
    assert!(!found.contains("python-import-fails"), "{report}");
    assert_eq!(gaps, 0, "{report}");
    let install = "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'nosuch'])\nimport nosuch\n";
    let (found, _, report) = judged(install, "train.py");
    assert!(!found.contains("python-import-fails"), "{report}");
    let (found, _, report) = judged("import json\n", "serve.py");
    assert!(found.contains("deploy-script-missing"), "{report}");
}

/// Nobody knows what is in a ConfigMap that is not in the input, or of which it has two versions.
#[test]
fn an_unknown_config_map_may_bring_anything() {
    let container = format!("command: [bash, /scripts/run.sh]\n{SCRIPTS}");
    let pod = pod(&container, VOLUME);
    let missing = config_map("run.sh", "exec cat /opt/a\n");
    let other = config_map("run.sh", "exec cat\n");
    let elsewhere = missing.replace("name: m", "name: m, namespace: other");
    for text in [
        pod.clone(),
        format!("{pod}{elsewhere}"),
        format!("{pod}{missing}{other}"),
    ] {
        let found = shown(&with_shell(&text), "deploy-path-missing");
        assert!(!found.is_empty(), "{text}: no gap");
        assert!(!found.contains("deploy-path-missing"), "{text}: {found}");
    }
}
