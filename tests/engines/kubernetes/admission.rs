//! The gate as a webhook of a real API server, over TLS. Kubernetes 1.20 ignores `matchConditions`: all Pods reach the gate.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::Scene;
use super::{images, node};
use crate::gate_server::{Home, PATIENCE, Server};

#[test]
fn namespaces_audit_warn_and_enforce() {
    let Some(scene) = Scene::new(|_| {}) else {
        return;
    };
    // The first request finds nothing read, and has it read.
    let (accepted, text) = scene.create_read("enforce", &scene.pod("p"), &[]);
    assert!(!accepted, "{text}");
    // This server knows no conditions, and asks by both webhooks for Pods.
    assert!(text.contains("-pods.imgcheck.io\" denied"), "{text}");
    assert!(text.contains("470.82.01"), "{text}");
    let (accepted, text) = scene.create("warn", &scene.pod("p"), &[]);
    assert!(
        accepted && text.contains("Warning: imgcheck: trainer"),
        "{text}"
    );
    let (accepted, text) = scene.create("audit", &scene.pod("p"), &[]);
    assert!(accepted && !text.contains("Warning: imgcheck"), "{text}");
    // Whoever applies a Deployment is warned of what its Pods will meet.
    let deployment = images::deployment(&images::image(&scene.registry));
    let mut deployment = deployment;
    deployment["spec"]["selector"] = json!({"matchLabels": {"app": "x"}});
    deployment["spec"]["template"]["metadata"] = json!({"labels": {"app": "x"}});
    let (accepted, text) = scene.create("enforce", &deployment, &[]);
    assert!(accepted && text.contains("Warning: imgcheck"), "{text}");
    let log = scene.cluster.audit();
    let audited = |namespace: &str, key: &str| {
        let key = format!("gpu-pods.imgcheck.io/{key}");
        log.iter().any(|it| {
            it["objectRef"]["namespace"] == namespace && it["annotations"].get(&key).is_some()
        })
    };
    for namespace in ["audit", "warn", "enforce"] {
        for key in ["verdict", "mode", "digest", "rules", "classes"] {
            assert!(audited(namespace, key), "{namespace} {key}");
        }
    }
    // A node on which it runs: the watch tells the gate, and Pods are let in.
    scene
        .cluster
        .apply(&node("new", "NVIDIA-H100-80GB-HBM3", "570.124.06"));
    let start = Instant::now();
    while !scene.create("enforce", &scene.pod("q"), &[]).0 {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// `deploy/probe.yaml` says whether the API server reaches the gate, in every mode.
#[test]
fn a_probe_is_answered_in_every_mode() {
    let Some(scene) = Scene::new(|_| {}) else {
        return;
    };
    let text = fs::read_to_string(crate::program::repository("deploy/probe.yaml")).unwrap();
    let probe: Value = serde_saphyr::from_str(&text).unwrap();
    let dry = |scene: &Scene, mode: &str| scene.create(mode, &probe, &["--dry-run=server"]);
    for mode in ["audit", "warn", "enforce"] {
        let (accepted, text) = dry(&scene, mode);
        let says = format!("answers; the mode of namespace {mode} is {mode}");
        assert!(
            accepted && text.contains("Warning: imgcheck: imgcheck ") && text.contains(&says),
            "{text}"
        );
    }
    // Only a dry run is a probe: the annotation lets nothing start.
    let (accepted, text) = scene.create("enforce", &probe, &[]);
    assert!(!accepted, "{text}");
    scene.gate.signal("KILL");
    scene.point_webhooks(&scene.gate.url, "Ignore", &scene.authority());
    let (accepted, text) = dry(&scene, "audit");
    assert!(accepted && !text.contains("imgcheck"), "{text}");
}

#[test]
fn a_dry_run_is_answered_and_leaves_nothing_behind() {
    let Some(scene) = Scene::new(|_| {}) else {
        return;
    };
    let dry = |namespace: &str| {
        let pod = scene.pod("dry");
        scene.create(namespace, &pod, &["--dry-run=server"])
    };
    // Nobody has read the image, and a dry run does not have it read.
    let blobs = || {
        let seen = scene.registry.seen();
        seen.iter().filter(|it| it.path.contains("/blobs/")).count()
    };
    for _ in 0..2 {
        let (accepted, text) = dry("enforce");
        assert!(!accepted && text.contains("was not read yet"), "{text}");
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(blobs(), 0);
    }
    scene.create_read("enforce", &scene.pod("p"), &[]);
    assert!(blobs() > 0);
    let (accepted, text) = dry("enforce");
    assert!(!accepted && text.contains("470.82.01"), "{text}");
    let (accepted, text) = dry("warn");
    assert!(accepted && text.contains("Warning: imgcheck"), "{text}");
    let stored = scene.cluster.json(&["get", "pods", "-n", "warn"]);
    assert_eq!(stored["items"], json!([]));
}

#[test]
fn a_gate_that_is_away_stops_what_fails_closed_and_nothing_else() {
    let Some(scene) = Scene::new(|_| {}) else {
        return;
    };
    let authority = scene.authority();
    let point = |url: &str, policy: &str| scene.point_webhooks(url, policy, &authority);
    // Nobody listens there.
    let gone = "https://127.0.0.1:9";
    point(gone, "Fail");
    let (accepted, text) = scene.create("enforce", &scene.pod("p"), &[]);
    assert!(
        !accepted && text.contains("failed calling webhook"),
        "{text}"
    );
    point(gone, "Ignore");
    let (accepted, text) = scene.create("enforce", &scene.pod("p"), &[]);
    assert!(accepted, "{text}");
    // Somebody accepts, and never answers: the time of the webhook passes, and no more.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    let late = |name: &str| {
        let start = Instant::now();
        let (accepted, text) = scene.create("enforce", &scene.pod(name), &[]);
        let passed = start.elapsed();
        assert!((2..15).contains(&passed.as_secs()), "{passed:?}");
        (accepted, text)
    };
    point(&url, "Fail");
    let (accepted, text) = late("q");
    assert!(
        !accepted && text.contains("failed calling webhook"),
        "{text}"
    );
    point(&url, "Ignore");
    let (accepted, text) = late("q");
    assert!(accepted, "{text}");
    // The gate hangs after the API server has connected to it.
    point(&scene.gate.url, "Fail");
    let (accepted, text) = scene.create_read("enforce", &scene.pod("r"), &[]);
    assert!(!accepted && text.contains("470.82.01"), "{text}");
    scene.gate.signal("STOP");
    let (accepted, text) = late("r");
    assert!(
        !accepted && text.contains("failed calling webhook"),
        "{text}"
    );
    point(&scene.gate.url, "Ignore");
    let (accepted, text) = late("r");
    assert!(accepted, "{text}");
    scene.gate.signal("CONT");
    let (accepted, text) = scene.create_read("enforce", &scene.pod("s"), &[]);
    assert!(!accepted && text.contains("470.82.01"), "{text}");
    // The namespace of the gate, and the one of the cluster, are never matched.
    point(gone, "Fail");
    for namespace in ["imgcheck", "kube-system"] {
        let label = format!("kubernetes.io/metadata.name={namespace}");
        // Kubernetes has this label since 1.21.
        let _ = scene.cluster.kubectl(
            &["label", "--overwrite", "namespace", namespace, &label],
            "",
        );
        let (accepted, text) = scene.create(namespace, &scene.pod("p"), &[]);
        assert!(accepted, "{namespace}: {text}");
    }
}

#[test]
fn certificates_are_replaced_while_requests_run() {
    let Some(scene) = Scene::new(|_| {}) else {
        return;
    };
    scene.create_read("enforce", &scene.pod("p"), &[]);
    let old = scene.authority();
    let new = Home::new("");
    let read = |name: &str| fs::read_to_string(new.path(name)).unwrap();
    let point = |authorities: &str| scene.point_webhooks(&scene.gate.url, "Fail", authorities);
    let is_over = AtomicBool::new(false);
    // Each round creates many Pods, and each Pod is a request to the gate.
    let rounds = &|writer: usize| {
        let (mut created, start) = (0, Instant::now());
        for round in 0.. {
            if is_over.load(Ordering::Relaxed) || start.elapsed() > 2 * PATIENCE {
                break;
            }
            let names = (0..PODS).map(|at| format!("p-{writer}-{round}-{at}"));
            let pods: Vec<Value> = names.map(|it| scene.pod(&it)).collect();
            let (accepted, text) = scene.create_all("warn", pods);
            assert!(accepted, "{text}");
            created += PODS;
        }
        created
    };
    let created: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2).map(|it| scope.spawn(move || rounds(it))).collect();
        // First the new authority beside the old one, then the new certificate, then the new authority alone.
        point(&format!("{old}{}", read("tls.crt")));
        scene.home.write("tls.key", &read("tls.key"));
        scene.home.write("tls.crt", &read("tls.crt"));
        let reloaded = |it: &Server| {
            let read = it.logged("read again");
            read.iter().any(|it| it["file"] == "certificate")
        };
        scene.gate.wait_for("the new certificate", reloaded);
        point(&read("tls.crt"));
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert!(created >= 4 * PODS, "{created}");
    assert!(scene.gate.logged("admission").len() >= created);
    // The API server verifies: another authority does not vouch for the certificate. For the old one, it may still have a connection.
    let other = Home::new("");
    point(&fs::read_to_string(other.path("tls.crt")).unwrap());
    let (accepted, text) = scene.create("warn", &scene.pod("after"), &[]);
    assert!(!accepted && text.contains("x509"), "{text}");
}

/// Pods that are created at once.
const PODS: usize = 20;
