//! A registry without faults: which requests are sent, and which are not.

use serde_json::json;

use super::run::{Run, alike, check, image, report_of_layout};
use testkit::Image;
use testkit::registry::{Content, Server, error};

#[test]
fn the_report_equals_that_of_the_layout() {
    let content = Content::of("1", &[image()], false);
    let digest = content.tags["1"].clone();
    let server = content.serve();
    let report = check(&server.reference("1")).report();
    assert_eq!(alike(&report), alike(&report_of_layout(&[image()])));
    let found = &report["images"][0];
    assert_eq!(found["source"], "registry");
    assert_eq!(found["digest"], digest);
    assert_eq!(
        found["reference"],
        format!("{}/team/image:1", server.address)
    );
    for seen in server.seen() {
        let version = concat!("imgcheck/", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            (seen.method.as_str(), seen.user_agent.as_str()),
            ("GET", version)
        );
    }
}

#[test]
fn only_the_selected_platform_of_an_index_is_fetched() {
    let other = Image {
        architecture: "s390x".to_owned(),
        ..Image::new("team/image:1", &[&[]])
    };
    let amd64 = image();
    let server = Content::of("1", &[amd64, other], true).serve();
    let run = Run::new(&server.reference("1"));
    let report = run.arg("--platform").arg("linux/amd64").go().report();
    assert_eq!(report["images"][0]["platform"], "linux/amd64");
    // The index and a manifest; a config and two layers.
    assert_eq!((server.count("manifests"), server.count("blobs")), (2, 3));

    let run = Run::new(&server.reference("1"));
    let report = run.arg("--all-platforms").go().report();
    assert_eq!(report["images"].as_array().unwrap().len(), 2);

    let run = Run::new(&server.reference("1"));
    let outcome = run.arg("--platform").arg("linux/riscv64").go();
    outcome.fails_with(&["no image for linux/riscv64; available: linux/amd64, linux/s390x"]);
}

#[test]
fn an_image_can_be_named_by_digest() {
    let content = Content::of("1", &[image()], false);
    let digest = content.tags["1"].clone();
    let server = content.serve();
    for reference in [
        format!("docker://{}/team/image@{digest}", server.address),
        format!("registry:{}/team/image:other@{digest}", server.address),
    ] {
        assert_eq!(check(&reference).report()["images"][0]["digest"], digest);
    }
    let nothing = format!("sha256:{}", "0".repeat(64));
    let reference = format!("docker://{}/team/image@{nothing}", server.address);
    check(&reference).fails_with(&["has no manifest with this digest", "help: "]);
    let unverifiable = format!("sha512:{}", "0".repeat(128));
    let reference = format!("docker://{}/team/image@{unverifiable}", server.address);
    check(&reference).fails_with(&["only sha256 digests are supported"]);
}

#[test]
fn docker_media_types_are_supported() {
    let mut content = Content::of("1", &[image()], false);
    let mut manifest = content.manifest("1");
    let docker = "application/vnd.docker";
    manifest["mediaType"] = json!(format!("{docker}.distribution.manifest.v2+json"));
    manifest["config"]["mediaType"] = json!(format!("{docker}.container.image.v1+json"));
    for layer in manifest["layers"].as_array_mut().unwrap() {
        layer["mediaType"] = json!(format!("{docker}.image.rootfs.diff.tar.gzip"));
    }
    let text = manifest.to_string();
    let length = text.len();
    let digest = content.tag("2", text);
    let platform = json!({"os": "linux", "architecture": "amd64"});
    let media_type = format!("{docker}.distribution.manifest.v2+json");
    let entry =
        json!({"mediaType": media_type, "digest": digest, "size": length, "platform": platform});
    content.tag(
        "list",
        json!({"schemaVersion": 2, "manifests": [entry]}).to_string(),
    );
    let server = content.serve();
    for tag in ["2", "list"] {
        let report = check(&server.reference(tag)).report();
        assert_eq!(report["images"][0]["digest"], digest, "{tag}");
    }
}

#[test]
fn mirrors_are_tried_first() {
    let mirror = Content::of("1", &[image()], false);
    let path = "/v2/hub/team/image/";
    let mirror = Server::new(move |seen| {
        let mut seen = seen.clone();
        seen.path = seen.path.replace(path, "/v2/team/image/");
        mirror.answer(&seen)
    });
    let option = format!("registry.invalid=http://{}/hub", mirror.address);
    let run = Run::new("docker://registry.invalid/team/image:1").arg("--mirror");
    let report = run.arg(option).go().report();
    assert_eq!(
        report["images"][0]["reference"],
        "registry.invalid/team/image:1"
    );
    assert!(mirror.seen().iter().all(|seen| seen.path.starts_with(path)));
}

#[test]
fn a_mirror_without_the_image_costs_one_request() {
    let mirror = Server::new(|_| error(404, "MANIFEST_UNKNOWN", "not here"));
    let server = Content::of("1", &[image()], false).serve();
    let option = format!("{}={}", server.address, mirror.address);
    let run = Run::new(&server.reference("1")).env("IMGCHECK_MIRROR", &option);
    run.go().report();
    assert_eq!(mirror.count("manifests"), 1);
    let run = Run::new(&server.reference("2")).env("IMGCHECK_MIRROR", option);
    run.go().fails_with(&[
        &format!("{} answered 404", mirror.address),
        "then tag not found: the repository has no tag `2`",
        &format!("{} answered 404", server.address),
        "the nearest tags are 1",
    ]);
}

#[test]
fn the_proxy_of_the_environment_is_used() {
    let content = Content::of("1", &[image()], false);
    let proxy = Server::new(move |seen| content.answer(seen));
    let url = format!("http://{}", proxy.address);
    let run = Run::new("docker://registry.invalid/team/image:1").arg("--insecure");
    run.env("HTTP_PROXY", &url).go().report();
    let mut targets = proxy.seen().into_iter().map(|seen| seen.target);
    assert!(targets.all(|target| target.starts_with("http://registry.invalid/v2/")));

    let run = Run::new("docker://registry.invalid/team/image:1").arg("--insecure");
    let run = run
        .env("HTTP_PROXY", url)
        .env("NO_PROXY", "registry.invalid");
    run.go().fails_with(&["registry.invalid cannot be reached"]);
}

#[test]
fn cached_documents_and_layers_are_not_fetched_again() {
    let content = Content::of("1", &[image()], false);
    let digest = content.tags["1"].clone();
    let server = content.serve();
    let cache = tempfile::tempdir().unwrap();
    let run = |reference: &str| {
        let run = Run::new(reference).env("XDG_CACHE_HOME", cache.path());
        run.go().report()
    };
    let first = run(&server.reference("1"));
    let requests = server.seen().len();
    let second = run(&server.reference("1"));
    let later: Vec<String> = server.seen()[requests..]
        .iter()
        .map(|seen| seen.path.clone())
        .filter(|path| path != "/v2/")
        .collect();
    assert_eq!(later, ["/v2/team/image/manifests/1"]);
    assert_eq!(first["images"][0]["layers"][1]["cached"], false);
    assert_eq!(second["images"][0]["layers"][1]["cached"], true);

    let requests = server.seen().len();
    run(&format!("docker://{}/team/image@{digest}", server.address));
    assert_eq!(server.seen().len(), requests);
}
