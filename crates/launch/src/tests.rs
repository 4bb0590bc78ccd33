//! Command lines, environments, wrappers and entrypoint scripts.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use oci_spec::image::ImageConfiguration;

use super::{Launch, Overlay};
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};

/// An image with shells, Python and wrappers.
pub(crate) struct Sample(LayerFacts);

impl Sample {
    pub fn new() -> Self {
        let mut sample = Sample(LayerFacts::default());
        for program in [
            "usr/bin/bash",
            "usr/bin/dash",
            "usr/bin/env",
            "usr/bin/python3.11",
            "usr/bin/tini",
            "usr/bin/mkdir",
            "usr/bin/cat",
            "usr/bin/id",
            "usr/bin/dirname",
            "usr/bin/readlink",
            "usr/bin/sleep",
            "usr/bin/cp",
            "usr/bin/ln",
            "usr/sbin/gosu",
            "usr/bin/timeout",
            "usr/bin/stdbuf",
            "opt/venv/bin/real",
            "usr/bin/conda",
            "usr/bin/grep",
            "usr/bin/rm",
            "usr/bin/date",
        ] {
            sample = sample.program(program);
        }
        sample
            .link("bin", "usr/bin")
            .link("usr/bin/sh", "dash")
            .link("usr/bin/python3", "python3.11")
            .link("usr/bin/python", "python3.11")
    }

    pub fn entry(mut self, path: &str, kind: EntryKind) -> Self {
        self.0.entries.push(Entry {
            path: path.to_owned(),
            kind,
            size: 1,
            mode: 0o755,
            owner: Default::default(),
        });
        self
    }

    pub fn program(self, path: &str) -> Self {
        let elf = Content::Elf(Box::default());
        self.entry(path, EntryKind::File(elf))
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, EntryKind::Symlink(target.to_owned()))
    }

    pub fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, EntryKind::File(Content::Text(text.to_owned())))
    }

    pub fn launch(&self, process: &str) -> Launch {
        self.launch_with(process, &Overlay::default())
    }

    pub fn launch_with(&self, process: &str, overlay: &Overlay) -> Launch {
        let config = format!(
            r#"{{"architecture": "amd64", "os": "linux", "config": {process}, "rootfs": {{"type": "layers", "diff_ids": []}}}}"#
        );
        let config = ImageConfiguration::from_reader(config.as_bytes()).unwrap();
        let knowledge = imgcheck_tables::read("launch").unwrap();
        Launch::of(
            &RootFilesystem::merge([&self.0]),
            &config,
            overlay,
            &knowledge,
        )
    }
}

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|it| (*it).to_owned()).collect())
}

fn with_script() -> Sample {
    Sample::new().text(
        "usr/bin/start.sh",
        "#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nexec \"$@\"\n",
    )
}

#[test]
fn the_image_configuration_gives_the_defaults() {
    let launch = with_script().launch(
        r#"{"Entrypoint": ["start.sh"], "Cmd": ["python3", "serve.py"], "Env": ["LD_LIBRARY_PATH=/a"], "User": "app"}"#,
    );
    assert_eq!(launch.command, ["start.sh", "python3", "serve.py"]);
    assert_eq!(launch.arguments, ["python3", "serve.py"]);
    assert_eq!(launch.program.as_deref(), Some("/usr/bin/python3"));
    assert_eq!(launch.executable.as_deref(), Some("/usr/bin/python3.11"));
    assert_eq!(launch.variable("LD_LIBRARY_PATH"), "/opt/lib:/a");
    assert_eq!(launch.library_path_from, "/usr/bin/start.sh");
    assert_eq!(launch.working_directory, "/");
    assert_eq!(&*launch.user.written, "app");
    assert_eq!(launch.gaps, []);
}

