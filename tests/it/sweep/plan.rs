//! What a plan lists, and what it says about what it could not list.

use serde_json::json;
use testkit::fleet::Fleet;
use testkit::registry::{Server, error, respond, with};

use super::*;

type Fault = fn(&testkit::registry::Seen) -> testkit::registry::Answer;

fn source(server: &Server) -> String {
    format!("registry:{}", server.address)
}

#[test]
fn every_tag_of_every_repository_is_planned_and_every_image_asked_for_once() {
    for (page, links) in [(2, true), (2, false), (100, true), (3, false)] {
        let case = Case::new();
        let server = Fleet {
            page,
            links,
            ..fleet()
        }
        .serve();
        let (totals, code) = case.plan(&[&source(&server)]);
        assert_eq!(code, 0, "{page} {links}: {totals}");
        assert_eq!(
            (&totals["listed"], &totals["planned"]),
            (&json!(15), &json!(15))
        );
        assert_eq!(
            (&totals["images"], &totals["layers"]),
            (&json!(12), &json!(15))
        );
        assert_eq!(totals["complete"], true);
        let heads = server
            .seen()
            .into_iter()
            .filter(|it| it.method == "HEAD")
            .count();
        assert_eq!(heads, 15);
        let manifests = server.seen().into_iter();
        let manifests =
            manifests.filter(|it| it.method == "GET" && it.path.contains("/manifests/"));
        assert_eq!(manifests.count(), 12);
        // A second plan asks only which digests the tags have now.
        let before = server.seen().len();
        case.plan(&[&source(&server)]);
        let again = server.seen().split_off(before);
        assert!(again.iter().all(|it| it.method == "HEAD"
            || it.path.ends_with("list")
            || it.path.ends_with("_catalog")
            || it.path == "/v2/"));
    }
}

#[test]
fn a_list_that_cannot_be_read_to_its_end_makes_the_plan_incomplete() {
    let faults: [(&str, Fault); 4] = [
        ("again and again", |seen| {
            let answer = respond(200, json!({"tags": ["v0"]}).to_string());
            with(
                answer,
                "link",
                &format!("<{}?n=1&last=v0>; rel=\"next\"", seen.path),
            )
        }),
        ("did not send a list of names", |_| {
            respond(200, "<html>Log in</html>")
        }),
        ("500", |_| error(500, "UNKNOWN", "oh no")),
        ("429", |_| error(429, "TOOMANYREQUESTS", "slow down")),
    ];
    for (problem, fault) in faults {
        let case = Case::new();
        let fleet = fleet();
        let server = Server::new(move |seen| match seen.path.as_str() {
            "/v2/text/train/tags/list" if seen.before < 4 => fault(seen),
            _ => fleet.answer(seen),
        });
        let output = case
            .sweep(&["plan", "-o", "plan", &source(&server)])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{problem}");
        let printed = text(&output.stdout);
        assert!(
            printed.contains("INCOMPLETE") && printed.contains(problem),
            "{problem}: {printed}"
        );
        // The other lists are planned, and judging says that something is missing.
        assert!(printed.contains("text/train"), "{printed}");
        case.run(&[]);
        let (records, code) = case.judge(&[]);
        assert_eq!(code, 3);
        assert!(records.len() >= 10);
    }
}

#[test]
fn a_repository_without_tags_lacks_nothing() {
    let case = Case::new();
    let fleet = fleet();
    let server = Server::new(move |seen| match seen.path.as_str() {
        "/v2/text/train/tags/list" => {
            error(404, "NAME_UNKNOWN", "repository name not known to registry")
        }
        _ => fleet.answer(seen),
    });
    let (totals, code) = case.plan(&[&source(&server)]);
    assert_eq!((&totals["listed"], code), (&json!(10), 0), "{totals}");
}

#[test]
fn an_incomplete_plan_is_resumed_without_asking_again() {
    let case = Case::new();
    let content = fleet();
    let server = Server::new(move |seen| match seen.path.as_str() {
        "/v2/text/train/tags/list" if seen.before == 0 => error(500, "UNKNOWN", "oh no"),
        _ => content.answer(seen),
    });
    let (totals, code) = case.plan(&[&source(&server)]);
    assert_eq!((totals["planned"].as_u64(), code), (Some(10), 3));
    let before = server.seen().len();
    let (totals, code) = case.plan(&[&source(&server), "--resume", "plan"]);
    assert_eq!((totals["planned"].as_u64(), code), (Some(15), 0));
    let asked = server.seen().split_off(before);
    let heads: Vec<_> = asked.iter().filter(|it| it.method == "HEAD").collect();
    assert_eq!(heads.len(), 5);
    assert!(
        heads
            .iter()
            .all(|it| it.path.starts_with("/v2/text/train/"))
    );
}

