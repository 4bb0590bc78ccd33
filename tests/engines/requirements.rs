//! What an image needs of a machine, as those understand it who select machines.

use std::fs;

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