#[test]
fn an_overlay_replaces_command_environment_and_working_directory() {
    let sample = with_script();
    let image = r#"{"Entrypoint": ["start.sh"], "Cmd": ["sleep", "1"], "Env": ["A=1", "B=2"], "WorkingDir": "/app"}"#;
    let command = sample.launch_with(
        image,
        &Overlay {
            command: words(&["python3"]),
            env: BTreeMap::from([("LD_LIBRARY_PATH".to_owned(), "/old".to_owned())]),
            unset: BTreeSet::from(["A".to_owned()]),
            working_directory: Some("/srv".to_owned()),
            ..Overlay::default()
        },
    );
    assert_eq!(command.arguments, ["python3"]);
    assert_eq!(command.library_path_from, "overlay");
    assert_eq!(command.variable("LD_LIBRARY_PATH"), "/old");
    assert_eq!((command.variable("A"), command.variable("B")), ("", "2"));
    assert_eq!(command.working_directory, "/srv");
    let args = sample.launch_with(
        image,
        &Overlay {
            args: words(&["python", "train"]),
            ..Overlay::default()
        },
    );
    assert_eq!(args.arguments, ["python", "train"]);
}

#[test]
fn a_script_without_a_command_gives_its_environment() {
    let launch = with_script().launch(r#"{"Entrypoint": ["start.sh"]}"#);
    assert_eq!(launch.program, None);
    assert_eq!(launch.variable("LD_LIBRARY_PATH"), "/opt/lib:");
    assert_eq!(launch.gaps, []);
}

/// The program with its arguments, and LD_LIBRARY_PATH, as a script leaves them.
fn of_script(script: &str) -> (Vec<String>, String, Vec<String>) {
    let sample = Sample::new().text("start.sh", script);
    let launch = sample.launch(r#"{"Entrypoint": ["/start.sh"], "Cmd": ["python3", "app.py"]}"#);
    let gaps = launch.gaps.iter().map(|gap| gap.message.clone()).collect();
    (
        launch.arguments.clone(),
        launch.variable("LD_LIBRARY_PATH").to_owned(),
        gaps,
    )
}

#[test]
fn wrappers_hand_on_what_they_get() {
    let sample = Sample::new().text(
        "etc/passwd",
        "root:x:0:0::/root:/bin/sh\napp:x:7:7::/home/app:/bin/sh\n",
    );
    for command in [
        r#"["tini", "-g", "--", "python3", "a.py"]"#,
        r#"["/usr/bin/env", "-u", "X", "A=1", "python3", "a.py"]"#,
        r#"["gosu", "app", "python3", "a.py"]"#,
        r#"["timeout", "-k", "5", "600", "python3", "a.py"]"#,
        r#"["sh", "-c", "exec python3 a.py"]"#,
        r#"["bash", "-lc", "python3 a.py"]"#,
        r#"["sh", "-c", "exec \"$@\"", "sh", "python3", "a.py"]"#,
    ] {
        let launch = sample.launch(&format!(r#"{{"Entrypoint": {command}}}"#));
        assert_eq!(launch.arguments, ["python3", "a.py"], "{command}");
        assert_eq!(launch.gaps, [], "{command}");
        assert_eq!(launch.chain.len(), 1, "{command}");
    }
    let launch = sample
        .launch(r#"{"Entrypoint": ["gosu", "app", "env", "-S", "LD_PRELOAD=/x.so", "python"]}"#);
    assert_eq!(launch.variable("HOME"), "/home/app");
    assert_eq!(&*launch.user.written, "app");
    let unclear = sample.launch(r#"{"Entrypoint": ["tini", "--surprise", "python3"]}"#);
    assert_eq!(unclear.gaps.len(), 1);
}

#[test]
fn scripts_are_understood_harmless_or_a_gap() {
    let python = ["python3", "app.py"];
    let (arguments, library_path, gaps) = of_script(
        "#!/bin/bash -e\nset -uo pipefail\nif [ -d /usr/bin ] && [ \"$1\" = python3 ]; then\n  D=$(dirname \"$0\")\n  export LD_LIBRARY_PATH=\"${LD_LIBRARY_PATH:-/x}:$D\"\nfi\nmkdir -p /data\nexec \"$@\"\n",
    );
    assert_eq!(
        (arguments, library_path.as_str(), gaps),
        (python.map(str::to_owned).to_vec(), "/x:/", vec![])
    );
    for (script, gap) in [
        (
            "#!/bin/sh\nexport LD_LIBRARY_PATH=$(date)\nexec \"$@\"\n",
            "line 2: the value of LD_LIBRARY_PATH after `export LD_LIBRARY_PATH=$(date)` is not understood",
        ),
        (
            "#!/bin/sh\n. /gone/x.sh\neval \"$(curl x)\"\nexec \"$@\"\n",
            "line 2, `. /gone/x.sh`, fails, which ends the script before it starts a program",
        ),
        (
            "#!/bin/bash\n[ -e /dev/nvidia0 ] && export LD_PRELOAD=/x.so\nexec \"$@\"\n",
            "line 2: the value of LD_PRELOAD after `[ -e /dev/nvidia0 ]` is not understood",
        ),
        (
            "#!/bin/sh\npython3 -m pip install torch\nexec \"$@\"\n",
            "line 2, `python3 -m pip install torch`, starts /usr/bin/python3, which installs packages",
        ),
        (
            "#!/bin/sh\nln -sf /opt/evil/torch /usr/lib/python3/dist-packages/torch\nexec \"$@\"\n",
            "line 2, `ln -sf /opt/evil/torch /usr/lib/python3/dist-packages/torch`, writes /usr/lib/python3/dist-packages/torch",
        ),
        (
            "#!/bin/sh\necho x > /tmp/x.so\nexport LD_PRELOAD=/tmp/x.so\nexec \"$@\"\n",
            "line 2: /tmp/x.so, which `echo x > /tmp/x.so` writes, is not understood",
        ),
        (
            "#!/bin/sh\nJEM=$(ls /usr/lib/libjemalloc.so* 2>/dev/null || true)\nexport LD_PRELOAD=$JEM\nexec \"$@\"\n",
            "",
        ),
        (
            "#!/bin/sh\nif [ -e /dev/nvidia0 ]; then exec python3 /app/a.py; else exec python3 /app/b.py; fi\n",
            "",
        ),
        (
            "#!/bin/sh\nif [ -e /dev/nvidia0 ]; then exec python3 /app/a.py; else exec python3 /srv/b.py; fi\n",
            "line 2, `exec python3 /app/a.py`, also starts /usr/bin/python3, and it is not known what that does before python3 starts",
        ),
        (
            "#!/bin/sh\nsed -i s/a/b/ /etc/nginx/nginx.conf\nexec \"$@\"\n",
            "",
        ),
        (
            "#!/bin/sh\nmkdir -p /data\nif [ -n \"$X\" ]; then echo x; fi\nexec \"$@\"\n",
            "",
        ),
        ("#!/bin/sh\nexec \"$@\"\n", ""),
    ] {
        let (_, _, gaps) = of_script(script);
        assert_eq!(gaps.first().map_or("", String::as_str), gap, "{script}");
    }
}

/// What a command starts: the gaps, PATH, and the working directory.
fn of_command(sample: Sample, env: &[&str], command: &[&str]) -> (String, String, String) {
    let process =
        serde_json::json!({"Entrypoint": command, "Env": env, "WorkingDir": "/app"}).to_string();
    let launch = sample.launch(&process);
    let gaps: Vec<&str> = launch.gaps.iter().map(|it| it.message.as_str()).collect();
    (
        gaps.join("\n"),
        launch.variable("PATH").to_owned(),
        launch.working_directory,
    )
}

/// Installations of conda, mamba and micromamba with the environment `gpu`, and a link to conda.
fn with_conda() -> Sample {
    Sample::new()
        .program("opt/conda/bin/conda")
        .program("opt/conda/bin/mamba")
        .program("usr/bin/micromamba")
        .link("usr/local/bin/conda", "/opt/conda/bin/conda")
        .text("opt/conda/conda-meta/history", "")
        .text("opt/conda/envs/gpu/conda-meta/history", "")
}

#[test]
fn conda_activates_only_environments_that_are_found() {
    const PATH: &str = "PATH=/usr/local/bin:/opt/conda/bin:/usr/bin";
    const PREFIX: &str = "MAMBA_ROOT_PREFIX=/opt/conda";
    let hook = "eval \"$(conda shell.bash hook)\"; conda activate gpu; exec python3 a.py";
    let missing = "eval \"$(conda shell.bash hook)\"; conda activate mine || :; exec python3 a.py";
    let mamba = "eval \"$(mamba shell hook --shell bash)\"; mamba activate gpu; exec python3 a.py";
    let other = "eval \"$(mamba shell hook --shell bash)\"; micromamba activate gpu || :; exec python3 a.py";
    let run = |program| vec![program, "run", "-n", "gpu", "python3", "a.py"];
    let rows: [(&[&str], Vec<&str>, &str); 10] = [
        (&[PATH], vec!["bash", "-c", hook], ""),
        (
            &[PATH],
            vec!["bash", "-c", missing],
            "the environment mine was not found",
        ),
        (
            &[PATH, "CONDA_ENVS_PATH=/data/envs"],
            vec!["bash", "-c", hook],
            "CONDA_ENVS_PATH",
        ),
        (&[PATH], vec!["bash", "-c", mamba], ""),
        (
            &[PATH, "MAMBA_ROOT_PREFIX=/data"],
            vec!["bash", "-c", mamba],
            "the environment gpu was not found",
        ),
        (&[PATH], run("conda"), ""),
        (&[PATH], run("mamba"), ""),
        (&[PATH, PREFIX], run("micromamba"), ""),
        (
            &[PATH],
            run("micromamba"),
            "the directory of its installation",
        ),
        (
            &[PATH],
            vec!["conda", "run", "-n", "mine", "python3"],
            "mine was not found",
        ),
    ];
    for (env, command, expected) in rows {
        let (gaps, path, _) = of_command(with_conda(), env, &command);
        assert!(gaps.contains(expected), "{command:?}: {gaps}");
        if expected.is_empty() {
            assert_eq!(gaps, "", "{command:?}");
            assert!(
                path.starts_with("/opt/conda/envs/gpu/bin:"),
                "{command:?}: {path}"
            );
        }
    }
    // The hook of mamba defines no function `micromamba`: that is the program, which fails.
    let (gaps, path, _) = of_command(with_conda(), &[PATH], &["bash", "-c", other]);
    assert_eq!(gaps, "");
    assert!(!path.contains("gpu"), "{path}");
}

#[test]
fn wrappers_change_the_working_directory_or_are_a_gap() {
    let sample = || {
        Sample::new()
            .program("usr/bin/uv")
            .program("usr/sbin/start-stop-daemon")
            .text("srv/.venv/pyvenv.cfg", "home = /usr/bin\n")
    };
    let daemon = |rest: &[&'static str]| {
        [
            &["start-stop-daemon", "--start", "--exec", "/usr/bin/python3"],
            rest,
        ]
        .concat()
    };
    for (command, directory, expected) in [
        (
            vec!["uv", "run", "--directory", "/srv", "python3"],
            "/srv",
            "",
        ),
        (vec!["env", "-C", "sub", "python3"], "/app/sub", ""),
        (daemon(&["-d", "/srv"]), "/srv", ""),
        (daemon(&[]), "/", ""),
        (daemon(&["-c", "app"]), "", "-c"),
    ] {
        let (gaps, _, found) = of_command(sample(), &[], &command);
        assert!(gaps.contains(expected), "{command:?}: {gaps}");
        if expected.is_empty() {
            assert_eq!(
                (gaps.as_str(), found.as_str()),
                ("", directory),
                "{command:?}"
            );
        }
    }
}

#[test]
fn settings_of_poetry_and_pipenv_are_gaps() {
    let script = |import| {
        format!(
            "#!/usr/bin/python3\nimport sys\n{import}\nif __name__ == '__main__':\n    sys.exit(main())\n"
        )
    };
    for (program, variable, is_gap) in [
        ("poetry", "POETRY_VERSION=2.1", false),
        ("poetry", "POETRY_VIRTUALENVS_IN_PROJECT=false", true),
        ("poetry", "CONDA_PREFIX=/opt/conda", true),
        ("pipenv", "A=1", false),
        ("pipenv", "PIPENV_IGNORE_VIRTUALENVS=1", true),
        ("pipenv", "PIPENV_PIPFILE=/srv/Pipfile", true),
    ] {
        let sample = Sample::new()
            .text(
                "usr/bin/poetry",
                &script("from poetry.console.application import main"),
            )
            .text(
                "usr/bin/pipenv",
                &script("from pipenv import cli").replace("main()", "cli()"),
            )
            .text("app/pyproject.toml", "[project]\n")
            .text("app/Pipfile", "[packages]\n")
            .text("app/.venv/pyvenv.cfg", "home = /usr/bin\n");
        let (gaps, _, _) = of_command(sample, &[variable], &[program, "run", "python3", "a.py"]);
        let name = variable.split('=').next().unwrap();
        assert_eq!(gaps.contains(name), is_gap, "{variable}: {gaps}");
        assert_eq!(gaps.is_empty(), !is_gap, "{variable}: {gaps}");
    }
}

#[test]
fn sudo_follows_the_policy_that_counts() {
    const ROOT: &str = "root ALL=(ALL:ALL) ALL\n";
    for (sudoers, extra, environment, expected) in [
        (ROOT, "Defaults odd\n", None, ""),
        (
            "@includedir /etc/sudoers.d\nroot ALL=(ALL:ALL) ALL\n",
            "Defaults odd\n",
            None,
            "odd",
        ),
        ("#includedir /etc/sudoers.d\n", ROOT, None, ""),
        ("", ROOT, None, "does not say what root may do"),
        (
            ROOT,
            "",
            Some("LD_LIBRARY_PATH=/opt/evil\n"),
            "/etc/environment",
        ),
    ] {
        let sample = Sample::new()
            .program("usr/bin/sudo")
            .text("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
            .text("etc/sudoers", sudoers)
            .text("etc/sudoers.d/extra", extra);
        let sample = match environment {
            Some(text) => sample.text("etc/environment", text),
            None => sample,
        };
        let (gaps, _, _) = of_command(sample, &[], &["sudo", "python3", "a.py"]);
        assert!(gaps.contains(expected), "{sudoers}{extra}: {gaps}");
        assert_eq!(gaps.is_empty(), expected.is_empty(), "{gaps}");
    }
}

#[test]
fn programs_install_packages_with_some_arguments() {
    let pip = "#!/usr/bin/python3\nimport sys\nfrom pip._internal.cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n";
    for (command, installs, is_silent) in [
        ("pip install torch", true, false),
        ("pip -q uninstall torch", true, false),
        ("pip \"$(date)\" torch", true, false),
        ("python3 -u -m pip install torch", true, false),
        ("python3 -um pip install torch", true, false),
        ("uv pip install torch", true, false),
        ("conda install -y torch", true, false),
        ("dpkg -i a.deb", true, false),
        ("rpm -Uvh a.rpm", true, false),
        ("apt-get -y install x", true, false),
        ("apt-get update", false, false),
        ("rpm -q --pipe x bash", false, false),
        ("pip --version", false, true),
        ("dpkg -l", false, true),
        ("echo \"$(dpkg --print-architecture)\"", false, true),
        ("rpm -q bash", false, true),
    ] {
        let sample = Sample::new()
            .text("usr/bin/pip", pip)
            .program("usr/bin/uv")
            .program("usr/bin/dpkg")
            .program("usr/bin/rpm")
            .program("usr/bin/apt-get");
        let script = format!("{command}; exec python3 a.py");
        let (gaps, _, _) = of_command(sample, &[], &["sh", "-c", &script]);
        assert_eq!(
            gaps.contains("which installs packages"),
            installs,
            "{command}: {gaps}"
        );
        assert_eq!(gaps.is_empty(), is_silent, "{command}: {gaps}");
    }
}
