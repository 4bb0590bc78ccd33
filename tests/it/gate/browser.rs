//! The page for people in Chromium.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Image, file, registry};

use super::images::{create, deployment, image, pod, registry};
use super::page::texts::server_with;
use super::server::{Server, TOKEN};
use crate::browser::{hidden_widths, visit};

/// Phones, a tablet, a laptop: widths in CSS pixels.
const WINDOWS: [usize; 5] = [320, 360, 412, 768, 1280];

/// The address of a page, with a login as a person types it.
fn address(server: &Server, path: &str) -> String {
    let login = format!("https://ada:{TOKEN}@");
    format!("{}{path}", server.url.replace("https://", &login))
}

/// Nodes of which some have an old driver, and two namespaces that do not enforce.
const CONFIGURATION: &str = "
clusters:
  prod:
    nodes:
      - {name: h100, gpu: h100, driver: '570.86.10', labels: {pool: new}}
      - {name: a100-old, gpu: a100, driver: '470.82.01', labels: {pool: old}}
gate:
  mode: enforce
  break-glass: true
  namespaces: {dev: warn}
  exemptions: [{image: '*/team/*', namespace: legacy, reason: moves in March}]
  internal-hosts: [127.0.0.1]
";

/// A server that has decided about several objects, and reads an image.
fn used() -> ([registry::Server; 2], Server) {
    let registry = registry();
    let small = Image::new("team/image:1", &[&[file("etc/number", "7")]]);
    let content = registry::Content::of("v7", &[small], false);
    let slow = registry::Server::new(move |seen| {
        if seen.part().starts_with("blobs/") {
            // Longer than browsers take on a busy machine.
            std::thread::sleep(Duration::from_secs(120));
        }
        content.answer(seen)
    });
    let server = Server::new(CONFIGURATION);
    let send = |namespace: &str, name: &str, mut object: Value, pool: &str| {
        if !pool.is_empty() {
            object["spec"]["nodeSelector"] = json!({"pool": pool});
        }
        if name.starts_with("train-7d9f") {
            object["metadata"]["ownerReferences"] =
                json!([{"kind": "ReplicaSet", "name": "train-7d9f", "controller": true}]);
        }
        let mut review = create(&object);
        review["request"]["namespace"] = json!(namespace);
        review["request"]["name"] = json!(name);
        server.validate_read(&review);
    };
    let image = image(&registry);
    send("ml", "finetune", deployment(&image), "");
    send("dev", "notebook-ada", pod(&image), "old");
    send("legacy", "batch", pod(&image), "old");
    send("ml", "serve", pod(&image), "new");
    for at in 0..5 {
        send("ml", &format!("train-7d9f-{at}"), pod(&image), "old");
    }
    let mut broken = pod(&image);
    broken["metadata"]["annotations"] = json!({"imgcheck.io/break-glass": "outage 4711"});
    send("ml", "rescue", broken, "old");
    server.validate(&create(&pod(&format!("{}/team/image:v7", slow.address))));
    ([registry, slow], server)
}

/// Keeps a page for people to look at, if IMGCHECK_PAGES names a directory.
fn keep(name: &str, page: &str) {
    if let Some(directory) = std::env::var_os("IMGCHECK_PAGES") {
        std::fs::write(PathBuf::from(directory).join(format!("{name}.html")), page).unwrap();
    }
}

/// The report behind the first decision.
fn report(page: &str) -> String {
    let link = page.split("href=\"/reports/").last().unwrap();
    format!("/reports/{}", link.split('"').next().unwrap())
}

#[test]
fn a_browser_shows_the_pages_without_an_error_and_asks_for_nothing_else() {
    let (_registries, server) = used();
    let report = report(&server.get("/").text);
    let evil = "\"><script>console.log('said')</script><img src='http://example.invalid/x.png'>";
    let hostile = server_with(evil);
    for (server, path, words) in [
        (&server, "/", "fail · mode warn"),
        (&server, "/?verdict=denied", "deploy-no-node-class"),
        (&server, "/?verdict=unknown", "being read"),
        (&server, &*report, "Claimed and found"),
        (&server, "/reports/x", "No such report"),
        (&hostile, "/", "let through"),
    ] {
        let url = address(server, path);
        // The certificate is that of the test.
        let Some(visit) = visit(&url, &["--ignore-certificate-errors"]) else {
            return;
        };
        let others = visit.requests.iter();
        let others: Vec<&String> = others.filter(|it| !it.starts_with(&server.url)).collect();
        assert_eq!(others, Vec::<&String>::new(), "{path}");
        assert!(!visit.log.contains(":CONSOLE"), "{path}: {}", visit.log);
        assert!(visit.dom.contains(words), "{path}: {}", visit.dom);
        assert!(visit.dom.contains("</footer>"), "{path}: {}", visit.dom);
        assert_eq!(visit.dom.matches("<script").count(), 0, "{path}");
    }
}

#[test]
fn no_page_scrolls_sideways_on_a_phone() {
    let (_registries, server) = used();
    let used = server.get("/").text;
    let report = server.get(&report(&used)).text;
    let long = server_with(&"w".repeat(400)).get("/").text;
    for (name, page) in [
        ("used", used),
        ("long", long),
        ("report", report),
        ("message", server.get("/reports/x").text),
    ] {
        keep(&format!("gate-{name}"), &page);
        let Some(hidden) = hidden_widths(&page, &WINDOWS) else {
            return;
        };
        assert_eq!(hidden, [0; WINDOWS.len()], "{name}");
    }
    // Otherwise this would prove nothing.
    let wide = "<!doctype html><div style='width:500px'>x</div>";
    assert_eq!(hidden_widths(wide, &[360]).unwrap(), [148]);
}
