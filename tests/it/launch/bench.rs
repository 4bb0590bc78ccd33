//! Runs a script in a shell, and asks the model about it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use imgcheck_base::gap::Gap;
use imgcheck_launch::Launch;

use super::case::{Case, File, Kind, cases};
use super::model::image;

/// A program that writes down what it is started with.
const PROBE: &str = "#!/bin/sh\n{ pwd -P; printf '%s\\n' \"$#\"; for a; do printf '%s\\n' \"$a\"; done; /usr/bin/env; } > \"$0.out\"\n";

/// Arguments of the script behind the path of the probe.
const ARGUMENTS: [&str; 2] = ["one", "two words"];

/// Variables that shells set for themselves.
const OF_SHELLS: [&str; 4] = ["_", "SHLVL", "OLDPWD", "PWD"];

/// A directory with the files of a case: `start.sh` and what it uses.
pub struct Bench {
    directory: tempfile::TempDir,
    case: Case,
}

/// What a program is started with.
#[derive(Debug, PartialEq)]
pub struct Started {
    directory: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl Bench {
    pub fn new(case: &Case) -> Self {
        let bench = Bench {
            directory: tempfile::tempdir().unwrap(),
            case: case.clone(),
        };
        bench.write("probe", PROBE);
        for (name, file) in case.own_files() {
            match &file.text {
                Some(text) => bench.write(name, text),
                None => fs::create_dir_all(bench.path(name)).unwrap(),
            }
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
            .args(ARGUMENTS)
            .env_clear()
            .envs(&self.case.config.env)
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
        let absolute = |name: &str| self.path(name).to_str().unwrap().to_owned();
        let inside = |name: &str| absolute(name).trim_start_matches('/').to_owned();
        let mut case = self.case.clone();
        case.files = case.base.clone();
        let own = self.case.own_files();
        case.files
            .extend(own.map(|(name, file)| (inside(name), file.clone())));
        case.files.insert(inside("probe"), File::of(Kind::Program));
        let shell = format!("/usr/bin/{shell}");
        let command = [shell, absolute("start.sh"), absolute("probe")];
        let arguments = ARGUMENTS.map(str::to_owned);
        case.config.entrypoint = Some([command.to_vec(), arguments.to_vec()].concat());
        case.config.working_dir = Some(absolute(""));
        image(&case).launch(&case.overlay)
    }

    /// Compares both where the model has no gap. Whether it has none.
    pub fn compare(&self, shell: &str) -> Result<bool, String> {
        let launch = self.model(shell);
        // A script that starts nothing is a gap that says so: that must be true, too.
        let ends = ["before it starts a program", "which is not in the image"];
        let starts_nothing = |it: &Gap| ends.iter().any(|end| it.message.ends_with(end));
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

/// A bench with this script, and the other files of the scripts that are compared.
pub fn bench(script: &str) -> Bench {
    static CASE: LazyLock<Case> = LazyLock::new(|| {
        let (cases, _) = cases();
        cases.into_iter().find(|it| it.expects("shells")).unwrap()
    });
    let mut case = CASE.clone();
    let start = case.files.get_mut("start.sh").unwrap();
    start.text = Some(script.to_owned());
    Bench::new(&case)
}
