//! Texts of images and clusters on the page.

use regex::Regex;
use serde_json::{Value, json};

use super::NOBODY;
use crate::gate::images::{create, enforce_with, pod};
use crate::gate::server::{Home, Server};

/// The tags of a page, without what is in their attributes.
fn shape(page: &str) -> Vec<String> {
    let tag = Regex::new(r#"<(/?[a-z0-9!]+)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*/?>"#).unwrap();
    let attribute = Regex::new(r#"([a-z-]+)(?:="[^"]*")?"#).unwrap();
    let tags = tag.captures_iter(page).map(|found| {
        let names = attribute.captures_iter(&found[2]);
        let names: Vec<&str> = names.map(|it| it.get(1).unwrap().as_str()).collect();
        format!("{} {}", &found[1], names.join(" "))
    });
    tags.collect()
}

/// A server that has decided about an object with this text in every place.
pub fn server_with(hostile: &str) -> Server {
    let exemption = json!([{"image": "exempt*", "reason": hostile}]);
    let home = Home::new(&enforce_with(&[(
        "mode: enforce",
        &format!("mode: enforce, break-glass: true, exemptions: {exemption}"),
    )]));
    let server = Server::start(&home, &[]);
    let mut object = pod(hostile);
    object["metadata"] = json!({
        "name": hostile, "namespace": hostile,
        "ownerReferences": [{"kind": hostile, "name": hostile, "controller": true}],
    });
    object["spec"]["containers"][0]["name"] = json!(hostile);
    let send = |object: &Value| {
        let mut review = create(object);
        review["request"]["namespace"] = json!(hostile);
        review["request"]["name"] = json!(hostile);
        review["request"]["userInfo"]["username"] = json!(hostile);
        server.validate(&review);
    };
    send(&object);
    object["metadata"]["annotations"] = json!({"imgcheck.io/break-glass": hostile});
    object["spec"]["containers"][0]["image"] = json!(format!("other {hostile}"));
    send(&object);
    object["metadata"]["annotations"] = json!({});
    object["spec"]["containers"][0]["image"] = json!(format!("exempt{hostile}"));
    send(&object);
    server
}

#[test]
fn texts_of_images_and_clusters_are_only_text() {
    let evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)></td></table>&lt;{{7*7}}\u{202e}\u{1b}[2J";
    let (hostile, plain) = (server_with(evil), server_with("Plain letters"));
    let (page, expected) = (hostile.get("/").text, plain.get("/").text);
    assert_eq!(shape(&page), shape(&expected));
    assert!(page.contains("\\u{202e}\\u{1b}[2J"), "{page}");
    assert!(!page.contains(['\u{202e}', '\u{1b}']));
    // What is typed into the form comes back as text.
    let typed = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for query in ["namespace", "image"] {
        let page = hostile.get(&format!("/?{query}={typed}")).text;
        let letters = hostile.get(&format!("/?{query}=letters")).text;
        assert_eq!(shape(&page), shape(&letters), "{query}: {page}");
    }
    for path in [
        format!("/?verdict={typed}"),
        format!("/?page={typed}"),
        format!("/reports/{typed}"),
        format!("/reports/{NOBODY}?reference={typed}"),
        format!("/reports/{NOBODY}?decision={typed}"),
    ] {
        let page = hostile.get(&path);
        assert!(page.status == 400 || page.status == 404, "{path}: {page:?}");
        assert!(!page.text.contains("<script"), "{path}: {page:?}");
    }
    // Long texts do not fill the memory, or the page.
    let mut long = create(&pod(&"x".repeat(1024 * 1024)));
    long["request"]["object"]["metadata"]["name"] = json!("n".repeat(1024 * 1024));
    hostile.validate(&long);
    let page = hostile.get("/").text;
    assert!(page.len() < 100_000, "{}", page.len());
}
