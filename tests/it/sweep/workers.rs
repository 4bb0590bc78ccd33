//! Workers share a store: nothing is lost, and nothing is read twice at once.

use std::thread;
use std::time::{Duration, Instant};

use testkit::registry::{Server, broken, error, trickle};

use super::*;

#[test]
fn what_the_store_has_is_not_read_again() {
    let case = Case::new();
    let server = fleet().serve();
    case.plan(&[&format!("registry:{}", server.address)]);
    let output = case.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("read 15 layers"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(
        (case.objects("facts-").len(), case.objects("image-").len()),
        (15, 12)
    );
    assert!(case.objects("claim-").is_empty() && case.objects("probe-").is_empty());
    let before = server.seen().len();
    let output = case.run(&[]);
    assert!(text(&output.stdout).contains("read 0 layers"));
    assert_eq!(server.seen().len(), before);
    // What somebody removed is read again.
    let lost = case.objects("facts-").pop().unwrap();
    std::fs::remove_file(case.path("store").join(lost)).unwrap();
    assert!(text(&case.run(&[]).stdout).contains("read 1 layers"));
}

#[test]
fn any_number_of_shards_reads_each_layer_once() {
    for shards in [1, 2, 4, 8] {
        let case = Case::new();
        let server = fleet().serve();
        case.plan(&[&format!("registry:{}", server.address)]);
        let workers: Vec<_> = (1..=shards)
            .map(|shard| worker(&case, &["--shard", &format!("{shard}/{shards}")]))
            .collect();
        for worker in workers {
            let output = worker.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        let twice: Vec<_> = layer_requests(&server)
            .into_iter()
            .filter(|(_, count)| *count != 1)
            .collect();
        assert!(twice.is_empty(), "{shards}: {twice:?}");
        let (records, code) = case.judge(&[]);
        assert_eq!((records.len(), code), (15, 0));
        assert!(records.iter().all(|it| it["status"] == "judged"));
    }
}

/// How often each layer was asked for; configurations are documents.
fn layer_requests(server: &Server) -> std::collections::BTreeMap<String, usize> {
    let fleet = fleet();
    let mut counts = blob_requests(server);
    let layers: Vec<String> = fleet
        .repositories
        .iter()
        .flat_map(|(name, content)| {
            content
                .tags
                .keys()
                .flat_map(|tag| layers_of(&fleet, name, tag))
                .collect::<Vec<_>>()
        })
        .collect();
    counts.retain(|digest, _| layers.contains(digest));
    counts
}

#[test]
fn a_worker_that_dies_is_replaced_after_its_claim_expired() {
    let case = Case::new();
    let content = fleet();
    let stuck = layers_of(&content, "text/train", "v2").pop().unwrap();
    let blocked = stuck.clone();
    let server = Server::new(move |seen| {
        let is_stuck = seen.path.ends_with(&blocked) && seen.before == 0;
        match is_stuck {
            true => trickle(1 << 20, Duration::from_secs(60)),
            false => content.answer(seen),
        }
    });
    case.plan(&[&format!("registry:{}", server.address)]);
    let expiry = ["--claim-expiry", "4"];
    let mut first = worker(&case, &expiry);
    let patience = Instant::now() + Duration::from_secs(30);
    while !blob_requests(&server).contains_key(&stuck) {
        assert!(Instant::now() < patience, "the layer was never asked for");
        thread::sleep(Duration::from_millis(20));
    }
    let others = [worker(&case, &expiry), worker(&case, &expiry)];
    thread::sleep(Duration::from_millis(500));
    first.kill().unwrap();
    first.wait().unwrap();
    for other in others {
        let output = other.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    for (digest, count) in layer_requests(&server) {
        assert_eq!(count, if digest == stuck { 2 } else { 1 }, "{digest}");
    }
    let (records, code) = case.judge(&[]);
    assert_eq!((records.len(), code), (15, 0));
    assert!(case.objects("claim-").is_empty());
}

#[test]
fn a_worker_that_is_stopped_keeps_what_it_has_read() {
    let case = Case::new();
    let content = fleet();
    let stuck = layers_of(&content, "text/train", "v2").pop().unwrap();
    let blocked = stuck.clone();
    let server = Server::new(move |seen| match seen.path.ends_with(&blocked) {
        true if seen.before == 0 => trickle(1 << 20, Duration::from_secs(60)),
        _ => content.answer(seen),
    });
    case.plan(&[&format!("registry:{}", server.address)]);
    let stopped = worker(&case, &[]);
    let patience = Instant::now() + Duration::from_secs(30);
    while case.objects("facts-").len() < 14 {
        assert!(
            Instant::now() < patience,
            "only {:?}",
            case.objects("facts-")
        );
        thread::sleep(Duration::from_millis(20));
    }
    testkit::tools::run("kill", &["-TERM", &stopped.id().to_string()]);
    let output = stopped.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert_eq!(case.objects("claim-"), [""; 0]);
    let output = case.run(&[]);
    assert!(
        text(&output.stdout).contains("read 1 layers"),
        "{}",
        text(&output.stdout)
    );
}

/// An image whose manifest says another size of its last layer.
fn resize(fleet: &mut Fleet, repository: &str, tag: &str, by: i64) {
    let content = fleet.repositories.get_mut(repository).unwrap();
    let mut manifest = content.manifest(tag);
    let size = &mut manifest["layers"][1]["size"];
    *size = (size.as_i64().unwrap() + by).into();
    content.tag(tag, manifest.to_string());
}

#[test]
fn an_image_that_cannot_be_read_is_a_record_and_the_others_are_judged() {
    let case = Case::new();
    let mut content = fleet();
    resize(&mut content, "audio/train", "v1", -1);
    resize(&mut content, "audio/train", "v2", 1);
    let last = |repository: &str, tag: &str| layers_of(&content, repository, tag).pop().unwrap();
    let (damaged, vanished) = (last("text/train", "v1"), last("vision/train", "v0"));
    let dropped = last("audio/train", "v0");
    let bytes = content.repositories["audio/train"].blobs[&dropped].clone();
    let server = Server::new(move |seen| match &seen.path {
        path if path.ends_with(&damaged) => testkit::registry::respond(200, "not a layer"),
        path if path.ends_with(&vanished) => error(404, "BLOB_UNKNOWN", "blob unknown"),
        path if path.ends_with(&dropped) => broken(&bytes[..bytes.len() / 2], bytes.len()),
        _ => content.answer(seen),
    });
    case.plan(&[&format!("registry:{}", server.address)]);
    let output = case.run(&[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stdout).contains("5 failed"),
        "{}",
        text(&output.stdout)
    );
    let errors = text(&output.stderr);
    for name in ["audio/train:v1)", "text/train:v1)", "vision/train:v0)"] {
        assert!(errors.contains(name), "{errors}");
    }
    let (records, code) = case.judge(&[]);
    let of_layer = |it: &&Value| {
        it["message"]
            .to_string()
            .contains("a layer of this image: ")
    };
    assert!(records.iter().any(|it| of_layer(&it)), "{records:#?}");
    assert_eq!((records.len(), code), (15, 3));
    let failed = records.iter().filter(|it| it["status"] == "failed");
    let mut codes: Vec<String> = failed
        .map(|it| {
            let reference = it["reference"].as_str().unwrap();
            let (_, name) = reference.split_once('/').unwrap();
            format!("{name} {}", it["code"].as_str().unwrap())
        })
        .collect();
    codes.sort();
    assert_eq!(
        codes,
        [
            "audio/train:v0 unreachable",
            "audio/train:v1 damaged",
            "audio/train:v2 damaged",
            "text/train:v1 damaged",
            "vision/train:v0 not-found",
        ]
    );
    assert!(records.iter().filter(|it| it["status"] == "judged").count() == 10);
}

#[test]
fn engines_say_which_shard_to_read() {
    let case = Case::new();
    let server = fleet().serve();
    case.plan(&[&format!("registry:{}", server.address)]);
    let run = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = case.sweep(&[&["run", "plan"], arguments].concat());
        let output = command.envs(environment.iter().copied()).output().unwrap();
        text(&output.stdout) + &text(&output.stderr)
    };
    let kubernetes = [("JOB_COMPLETION_INDEX", "0")];
    assert!(run(&["--shards", "3"], &kubernetes).starts_with("shard 1/3:"));
    assert!(run(&[], &kubernetes).contains("--shards N"));
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_MIN", "3"),
        ("SLURM_ARRAY_TASK_COUNT", "4"),
    ];
    assert!(run(&[], &slurm).starts_with("shard 3/4:"));
    assert!(run(&["--shard", "2/2"], &slurm).starts_with("shard 2/2:"));
    assert!(run(&["--shards", "3"], &[]).contains("--shard I/N"));
}
