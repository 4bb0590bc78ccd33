//! Ways in which the program does not run, or runs within limits: by the dynamic loader, by wrappers, by the rights of the user. Each with
//! its healthy variant.

use super::table::{evil, harmless};
use super::{EVIL, GOOD, MAIN, NOT_RUN, OBJECT, UNREADABLE, Way, init, way};

const LAUNCH: &str = "launch-not-understood";
const LD: &str = "/lib64/ld-linux-x86-64.so.2";
const PYTHON: &str = "/usr/bin/python3";
const SCRIPT: &str = "/app/main.py";
const SET: &str = "PYTHONPATH=/opt/evil";
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n";

pub fn ways() -> Vec<Way> {
    [variables(), by_loader(), wrappers(), scripts(), rights()].concat()
}

/// The program does not run.
fn none(name: &'static str, says: &'static str) -> Way {
    way(name, "none", says)
}

/// The PyTorch that is installed runs, and there is nothing to say.
fn healthy(name: &'static str) -> Way {
    way(name, GOOD, GOOD).silent()
}

fn variables() -> Vec<Way> {
    vec![
        none("LD_TRACE_LOADED_OBJECTS", NOT_RUN).env("LD_TRACE_LOADED_OBJECTS=1"),
        none("LD_TRACE_LOADED_OBJECTS, empty", NOT_RUN).env("LD_TRACE_LOADED_OBJECTS="),
        none("LD_TRACE_LOADED_OBJECTS in a script", NOT_RUN)
            .sh("export LD_TRACE_LOADED_OBJECTS=0; exec python3 /app/main.py"),
        none("LD_TRACE_LOADED_OBJECTS and a shell that unsets it", NOT_RUN)
            .env("LD_TRACE_LOADED_OBJECTS=1")
            .sh("unset LD_TRACE_LOADED_OBJECTS; exec python3 /app/main.py"),
        healthy("LD_TRACE_LOADED_OBJECTS for a different program")
            .sh("LD_TRACE_LOADED_OBJECTS=1 /usr/bin/true >/dev/null; exec python3 /app/main.py"),
        healthy("LD_TRACE_LOADED_OBJECTS that a script unsets again")
            .sh("export LD_TRACE_LOADED_OBJECTS=1; unset LD_TRACE_LOADED_OBJECTS; exec python3 /app/main.py"),
        none("`LD_DEBUG=help`", NOT_RUN).env("LD_DEBUG=help"),
        none("`LD_DEBUG=libs,help`", NOT_RUN).env("LD_DEBUG=libs,help"),
        healthy("`LD_DEBUG=libs`").env("LD_DEBUG=libs"),
        healthy("`LD_DEBUG=helpful`").env("LD_DEBUG=helpful"),
        healthy("LD_BIND_NOW, LD_WARN and LD_VERBOSE")
            .env("LD_BIND_NOW=1")
            .env("LD_WARN=1")
            .env("LD_VERBOSE=1"),
    ]
}

fn by_loader() -> Vec<Way> {
    vec![
        healthy("the loader as the command").command(&[LD, PYTHON, SCRIPT]),
        healthy("the loader with `--library-path`").command(&[
            LD,
            "--library-path",
            "/opt/lib",
            PYTHON,
            SCRIPT,
        ]),
        evil("the loader with the Python of an `env`", EVIL)
            .command(&["env", SET, LD, PYTHON, SCRIPT]),
        way("the loader with `--preload`", OBJECT, OBJECT).command(&[
            LD,
            "--preload",
            OBJECT,
            PYTHON,
            SCRIPT,
        ]),
        way("the loader with `--audit`", OBJECT, "loader-not-modeled")
            .command(&[LD, "--audit", OBJECT, PYTHON, SCRIPT]),
        way(
            "the loader with `--argv0` of a virtual environment",
            EVIL,
            EVIL,
        )
        .venv()
        .command(&[LD, "--argv0", "/opt/venv/bin/python", PYTHON, SCRIPT]),
        way(
            "the loader with the Python of a virtual environment",
            EVIL,
            EVIL,
        )
        .venv()
        .command(&[LD, "/opt/venv/bin/python", SCRIPT]),
        way(
            "the loader with `--preload` for a shell, whose programs get nothing of it",
            GOOD,
            GOOD,
        )
        .command(&[
            LD,
            "--preload",
            "/opt/none.so",
            "/usr/bin/bash",
            "-c",
            "exec python3 /app/main.py",
        ]),
        none("the loader with `--list`", NOT_RUN).command(&[LD, "--list", PYTHON, SCRIPT]),
        none("the loader with `--verify`", NOT_RUN).command(&[LD, "--verify", PYTHON, SCRIPT]),
        none("the loader with `--version`", NOT_RUN).command(&[LD, "--version", PYTHON]),
        none("the loader with `--library-path=PATH`", NOT_RUN).command(&[
            LD,
            "--library-path=/opt/lib",
            PYTHON,
            SCRIPT,
        ]),
        none("the loader with `--`", NOT_RUN).command(&[LD, "--", PYTHON, SCRIPT]),
        none("the loader without a program", NOT_RUN).command(&[LD, "--inhibit-cache"]),
        none("the loader with a script", NOT_RUN)
            .file("start.sh", "#!/bin/sh\nexec python3 /app/main.py\n")
            .command(&[LD, "/start.sh"]),
        none("the loader with a program that is not there", NOT_RUN)
            .command(&[LD, "/usr/bin/none"]),
        none("the loader with a name without `/`", LAUNCH).command(&[LD, "python3", SCRIPT]),
        way("the loader with `--glibc-hwcaps-mask`", GOOD, LAUNCH).command(&[
            LD,
            "--glibc-hwcaps-mask",
            "x86-64-v2",
            PYTHON,
            SCRIPT,
        ]),
    ]
}

