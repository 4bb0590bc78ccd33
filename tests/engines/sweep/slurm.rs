//! A cluster of Slurm: its daemons on this machine, two nodes, an array of eight tasks of which two run at a time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::fleet::Fleet;
use testkit::registry::{Content, Server, held};
use testkit::{Image, file};

use super::*;
use crate::slurm_cluster::Cluster;

const TASKS: usize = 8;

/// Sixteen images on two bases.
fn fleet() -> Fleet {
    let mut fleet = Fleet::default();
    for number in 0..16 {
        let lower = [file("etc/base", format!("base {}", number % 2))];
        let own = [file("srv/model", format!("model {number}"))];
        let image = Image::new("x", &[&lower, &own]);
        let content = Content::of("1", &[image], false);
        let repository = fleet
            .repositories
            .entry("team/train".to_owned())
            .or_default();
        repository
            .tags
            .insert(format!("v{number}"), content.tags["1"].clone());
        repository.blobs.extend(content.blobs);
    }
    fleet
}

/// The process of imgcheck that runs a task on this machine.
fn process(job: &str, task: &str) -> Option<i32> {
    let variables = [
        format!("SLURM_ARRAY_JOB_ID={job}"),
        format!("SLURM_ARRAY_TASK_ID={task}"),
    ];
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let program = fs::read_link(entry.path().join("exe")).ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let environment: Vec<&[u8]> = environment.split(|it| *it == 0).collect();
        let is_task = variables
            .iter()
            .all(|it| environment.contains(&it.as_bytes()));
        (is_task && program == Path::new(env!("CARGO_BIN_EXE_imgcheck"))).then_some(id)
    })
}

/// The script that imgcheck prints. Claims expire early, so that the test does not wait long for the task that is killed.
fn script(case: &Case) -> String {
    let shards = TASKS.to_string();
    let plan = case.path("plan");
    let words = [
        "--engine",
        "slurm",
        "--shards",
        &shards,
        "--plan",
        plan.to_str().unwrap(),
    ];
    let output = crate::program::imgcheck()
        .args(["sweep", "manifests", "--store", &case.store()])
        .args(words)
        .output()
        .unwrap();
    format!("{} --claim-expiry 4\n", text(&output.stdout).trim_end())
}

#[test]
fn an_array_with_a_drained_node_and_a_killed_task_reads_what_one_process_reads() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let content = fleet();
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&is_open);
    let server = Server::new(move |seen| match seen.path.split_once("/blobs/") {
        Some((_, digest)) => match content.repositories["team/train"].blobs.get(digest) {
            // Layers are held back until the node is drained and the task is killed. Configurations are not.
            Some(bytes) if bytes[0] != b'{' => held(Arc::clone(&gate), bytes),
            _ => content.answer(seen),
        },
        None => content.answer(seen),
    });
    let case = Case::new();
    case.plan(&[&format!("registry:{}", server.address)]);

    let job = cluster.submit(&script(&case), &case.path(""), "0-7%2");
    let processes = ["0", "1"].map(|task| wait_for("no task", || process(&job, task)));
    wait_for("no layer is asked for", || {
        (server.count("train/blobs") >= 2).then_some(())
    });
    let drained = cluster.node_of(&job, "1");
    cluster.control(&[
        "update",
        &format!("nodename={drained}"),
        "state=drain",
        "reason=test",
    ]);
    assert_eq!(cluster.running(&job), 2);
    testkit::tools::run("kill", &["-KILL", &processes[0].to_string()]);
    cluster.wait_for_state(&job, "0", "FAILED");
    cluster.control(&["requeue", &format!("{job}_0")]);
    is_open.store(true, Ordering::Relaxed);
    cluster.wait_until_empty();

    let tasks = cluster.tasks(&job);
    assert_eq!(tasks.len(), TASKS);
    for (task, fields) in &tasks {
        let printed = fs::read_to_string(case.path(&format!("task-{task}"))).unwrap();
        let shard = format!("shard {}/{TASKS}:", task.parse::<usize>().unwrap() + 1);
        assert_eq!(fields["JobState"], "COMPLETED", "{task}: {printed}");
        assert!(printed.contains(&shard), "{printed}");
        assert_eq!(fields["NodeList"] == drained, task == "1", "{fields:?}");
        assert_eq!(fields["Restarts"] == "1", task == "0", "{fields:?}");
    }
    let (records, code) = case.judge(&[]);
    assert_eq!(
        (statuses(&records), code),
        (BTreeMap::from([("judged", 16)]), 0)
    );
    assert!(case.objects("claim-").is_empty());
    assert_eq!((records, code), of_one_worker(&case));
}
