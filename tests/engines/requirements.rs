//! What an image needs of a machine, as those understand it who select machines.

use std::fs;

use serde_json::Value;
use testkit::kubernetes::Kubernetes;

use crate::program::{imgcheck, repository};
use crate::slurm_cluster::Cluster;

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

#[test]
fn slurm_selects_a_node_whose_gpu_runs_the_image() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    // The first node is the one that a job gets without a constraint.
    for (first, second, expected) in [
        ("k80", "icelake,h100", "two"),
        ("RTX6000Ada,ib", "k80", "one"),
        ("gh200", "sm_90", "two"),
    ] {
        for (node, features) in [("one", first), ("two", second)] {
            let node = format!("NodeName={node}");
            let features = ["Available", "Active"].map(|it| format!("{it}Features={features}"));
            cluster.control(&["update", &node, &features[0], &features[1]]);
        }
        let options = options(&cluster.features()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let script = format!("#!/bin/sh\n{options}echo $SLURMD_NODENAME\n");
        cluster.submit(&script, directory.path(), "0");
        cluster.wait_until_empty();
        let node = fs::read_to_string(directory.path().join("task-0")).unwrap();
        assert_eq!(node.trim(), expected, "{options}");
    }
    let refused = options("k80,ib").unwrap_err();
    assert!(refused.contains("no feature of the nodes"), "{refused}");
}

#[test]
fn the_api_server_accepts_the_affinity() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    let output = imgcheck()
        .args(["requirements", "-f", "kubernetes"])
        .arg(repository(SAMPLE))
        .output()
        .unwrap();
    let affinity = String::from_utf8(output.stdout).unwrap();
    let affinity = affinity.replace('\n', "\n  ");
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec:\n  {affinity}\n  containers: [{{name: c, image: 'a/b:1'}}]\n"
    );
    let create = "create --dry-run=server --validate=false -o json -f -";
    let create: Vec<&str> = create.split(' ').collect();
    let created = server.kubectl(&create, &pod);
    let error = String::from_utf8_lossy(&created.stderr);
    assert!(created.status.success(), "{error}\n{pod}");
    let stored: Value = serde_json::from_slice(&created.stdout).unwrap();
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let terms = &stored.pointer(required).unwrap()["nodeSelectorTerms"];
    assert!(terms.as_array().unwrap().len() > 5, "{terms}");
}

/// What the sample needs, with these features of nodes; what is printed instead.
fn options(features: &str) -> Result<String, String> {
    let output = imgcheck()
        .args(["requirements", "-f", "slurm", "--features", features])
        .arg(repository(SAMPLE))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    }
}