fn wrappers() -> Vec<Way> {
    vec![
        evil("`xargs env …`", EVIL).command(&["xargs", "env", SET, "python3", SCRIPT]),
        evil("`xargs -n 1 -P 2 env …` behind a pipe", EVIL)
            .sh("echo a | xargs -n 1 -P 2 env PYTHONPATH=/opt/evil python3 /app/main.py"),
        evil("`xargs -I`", LAUNCH)
            .sh("echo /opt/evil | xargs -I{} env PYTHONPATH={} python3 /app/main.py"),
        evil("`xargs` with the program on its input", LAUNCH)
            .sh("echo PYTHONPATH=/opt/evil python3 /app/main.py | xargs env"),
        healthy("`xargs python3 …`")
            .command(&["xargs", "-r", "-t", "python3", SCRIPT])
            .not_run(),
        evil("`perl -e exec`", LAUNCH).command(&[
            "perl",
            "-e",
            "$ENV{PYTHONPATH} = '/opt/evil'; exec 'python3', '/app/main.py'",
        ]),
        evil("`perl SCRIPT`", LAUNCH)
            .file(
                "app/start.pl",
                "$ENV{PYTHONPATH} = '/opt/evil'; exec 'python3', '/app/main.py'\n",
            )
            .command(&["perl", "/app/start.pl"]),
        none("`prlimit --as=…`", LAUNCH).command(&["prlimit", "--as=1000000", "python3", SCRIPT]),
        none("`prlimit -n3`", LAUNCH).command(&["prlimit", "-n3", "python3", SCRIPT]),
        none(
            "`prlimit --nofile 4096`, whose value is the command",
            LAUNCH,
        )
        .command(&["prlimit", "--nofile", "4096", "python3", SCRIPT]),
        healthy("`prlimit --nofile=4096 --core=0`").command(&[
            "prlimit",
            "--nofile=4096",
            "--core=0",
            "python3",
            SCRIPT,
        ]),
        none("`timeout 0.001`", LAUNCH).command(&["timeout", "0.001", "python3", SCRIPT]),
        none("`timeout` without a duration", LAUNCH).command(&["timeout", "python3", SCRIPT]),
        healthy("`timeout 1h`").command(&["timeout", "-k", "10", "1h", "python3", SCRIPT]),
        healthy("`timeout 0`").command(&["timeout", "0", "python3", SCRIPT]),
        none("`setpriv --reuid` of a user that is not there", LAUNCH)
            .file("etc/passwd", PASSWD)
            .command(&[
                "setpriv",
                "--reuid",
                "ghost",
                "--clear-groups",
                "python3",
                SCRIPT,
            ]),
        healthy("`setpriv --reuid 1000`").command(&[
            "setpriv",
            "--reuid",
            "1000",
            "--clear-groups",
            "python3",
            SCRIPT,
        ]),
    ]
}