#[test]
fn what_is_no_image_or_has_vanished_is_skipped_with_its_reason() {
    let case = Case::new();
    let mut content = fleet();
    let chart = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": testkit::sha256(b"{}"), "size": 2},
        "layers": []});
    let charts = content
        .repositories
        .entry("charts/train".to_owned())
        .or_default();
    charts.tag("1", chart.to_string());
    charts.tag(
        "sha256-0000000000000000000000000000000000000000000000000000000000000000.sig",
        "{}",
    );
    let server = Server::new(move |seen| match seen.path.as_str() {
        "/v2/audio/train/manifests/v2" => error(404, "MANIFEST_UNKNOWN", "manifest unknown"),
        _ => content.answer(seen),
    });
    let (totals, code) = case.plan(&[&source(&server)]);
    assert_eq!(
        (totals["listed"].as_u64(), totals["planned"].as_u64()),
        (Some(16), Some(14))
    );
    assert_eq!(totals["skipped"]["not-found"], 1, "{totals}");
    assert_eq!(totals["skipped"].as_object().unwrap().len(), 2, "{totals}");
    assert_eq!((totals["filtered"].as_u64(), code), (Some(1), 0));
    // Nothing is lost: they are records.
    case.run(&[]);
    let (records, code) = case.judge(&[]);
    assert_eq!(code, 0);
    let skipped = records.iter().filter(|it| it["status"] == "skipped");
    assert_eq!((records.len(), skipped.count()), (16, 2));
}

#[test]
fn filters_leave_out_what_they_say() {
    let case = Case::new();
    let server = fleet().serve();
    let source = source(&server);
    let planned = |arguments: &[&str]| {
        let (totals, _) = case.plan(&[&[source.as_str()], arguments].concat());
        let count = |key: &str| totals[key].as_u64().unwrap();
        (count("planned"), count("filtered"))
    };
    assert_eq!(planned(&["--include", "*/vision/*"]), (5, 10));
    assert_eq!(
        planned(&["--exclude", "*:latest", "--exclude", "*/text/*"]),
        (8, 7)
    );
    assert_eq!(planned(&["--tag", "v1", "--tag", "v2"]), (6, 9));
    let prefixed = format!("{source}/audio");
    let (totals, _) = case.plan(&[&prefixed]);
    assert_eq!(totals["listed"], 5);
}

#[test]
fn lists_pods_and_directories_are_sources() {
    let case = Case::new();
    let server = fleet().serve();
    let address = &server.address;
    write(
        &case,
        "images.txt",
        &format!(
            "# ours\ndocker://{address}/text/train:v0 text/train:v9\n{address}/text/train:v1\n"
        ),
    );
    let digest = fleet().repositories["vision/train"].tags["v2"].clone();
    let pod = json!({"spec": {"containers": [{"name": "c", "image": format!("{address}/vision/train:v1")}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "imageID": format!("{address}/vision/train@{digest}")}]}});
    write(
        &case,
        "pods.json",
        &json!({"items": [pod, pod]}).to_string(),
    );
    let samples = crate::program::repository("testdata/sample");
    let (totals, code) = case.plan(&["images.txt", "pods:pods.json", samples.to_str().unwrap()]);
    assert_eq!((totals["listed"].as_u64(), code), (Some(5), 0), "{totals}");
    assert_eq!(case.run(&[]).status.code(), Some(0));
    let (records, _) = case.judge(&[]);
    let of = |name: &str| {
        records
            .iter()
            .find(|it| it["reference"].as_str().unwrap().contains(name))
            .unwrap()
    };
    assert_eq!(of("text/train:v9")["status"], "judged");
    // What runs counts, not what the tag is now.
    assert_eq!(of("vision/train:v1")["digest"], digest);
    assert_eq!(of("vision/train:v1")["pods"], 2);
    assert_eq!(of("pytorch-cuda:v2.9")["verdict"], "fail");
    let (totals, _) = case.plan(&["images.txt", "pods:pods.json", samples.to_str().unwrap()]);
    assert_eq!(totals["missing_layers"], 0, "{totals}");
}

/// Somebody named the image, unlike a tag that a registry listed and that has vanished since.
#[test]
fn a_mistyped_tag_of_a_list_is_missing() {
    let case = Case::new();
    let server = fleet().serve();
    let address = &server.address;
    let list = format!("{address}/text/train:v0\n{address}/text/train:v00\na:b:c\n");
    write(&case, "images.txt", &list);
    let output = case.sweep(&["plan", "-o", "plan", "images.txt"]).output();
    let output = output.unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(printed.contains("1 not found\n"), "{printed}");
    assert!(printed.contains("1 not a valid reference\n"), "{printed}");
    assert!(
        printed.contains(&format!("MISSING  {address}/text/train:v00: ")),
        "{printed}"
    );
    assert_eq!(case.run(&[]).status.code(), Some(0));
    let (records, code) = case.judge(&[]);
    assert_eq!((records.len(), code), (3, 3));
}
