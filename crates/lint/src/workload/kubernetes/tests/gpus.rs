//! How Pods get GPUs.

use super::containers;

/// Other ways to a GPU than a request for one.
#[test]
fn a_pod_gets_gpus_by_other_ways() {
    let pod = |container: &str, more: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec: {{containers: [{{name: c, image: 'a/b:1', {container}}}], {more}}}\n"
        )
    };
    let limits = |name: &str| format!("resources: {{limits: {{{name}: 2}}}}");
    let env = |value: &str| format!("env: [{{name: NVIDIA_VISIBLE_DEVICES, value: '{value}'}}]");
    let privileged =
        "securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /dev}]";
    let host = |path: &str| format!("volumes: [{{name: v, hostPath: {{path: {path}}}}}]");
    for (container, more, gpu, perhaps) in [
        (
            limits("nvidia.com/gpu"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (
            limits("nvidia.com/mig-1g.10gb"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (
            limits("volcano.sh/vgpu-number"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (
            limits("volcano.sh/vgpu-memory"),
            String::new(),
            Some(None),
            false,
        ),
        (
            "resources: {limits: {volcano.sh/vgpu-memory: 3000, volcano.sh/vgpu-number: 1}}"
                .to_owned(),
            String::new(),
            Some(Some(1)),
            false,
        ),
        (
            limits("deviceclass.resource.kubernetes.io/gpu.nvidia.com"),
            String::new(),
            Some(Some(2)),
            false,
        ),
        (limits("nvidia.com/pgpu"), String::new(), None, true),
        (limits("nvidia.com/GA102GL_A10"), String::new(), None, true),
        (limits("nvidia.com/hostdev"), String::new(), None, false),
        (
            "resources: {limits: {nvidia.com/pgpu: 0}}".to_owned(),
            String::new(),
            None,
            false,
        ),
        (limits("amd.com/gpu"), String::new(), None, false),
        (env("all"), String::new(), None, true),
        (env("0,1"), String::new(), None, true),
        (env("void"), String::new(), None, false),
        (env("none"), String::new(), None, false),
        (env(""), String::new(), None, false),
        (
            "env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
                .to_owned(),
            String::new(),
            None,
            true,
        ),
        (privileged.to_owned(), host("/dev"), None, true),
        (privileged.to_owned(), host("/dev/"), None, true),
        (privileged.to_owned(), host("/dev/nvidia0"), None, true),
        (privileged.to_owned(), host("/dev/sda"), None, false),
        (
            privileged.to_owned(),
            "volumes: [{name: v, emptyDir: {}}]".to_owned(),
            None,
            false,
        ),
        (
            privileged.replace("true", "false"),
            host("/dev"),
            None,
            false,
        ),
    ] {
        let text = pod(&container, &more);
        let (containers, _) = containers(&[&text]);
        let found = containers[0].gpu.as_ref().map(|it| it.count);
        assert_eq!(
            (found, containers[0].may_have_gpu),
            (gpu, perhaps),
            "{text}"
        );
        assert_eq!(
            containers[0].privileged,
            container.contains("privileged: true"),
            "{text}"
        );
        // What no node lists does not exclude nodes.
        assert!(
            !containers[0]
                .placement
                .resources
                .contains_key("volcano.sh/vgpu-memory")
        );
    }
}

/// What device plugins call their resources is near a known name, too.
#[test]
fn a_misspelled_name_means_a_known_one() {
    let misspelled = |name: &str| {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec: {{containers: [{{name: c, image: 'a/b:1', resources: {{limits: {{{name}: 1}}, requests: {{{name}: 1}}}}}}]}}\n"
        );
        let (found, _) = containers(&[&pod]);
        let found = &found[0].misspelled_gpus;
        let found = found.iter().map(|it| it.meant.clone());
        found.collect::<Vec<_>>().join(" ")
    };
    for name in [
        "nvidia.com/gpus",
        "nvidia.com/GPU",
        "Nvidia.com/gpu",
        "NVIDIA.COM/GPU",
        "nvidia.com/gpu-count",
        "nvidia/gpu",
        "nvidia.com.gpu",
        "nvida.com/gpu",
        "nvdia.com/gpu",
        "nvidia.co/gpu",
        "alpha.kubernetes.io/nvidia-gpu",
        "kubernetes.io/gpu",
    ] {
        assert_eq!(misspelled(name), "nvidia.com/gpu", "{name}");
    }
    assert_eq!(
        misspelled("volcano.com/vgpu-number"),
        "volcano.sh/vgpu-number"
    );
    for name in [
        "nvidia.com/mig-1g10gb",
        "nvidia.com/mig-1g-10gb",
        "nvidia.com/mig_1g.10gb",
        "nvidia.com/MIG-1g.10gb",
    ] {
        assert_eq!(misspelled(name), "nvidia.com/mig-1g.10gb", "{name}");
    }
    for name in [
        "nvidia.com/gpu",
        "nvidia.com/a100",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-1g.10gb.me",
        "nvidia.com/mig-1g.11gb",
        "nvidia.com/h100",
        "nvidia.com/H100",
        "nvidia.com/pgpu",
        "nvidia.com/vgpu",
        "nvidia.com/gpu-mem",
        "nvidia.com/gpumem",
        "nvidia.com/GH100_H100_PCIE",
        "nvidia.com/hostdev",
        "amd.com/gpu",
        "gpu.intel.com/i915",
        "aliyun.com/gpu-count",
        "birentech.com/gpu",
        "rdma/gpu",
        "cpu",
        "memory",
    ] {
        assert_eq!(misspelled(name), "", "{name}");
    }
}
