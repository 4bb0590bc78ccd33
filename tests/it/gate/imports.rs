//! What the containers of a Pod import.

use serde_json::json;
use testkit::registry::Content;

use super::images::{ENFORCE, create, pod};
use super::server::Server;
use crate::imports_of_command::programs;

/// The sources are read for what the Pod starts, and not only for the command of the image.
#[test]
fn what_another_command_imports_is_judged() {
    let content = Content::of("v7", &[programs("good.py")], false);
    let (registry, server) = (content.serve(), Server::new(ENFORCE));
    let image = format!("{}/team/image:v7", registry.address);
    let started = |command: &[&str]| {
        let mut pod = pod(&image);
        pod["spec"]["containers"][0]["command"] = json!(command);
        create(&pod)
    };
    let good = server.validate_read(&started(&["python3", "/app/good.py"]));
    assert_eq!(good["allowed"], true, "{good}");
    let bad = server.validate(&started(&["python3", "/app/bad.py"]));
    assert_eq!(bad["allowed"], false, "{bad}");
    let message = bad["status"]["message"].as_str().unwrap();
    assert!(message.contains("/app/bad.py"), "{message}");
    let question = json!({"reference": image, "overlay": {"command": ["python3", "/app/bad.py"]}});
    let report = server.post("/v1/check", &question).json();
    assert_eq!(report["images"][0]["verdict"], "fail");
    // Its source has no ending by which it is known as one.
    let unread = server.validate(&started(&["python3", "/app/program"]));
    assert_eq!(unread["allowed"], false, "{unread}");
    let message = unread["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("/app/program was not read with the image"),
        "{message}"
    );
}
