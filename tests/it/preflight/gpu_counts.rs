//! GPUs that a command counts on and its container does not get.

use super::certain_failures::shown;
use super::kubernetes::{GPU, pod};
use super::{Input, containers};

/// CUDA numbers the GPUs of a container from 0. A privileged one has all of its node.
#[test]
fn a_gpu_by_a_number_that_the_container_does_not_get() {
    for (value, more, expected) in [
        ("1", "", true),
        ("0", "", false),
        ("1", "securityContext: {privileged: true}", false),
    ] {
        let env = format!("env: [{{name: CUDA_VISIBLE_DEVICES, value: '{value}'}}]");
        let container = format!("command: [python3, -c, pass]\n{GPU}\n{env}\n{more}");
        let (_, report) = Input::new(&pod(&container, "")).json(&[]);
        let found = shown(&report, "deploy-device-index");
        assert_eq!(!found.is_empty(), expected, "{value} {more}: {found}");
    }
}

/// A process for each GPU, as the command of the image or of the manifest says, also behind a shell.
#[test]
fn more_processes_than_gpus() {
    for (command, more, expected) in [
        (
            "[python3, /usr/bin/torchrun, --nproc-per-node=8, train.py]",
            "",
            "torchrun starts 8 processes (`--nproc-per-node=8`), and the container requests 1 GPU",
        ),
        (
            "[python3, -m, torch.distributed.run, --nproc_per_node, '2', train.py]",
            "",
            "starts 2 processes",
        ),
        (
            "[bash, -c, 'exec python3 /usr/bin/torchrun --nproc-per-node $N train.py']",
            "env: [{name: N, value: '4'}]",
            "starts 4 processes",
        ),
        (
            "[python3, /usr/bin/torchrun, --nproc-per-node=1, train.py]",
            "",
            "",
        ),
        (
            "[python3, /usr/bin/torchrun, --nproc-per-node=8, train.py]",
            "securityContext: {privileged: true}",
            "",
        ),
        (
            "[python3, -m, vllm.entrypoints.openai.api_server, -tp, '4']",
            "",
            "vllm.entrypoints.openai.api_server needs 4 GPUs (`-tp 4`)",
        ),
        (
            "[bash, -c, 'ray start --head && exec python3 -m vllm.entrypoints.openai.api_server -tp 4']",
            "",
            "",
        ),
        (
            "[python3, -m, vllm.entrypoints.openai.api_server, -tp, '4']",
            "env: [{name: RAY_ADDRESS, value: 'head:6379'}]",
            "",
        ),
        (
            "[bash, -c, 'bash /join.sh && exec python3 -m vllm.entrypoints.openai.api_server -tp 4']",
            "",
            "",
        ),
        (
            "[bash, -c, 'test -e /big || exec python3 -m torch.distributed.run --nproc-per-node 1 a.py; exec python3 -m torch.distributed.run --nproc-per-node 8 a.py']",
            "",
            "",
        ),
        (
            "[python3, -m, torch.distributed.run, --nproc_per_node, '2', train.py]",
            "env: [{name: CUDA_VISIBLE_DEVICES, value: ''}]",
            "",
        ),
    ] {
        let container = format!("command: {command}\n{GPU}\n{more}");
        let (_, report) = Input::new(&pod(&container, "")).json(&[]);
        let findings = containers(&report)[0]["findings"]
            .as_array()
            .unwrap()
            .iter();
        let own = findings.filter(|it| it["rule"] == "deploy-too-few-gpus");
        let found: String = own.filter_map(|it| it["message"].as_str()).collect();
        assert_eq!(
            found.is_empty(),
            expected.is_empty(),
            "{command} {more}: {found}"
        );
        assert!(found.contains(expected), "{command} {more}: {found}");
    }
}