fn scripts() -> Vec<Way> {
    vec![
        none("`ulimit -v`", LAUNCH).sh("ulimit -v 1000; exec python3 /app/main.py"),
        none("`ulimit -Sv1000` in bash", LAUNCH).bash("ulimit -Sv1000; exec python3 /app/main.py"),
        none("`ulimit -n 3`", LAUNCH).bash("ulimit -n 3; exec python3 /app/main.py"),
        healthy("`ulimit -n 4096; ulimit -v unlimited; ulimit -c 0`")
            .bash("ulimit -n 4096; ulimit -v unlimited; ulimit -c 0 -s 8192; ulimit -v; exec python3 /app/main.py"),
        none("`rbash`, which refuses `exec`", LAUNCH)
            .command(&["rbash", "-c", "exec python3 /app/main.py"]),
        none("`bash -r`", LAUNCH).command(&["bash", "-r", "-c", "exec python3 /app/main.py"]),
        none("`exec` behind `false` under `set -e`", LAUNCH)
            .sh("set -e; false; exec python3 /app/main.py"),
        none("the same in a function", LAUNCH)
            .bash("set -e; start() { false; exec python3 /app/main.py; }; start"),
        none("`exit 1` before `exec`", LAUNCH).sh("exit 1; exec python3 /app/main.py"),
        none("a variable that has to be set", LAUNCH)
            .sh(": ${MODEL:?is required}; exec python3 /app/main.py"),
        healthy("a failure that is caught, under `set -e`")
            .sh("set -e; false || true; exec python3 /app/main.py"),
        healthy("`false` without `set -e`").sh("false; exec python3 /app/main.py"),
        evil("a script that rewrites /etc/passwd and unsets HOME", LAUNCH)
            .file("etc/passwd", PASSWD)
            .file("opt/home/.local/lib/python3.11/site-packages/torch/__init__.py", &init(EVIL))
            .sh("echo root:x:0:0::/opt/home:/bin/sh > /etc/passwd; unset HOME; exec python3 /app/main.py"),
        healthy("a script that adds a user to /etc/passwd and keeps HOME")
            .file("etc/passwd", PASSWD)
            .sh("echo user:x:1000:0::/opt/home:/bin/sh >> /etc/passwd; exec python3 /app/main.py"),
        healthy("a script that unsets HOME").file("etc/passwd", PASSWD).sh("unset HOME; exec python3 /app/main.py"),
        none("`setpriv` behind a script that writes /etc/passwd", LAUNCH)
            .file("etc/passwd", PASSWD)
            .sh("echo app:x:1000:0::/:/bin/sh > /etc/passwd; exec setpriv --reuid nobody --clear-groups python3 /app/main.py"),
    ]
}

fn rights() -> Vec<Way> {
    const TORCH: &str = "usr/local/lib/python3.11/dist-packages/torch";
    const INIT: &str = "usr/local/lib/python3.11/dist-packages/torch/__init__.py";
    let user = |name, says| none(name, says).user(1000);
    let text = init(GOOD);
    let submodule = format!("from .version import __version__\n{text}");
    vec![
        user("`torch/__init__.py` that the user may not read", UNREADABLE)
            .file(INIT, &text)
            .mode(INIT, 0o600),
        healthy("the same for root")
            .file(INIT, &text)
            .mode(INIT, 0o600),
        healthy("`torch/__init__.py` that everybody may read")
            .file(INIT, &text)
            .mode(INIT, 0o644)
            .user(1000),
        user(
            "a directory `torch` that the user may not search",
            UNREADABLE,
        )
        .mode(TORCH, 0o700),
        user("a directory `torch` that the user may not list", UNREADABLE)
            .file(INIT, &submodule)
            .mode(TORCH, 0o711),
        healthy("a directory `torch` that the user may not write")
            .user(1000)
            .mode(TORCH, 0o555),
        user("a script that the user may not read", UNREADABLE)
            .file("app/main.py", MAIN)
            .mode("app/main.py", 0o600),
        user("the same behind `python3 -u`", UNREADABLE)
            .mode("app/main.py", 0o600)
            .command(&["python3", "-u", SCRIPT]),
        user("a program that the user may not execute", NOT_RUN)
            .file("start.sh", "#!/bin/sh\nexec python3 /app/main.py\n")
            .mode("start.sh", 0o744)
            .command(&["/start.sh"]),
        healthy("a program that everybody may execute")
            .file("start.sh", "#!/bin/sh\nexec python3 /app/main.py\n")
            .mode("start.sh", 0o755)
            .user(1000)
            .command(&["/start.sh"]),
        user("`encodings` that the user may not search", UNREADABLE)
            .file("usr/lib/python3.11/encodings/__init__.py", "")
            .mode("usr/lib/python3.11/encodings", 0o700),
        harmless("PYTHONPATH with a package that the user may not search, and one that is open")
            .user(1000)
            .mode("opt/evil/torch", 0o700)
            .env(SET),
    ]
}
