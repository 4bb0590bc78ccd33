//! Console scripts of Python tools, and sudo.

use serde_json::json;

use super::{Case, PASSWD, PYTHON};

/// A console script of a package that `pip` installed.
pub fn poetry() -> Case {
    Case {
        name: "poetry",
        config: json!({"Entrypoint": ["poetry", "run", "python3", "serve.py"], "WorkingDir": "/app"}),
        files: vec![
            (
                "usr/local/bin/poetry",
                "#!/usr/local/bin/python3.11\nimport sys\nfrom poetry.console.application import main\nif __name__ == '__main__':\n    sys.argv[0] = sys.argv[0].removesuffix('.exe')\n    sys.exit(main())\n",
            ),
            ("app/pyproject.toml", "[tool.poetry]\nname = \"app\"\n"),
            (
                "app/.venv/pyvenv.cfg",
                "home = /usr/local/bin\ninclude-system-site-packages = true\nversion = 3.11.13\n",
            ),
            ("app/.venv/lib/python3.11/site-packages/app/__init__.py", ""),
        ],
        programs: vec!["app/.venv/bin/python3"],
        starts: PYTHON.to_vec(),
        environment: vec![(
            "PATH",
            "/app/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )],
        hostile: (
            "usr/local/bin/poetry",
            "#!/usr/local/bin/python3.11\nimport os, sys\nos.environ['LD_PRELOAD'] = '/x.so'\nos.execvp(sys.argv[2], sys.argv[2:])\n",
            "poetry",
        ),
    }
}

pub fn pipenv() -> Case {
    let poetry = poetry();
    Case {
        name: "pipenv",
        config: json!({"Entrypoint": ["pipenv", "run", "python3", "serve.py"], "WorkingDir": "/app"}),
        files: vec![
            (
                "usr/local/bin/pipenv",
                "#!/usr/local/bin/python3.11\nimport re\nimport sys\nfrom pipenv import cli\nif __name__ == '__main__':\n    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    sys.exit(cli())\n",
            ),
            ("app/Pipfile", "[packages]\n"),
            poetry.files[2],
            poetry.files[3],
        ],
        hostile: ("app/.env", "LD_PRELOAD=/x.so\n", ".env"),
        ..poetry
    }
}

pub fn sudo() -> Case {
    let sudoers = "Defaults\tenv_reset\nDefaults\tsecure_path=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\nroot\tALL=(ALL:ALL) ALL\n%sudo\tALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n";
    Case {
        name: "sudo",
        config: json!({
            "Entrypoint": ["/start.sh"], "Cmd": PYTHON, "Env": ["LD_LIBRARY_PATH=/opt/lib", "PYTHONPATH=/opt/python", "MODE=fast"],
        }),
        files: vec![
            (
                "start.sh",
                "#!/bin/bash\nexec sudo -E -u app LD_LIBRARY_PATH=\"/opt/own\" \"$@\"\n",
            ),
            ("etc/sudoers", sudoers),
            ("etc/passwd", PASSWD),
        ],
        programs: vec!["usr/bin/sudo"],
        starts: PYTHON.to_vec(),
        environment: vec![("LD_LIBRARY_PATH", "/opt/own"), ("PYTHONPATH", "")],
        hostile: (
            "etc/sudoers.d/extra",
            "Defaults env_file=/opt/evil\n",
            "sudo",
        ),
    }
}
