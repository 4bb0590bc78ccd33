//! Runs a script in a shell, and asks the model about it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use imgcheck::Overlay;
use imgcheck_base::gap::Gap;
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_launch::Launch;
use imgcheck_model::knowledge;
use oci_spec::image::ImageConfiguration;
use serde_json::json;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Programs that the scripts use, and that the model takes for what they are.
const PROGRAMS: [&str; 12] = [
    "sed", "bash", "dash", "env", "dirname", "basename", "readlink", "mkdir", "cat", "date",
    "grep", "nice",
];

/// Variables that shells set for themselves.
const OF_SHELLS: [&str; 4] = ["_", "SHLVL", "OLDPWD", "PWD"];

/// A directory with a script, and a program that writes down what it is started with.
pub struct Bench {
    directory: tempfile::TempDir,
}

/// What a program is started with.
#[derive(Debug, PartialEq)]
pub struct Started {
    directory: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let bench = Bench {
            directory: tempfile::tempdir().unwrap(),
        };
        let probe = "#!/bin/sh\n{ pwd -P; printf '%s\\n' \"$#\"; for a; do printf '%s\\n' \"$a\"; done; /usr/bin/env; } > \"$0.out\"\n";
        bench.write("probe", probe);
        fs::create_dir_all(bench.path("d/e")).unwrap();
        for (name, text) in files {
            bench.write(name, text);
        }
        bench
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the shell starts, if it starts the program.
    fn run(&self, shell: &str) -> Option<Started> {
        let output = self.path("probe.out");
        let _ = fs::remove_file(&output);
        let status = Command::new(format!("/usr/bin/{shell}"))
            .args([self.path("start.sh"), self.path("probe")])
            .args(["one", "two words"])
            .env_clear()
            .envs([
                ("PATH", PATH),
                ("HOME", "/root"),
                ("LD_LIBRARY_PATH", "/image"),
                ("SET", "yes"),
            ])
            .current_dir(self.root())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        let _ = status;
        let text = fs::read_to_string(output).ok()?;
        let mut lines = text.lines();
        let directory = lines.next()?.to_owned();
        let count: usize = lines.next()?.parse().ok()?;
        let arguments = lines.by_ref().take(count).map(str::to_owned).collect();
        let variables = lines.filter_map(|line| line.split_once('='));
        let own = |name: &str| !OF_SHELLS.contains(&name);
        let environment = variables
            .filter(|(name, _)| own(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Started {
            directory,
            arguments,
            environment: environment.collect(),
        })
    }

    /// What the model says.
    pub fn model(&self, shell: &str) -> Launch {
        let mut entries = Vec::new();
        let mut add = |path: &str, kind| {
            entries.push(Entry {
                path: path.trim_start_matches('/').to_owned(),
                kind,
                size: 1,
                mode: 0o755,
                owner: Default::default(),
            });
        };
        let elf = || EntryKind::File(Content::Elf(Box::default()));
        for program in PROGRAMS {
            add(&format!("usr/bin/{program}"), elf());
        }
        add("usr/bin/sh", EntryKind::Symlink("dash".to_owned()));
        add("bin", EntryKind::Symlink("usr/bin".to_owned()));
        let mut pending = vec![self.root()];
        while let Some(directory) = pending.pop() {
            add(directory.to_str().unwrap(), EntryKind::Directory);
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.to_str().unwrap().to_owned();
                match path.is_dir() {
                    true => pending.push(path),
                    false if name.ends_with("/probe") => add(&name, elf()),
                    false if name.ends_with("probe.out") => {}
                    false => {
                        let text = fs::read_to_string(&path).unwrap();
                        add(&name, EntryKind::File(Content::Text(text)));
                    }
                }
            }
        }
        let layer = LayerFacts { entries };
        let root = self.root();
        let config: ImageConfiguration = serde_json::from_value(json!({
            "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []},
            "config": {
                "Entrypoint": [format!("/usr/bin/{shell}"), root.join("start.sh"), root.join("probe"), "one", "two words"],
                "Env": [format!("PATH={PATH}"), "HOME=/root", "LD_LIBRARY_PATH=/image", "SET=yes"],
                "WorkingDir": root,
            },
        }))
        .unwrap();
        let root = RootFilesystem::merge([&layer]);
        Launch::of(
            &root,
            &config,
            &Overlay::default(),
            &knowledge::launch().unwrap(),
        )
    }

    /// Compares both where the model has no gap. Whether it has none.
    pub fn compare(&self, shell: &str) -> Result<bool, String> {
        let launch = self.model(shell);
        // A script that starts nothing is a gap that says so: that must be true, too.
        let starts_nothing = |it: &Gap| it.message.ends_with("before it starts a program");
        let is_understood = launch.gaps.is_empty() || launch.gaps.iter().all(starts_nothing);
        if !is_understood {
            return Ok(false);
        }
        let started = self.run(shell);
        let is_probe = launch
            .program
            .as_deref()
            .is_some_and(|it| it.ends_with("/probe"));
        let modeled = is_probe.then(|| Started {
            directory: launch.working_directory.clone(),
            arguments: launch.arguments[1..].to_vec(),
            environment: launch.environment.clone(),
        });
        match agrees(modeled.as_ref(), started.as_ref()) {
            true => Ok(true),
            false => Err(format!(
                "{shell}: the model says\n{modeled:#?}\nit is\n{started:#?}"
            )),
        }
    }
}

/// Whether the model is right. It leaves out variables that are unknown and do not decide what is loaded.
fn agrees(modeled: Option<&Started>, started: Option<&Started>) -> bool {
    let (Some(modeled), Some(started)) = (modeled, started) else {
        return modeled.is_none() && started.is_none();
    };
    let is_relevant = |name: &str| name.starts_with("LD_") || matches!(name, "PATH" | "HOME");
    let is_known = |(name, value): (&String, &String)| started.environment.get(name) == Some(value);
    let mut relevant = started.environment.keys().filter(|name| is_relevant(name));
    modeled.environment.iter().all(is_known)
        && relevant.all(|name| modeled.environment.contains_key(name))
        && modeled.directory == started.directory
        && modeled.arguments == started.arguments
}

pub fn bench(script: &str) -> Bench {
    Bench::new(&[
        ("start.sh", script),
        ("found.sh", "export A=found; exec \"$@\""),
        ("d/one.sh", "ONE=1"),
        (
            "d/two.sh",
            "export TWO=\"$ONE$1\"\nreturn 0\nexport THREE=3",
        ),
    ])
}
