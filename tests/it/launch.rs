//! What the model of a container's start says of scripts, against what bash and dash do with them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use imgcheck::Overlay;
use imgcheck::internals::image::RootFilesystem;
use imgcheck::internals::knowledge;
use imgcheck::internals::launch::Launch;
use imgcheck::internals::layer::{Content, Entry, EntryKind, LayerFacts};
use oci_spec::image::ImageConfiguration;
use proptest::prelude::*;
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
struct Bench {
    directory: tempfile::TempDir,
}

/// What a program is started with.
#[derive(Debug, PartialEq)]
struct Started {
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
    fn model(&self, shell: &str) -> Launch {
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
    fn compare(&self, shell: &str) -> Result<bool, String> {
        let launch = self.model(shell);
        if !launch.gaps.is_empty() {
            return Ok(false);
        }
        let started = self.run(shell);
        let is_probe = launch
            .program
            .as_deref()
            .is_some_and(|it| it.ends_with("/probe"));
        let modelled = is_probe.then(|| Started {
            directory: launch.working_directory.clone(),
            arguments: launch.arguments[1..].to_vec(),
            environment: launch.environment.clone(),
        });
        match agrees(modelled.as_ref(), started.as_ref()) {
            true => Ok(true),
            false => Err(format!(
                "{shell}: the model says\n{modelled:#?}\nit is\n{started:#?}"
            )),
        }
    }
}

/// Whether the model is right. It leaves out variables that are unknown and do not decide what is loaded.
fn agrees(modelled: Option<&Started>, started: Option<&Started>) -> bool {
    let (Some(modelled), Some(started)) = (modelled, started) else {
        return modelled.is_none() && started.is_none();
    };
    let is_relevant = |name: &str| name.starts_with("LD_") || matches!(name, "PATH" | "HOME");
    let is_known = |(name, value): (&String, &String)| started.environment.get(name) == Some(value);
    let mut relevant = started.environment.keys().filter(|name| is_relevant(name));
    modelled.environment.iter().all(is_known)
        && relevant.all(|name| modelled.environment.contains_key(name))
        && modelled.directory == started.directory
        && modelled.arguments == started.arguments
}

/// Scripts of the forms that entrypoints have.
const SCRIPTS: &[&str] = &[
    "exec \"$@\"",
    "set -e\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\nexec \"$@\"",
    "export LD_LIBRARY_PATH=\"/x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"; exec \"$@\"",
    "unset LD_LIBRARY_PATH\nLD_LIBRARY_PATH=/y\nexec \"$@\"",
    "LD_LIBRARY_PATH=/y \"$@\"",
    "LD_PRELOAD= env LD_AUDIT=/a -u SET \"$@\"",
    "cd \"$(dirname \"$0\")/d\" && exec \"$@\"",
    "cd d/e; cd ..; export P=$PWD; exec \"$@\"",
    "cd /nowhere 2>/dev/null || export A=failed\nexec \"$@\"",
    "if [ -d d ] && [ ! -f d/none ]; then export A=\"is there\"; else export A=no; fi\nexec \"$@\"",
    "if [ \"$SET\" = yes ]; then export A=1; elif [ -z \"$SET\" ]; then export A=2; fi; exec \"$@\"",
    "case \"$1\" in -*) export A=option;; */probe) export A=probe;; *) export A=other;; esac\nexec \"$@\"",
    "for f in d/*.sh; do . \"./$f\"; done\nexec \"$@\"",
    "for f in a b 'c d'; do export L=\"$L:$f\"; done; exec \"$@\"",
    "f() { local x=1; export A=\"$1$x\"; shift; export B=$#; }\nf q r s\nexec \"$@\"",
    "set -- \"$@\" three; shift 0; exec \"$@\"",
    "program=$1; shift; exec \"$program\" \"$@\"",
    "(export A=lost; cd d); exec \"$@\"",
    "A=x; { A=y; export A; }; exec \"$@\"",
    "set -a; A=1; . ./d/one.sh; set +a; exec \"$@\"",
    "X=a/b.tar.gz; export A=${X%.*} B=${X%%.*} C=${X#*/} D=${X##*.} E=${#X}; exec \"$@\"",
    ": \"${A:=default}\"; export A; exec \"$@\"",
    "export A=`basename \"$0\" .sh`; exec \"$@\"",
    "cat <<EOF >/dev/null\n$(echo x) ) fi\nEOF\nexport A=1\nexec \"$@\"",
    "while [ $# -gt 2 ]; do last=$1; shift; set -- \"$@\" ; break; done; exec \"$last\" \"$@\"",
    "false || true && export A=1; exec \"$@\"",
    "set -e; false; exec \"$@\"",
    "set -e; if false; then :; fi; ! true; exec \"$@\"",
    "eval 'export A=\"$SET\"'; eval exec '\"$@\"'",
    "sh -c 'export A=1; exec \"$@\"' sh \"$@\"",
    "nice -n 5 \"$@\"",
    "exec env -i A=1 \"$@\"",
    "A='a  b'; export B=\"$A\"; set -- $A; export C=$#; exec \"$D\"",
    "IFS=:; set -- $PATH; export A=$1 N=$#; unset IFS; exec \"$0x\"",
    "trap 'echo bye' TERM; exec \"$@\"",
    "command -v cat >/dev/null && export A=has; command -v nothing-here >/dev/null || export B=none; exec \"$@\"",
    "[ -n \"$NONE\" ] || export A=${NONE-unset}; exec \"$@\"",
    "x=$(cd d && pwd); export A=$x; exec \"$@\"",
    "[[ $1 == */probe && -n $SET ]] && export A=bash; exec \"$@\"",
    "cmd=(\"$@\"); cmd+=(three); exec \"${cmd[@]}\"",
    "export PATH=~/bin:$PATH; exec \"$@\"",
    "A=$(readlink -f \"$0\"); export A; exec \"$@\"",
    "test -e /dev/nvidia0 && export LD_PRELOAD=/x; exec \"$@\"",
    "export LD_LIBRARY_PATH=$(date); exec \"$@\"",
    "\"$@\"; exit $?",
    "echo \"$@\" | cat; exec \"$@\"",
    "until false; do break; done; export A=after; exec \"$@\"",
    "if [ \"$(cat d/one.sh)\" = 'ONE=1' ]; then export A=read; fi; exec \"$@\"",
    "exit 0; exec \"$@\"",
    "exec \"$@\" || exec /nowhere\n)",
    "export A=1\nif true; then\nexec \"$@\"",
    "shopt -s nullglob extglob\ndeclare -a parts=( d/*@(.sh|.txt) d/none/* )\nshopt -u nullglob extglob\nfor p in \"${parts[@]}\"; do export L=\"$L:$p\"; done\nexec \"$@\"",
    "here=\"$(dirname \"$(readlink -f \"${BASH_SOURCE[0]}\")\")\"\nexport A=\"$here\"; exec \"$@\"",
    "f() { local -r char=\"$1\" count=\"$2\"; local i; for ((i=1; i<=$count; i++)); do echo -n \"$char\"; done; echo; }\nf = 3 >/dev/null; export A=after; exec \"$@\"",
    "export A=$'\\033[0;1m\\t\\'x'; exec \"$@\"",
    "export A=\"x${SET:+\":${SET} $#\"}\"; exec \"$@\"",
    "f() { :; }\nif ! declare -F g >/dev/null; then export A=none; fi\ndeclare -F f >/dev/null && export B=there\nexec \"$@\"",
    "x=\"$(cat d/one.sh | sed 's/ONE/TWO/g')\"; export A=\"$x\"; exec \"$@\"",
    "eval \"$(echo 'export A=1; drop' | sed 's/drop//')\"; exec \"$@\"",
    "case \"$-\" in *e*) w=yes;; *) w=no;; esac; set +e; false; export A=$w; exec \"$@\"",
    "f() ( export A=lost; echo \"$1\" )\nB=\"$(f got)\" || exit 1; export B; exec \"$@\"",
    "bash -m found.sh \"$@\"",
    "if [ -e /dev/nvidia0 ]; then export LD_LIBRARY_PATH=/nowhere/compat:$LD_LIBRARY_PATH; fi; exec \"$@\"",
    "export A=${1:0:1} B=${SET:1} C=${SET: -2:1} D=\"${*:2}\"; exec \"$@\"",
    "export A=\"$1\"; set -- \"${@:1:2}\"; exec \"$@\"",
    "n=SET m=UNSET; export A=${!n} B=\"${!m:-x}\"; if [ \"${!n:-}\" ]; then export C=is; fi; exec \"$@\"",
    "exec > >(cat); export A=1; exec \"$@\"",
    "trap 'true' EXIT; export A=1; exec \"$@\"",
];

/// Scripts that do more than it seems. The model may have a gap, but must not be wrong.
const ODD_SCRIPTS: &[&str] = &[
    "readonly LD_LIBRARY_PATH=/a; unset LD_LIBRARY_PATH; exec \"$@\"",
    "readonly A=/a; export A; A=/b; exec \"$@\"",
    "f() { local A=2; export A; exec \"$@\"; }; readonly A=1; f \"$@\"",
    "declare -l A=/X; A=/Y; export A; exec \"$@\"",
    "declare -u A; A=x; export A; exec \"$@\"",
    "declare -i A; A=1+1; export A; exec \"$@\"",
    "declare +x LD_LIBRARY_PATH; exec \"$@\"",
    "unset A; export A; PS4='${A:=/q}'; set -x; :; exec \"$@\"",
    "unset A; export A; PS4='$((A=7))'; set -x; :; exec \"$@\"",
    "export A; cat <<EOF >/dev/null\n${A:=child}\nEOF\nexec \"$@\"",
    "LD_LIBRARY_PATH=1; export X=$((LD_LIBRARY_PATH+=7)); exec \"$@\"",
    "export A; : $((A=7)); exec \"$@\"",
    "export A; : $[A=7]; exec \"$@\"",
    "export A; [[ A=7 -eq 7 ]]; exec \"$@\"",
    "export A; V='A=7'; [[ V -eq 7 ]]; exec \"$@\"",
    "export A; V='A=7'; (( V )); exec \"$@\"",
    "export A; x=abc; B=${x:A=1}; exec \"$@\"",
    "export A; a=(1 2); a[A=1]=5; exec \"$@\"",
    "export A; a=(1 2); B=${a[A=1]}; exec \"$@\"",
    "export A; a=(1 2); [ -v 'a[A=1]' ]; exec \"$@\"",
    "export A; a=(1 2); unset 'a[A=1]'; exec \"$@\"",
    "export A; a=(1 2); printf -v 'a[A=1]' x; exec \"$@\"",
    "export A; a=(1 2); n='a[A=1]'; B=${!n}; exec \"$@\"",
    "export A; x=abc; B=${x/b/$((A=1))}; exec \"$@\"",
    "export A; echo {${A:=x},b} >/dev/null; exec \"$@\"",
    "hash -p /usr/bin/env cat; cat A=7 \"$@\"",
    "export A; mapfile -c 1 -C 'A=7; :' X < d/one.sh; exec \"$@\"",
    "export A; trap 'A=7' CHLD; cat /dev/null; exec \"$@\"",
    "export A; trap 'A=7' DEBUG; :; exec \"$@\"",
    "export A; trap 'A=7' 65; :; exec \"$@\"",
    "export A; trap 'A=7' USR1; bash -c 'kill -USR1 $PPID'; exec \"$@\"",
    "trap 'exec \"$P\" more' EXIT; P=$1; exit 0",
    "GLOBIGNORE='*one*'; for f in d/*.sh; do export L=$L:$f; done; exec \"$@\"",
    "BASH_CMDS[cat]=/usr/bin/env; cat A=7 \"$@\"",
    "BASH_ARGV0=x; export A=$0; exec \"$@\"",
    "shopt -so noglob; set -- d/*; export A=$1; exec \"$2\"",
    "unset -n A; n=A; declare -n r=A; r=7; export A; exec \"$@\"",
    "f() { local -; set -a; B=1; }; f; C=2; exec \"$@\"",
];

#[test]
fn odd_scripts_are_understood_or_a_gap() {
    let mut wrong = Vec::new();
    for script in ODD_SCRIPTS {
        let bench = bench(script);
        for shell in ["bash", "dash"] {
            if let Err(difference) = bench.compare(shell) {
                wrong.push(format!("{script}\n{difference}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

fn bench(script: &str) -> Bench {
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

#[test]
fn the_model_never_differs_from_shells_where_it_has_no_gap() {
    let mut understood = 0;
    let mut wrong = Vec::new();
    for script in SCRIPTS {
        let bench = bench(script);
        for shell in ["bash", "dash"] {
            match bench.compare(shell) {
                Ok(is_understood) => understood += usize::from(is_understood),
                Err(difference) => wrong.push(format!("{script}\n{difference}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    let all = 2 * SCRIPTS.len();
    assert!(
        understood * 10 >= all * 8,
        "{understood} of {all} are understood"
    );
}

/// A statement of the grammar that scripts are made of.
fn statement() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["A", "B", "LD_LIBRARY_PATH", "PATH_X"]);
    let value = prop::sample::select(vec![
        "x",
        "\"$A\"",
        "$B",
        "\"${A:-d e}\"",
        "${B:+set}",
        "'a b'",
        "\"$LD_LIBRARY_PATH:/l\"",
        "$(echo q)",
        "\"$#\"",
        "${A%x}",
        "\"$(date)\"",
        "\"$1\"",
        "$PWD",
    ]);
    let assignment =
        (name.clone(), value.clone(), any::<bool>()).prop_map(|(name, value, exported)| {
            format!("{}{name}={value}", if exported { "export " } else { "" })
        });
    let simple = prop_oneof![
        8 => assignment,
        1 => name.clone().prop_map(|name| format!("unset {name}")),
        1 => name.clone().prop_map(|name| format!("export {name}")),
        1 => Just("cd d".to_owned()),
        1 => Just("cd e".to_owned()),
        1 => Just("false".to_owned()),
        1 => Just("set -e".to_owned()),
        1 => Just("set -- \"$@\" more".to_owned()),
        1 => Just(". ./d/two.sh".to_owned()),
        1 => Just("f".to_owned()),
        1 => Just("grep -q x d/one.sh".to_owned()),
        1 => Just("break".to_owned()),
        1 => Just("return 0".to_owned()),
    ];
    let condition = prop::sample::select(vec![
        "[ -n \"$A\" ]",
        "[ \"$B\" = x ]",
        "[ -d d ]",
        "false",
        "[ -e /dev/null ]",
        "grep -q ONE d/one.sh",
    ]);
    simple.prop_recursive(3, 16, 4, move |inner| {
        let body = prop::collection::vec(inner, 1..3).prop_map(|all| all.join("\n"));
        let pair = (body.clone(), body.clone());
        prop_oneof![
            (condition.clone(), pair.clone()).prop_map(|(condition, (one, two))| format!(
                "if {condition}\nthen {one}\nelse {two}\nfi"
            )),
            (condition.clone(), body.clone())
                .prop_map(|(condition, body)| format!("{condition} && {{ {body}\n}}")),
            (condition.clone(), body.clone())
                .prop_map(|(condition, body)| format!("{condition} || {{ {body}\n}}")),
            body.clone().prop_map(|body| format!("( {body}\n)")),
            body.clone()
                .prop_map(|body| format!("for A in 1 $B; do {body}\ndone")),
            body.clone().prop_map(|body| format!("f() {{ {body}\n}}")),
            (value.clone(), pair).prop_map(|(value, (one, two))| {
                format!("case {value} in x) {one};; *\\ *) {two};; esac")
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn generated_scripts_do_as_the_model_says(statements in prop::collection::vec(statement(), 1..6), dash: bool) {
        // A function that calls itself would never end.
        let script = format!("{}\nexec \"$@\"\n", statements.join("\n"));
        prop_assume!(!script.contains("f() {") || script.matches("\nf").count() == 0);
        let compared = bench(&script).compare(if dash { "dash" } else { "bash" });
        // Where a condition is unknown, the model leaves out the way that ends the script.
        let wrong = compared.err().filter(|it| !it.ends_with("it is\nNone"));
        prop_assert!(wrong.is_none(), "{script}\n{}", wrong.unwrap_or_default());
    }
}

#[test]
fn hostile_scripts_end_soon() {
    let deep = "if true; then ".repeat(5000);
    let substitutions = "echo $(".repeat(5000);
    let doubling = format!("A=xxxxxxxx\n{}", "A=$A$A$A$A\n".repeat(200));
    let loops = "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(9) + ":" + &"; done".repeat(9);
    let unknown =
        "while read x; do A=$A$x; for b in $x; do ".repeat(8) + ":" + &"; done; done".repeat(8);
    for script in [
        deep.as_str(),
        &substitutions,
        &doubling,
        &loops,
        &unknown,
        "f() { f; f; }; f",
        "exec \"$0\" \"$@\" x",
        ". \"$0\"",
        "while :; do A=$A.; done",
        "${A:-${A:-${A:-${A:-`echo $(`}}}}",
        "case x in (((",
        "\u{0}\u{feff}<<<<<<",
    ] {
        let begin = std::time::Instant::now();
        let _ = bench(script).model("bash");
        assert!(
            begin.elapsed().as_secs() < 20,
            "{}",
            &script[..script.len().min(40)]
        );
    }
}

#[test]
fn shells_are_there() {
    for shell in ["bash", "dash"] {
        assert!(
            Path::new("/usr/bin").join(shell).exists(),
            "{shell} is needed by the tests of scripts"
        );
    }
}
