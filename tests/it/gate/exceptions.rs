//! What is let through without a pass: exemptions, break-glass, grace, dry runs, images that are not known yet.

use chrono::{Days, Utc};
use serde_json::{Value, json};

use super::images::{ENFORCE, create, deployment, enforce_with, image, pod, registry};
use super::server::{Home, Server};

fn old_driver(gate: &str) -> String {
    enforce_with(&[
        (
            "gpu: h100, driver: '570.86.10'",
            "gpu: a100, driver: '470.82.01'",
        ),
        ("mode: enforce", gate),
    ])
}

#[test]
fn an_exemption_ends_on_its_day() {
    let registry = registry();
    let today = Utc::now().date_naive();
    let with = |expires: chrono::NaiveDate| {
        old_driver(&format!(
            "mode: enforce, exemptions: [{{image: '*/team/*', namespace: ml, reason: moved in March, expires: {expires}}}]"
        ))
    };
    let review = create(&pod(&image(&registry)));
    let server = Server::new(&with(today + Days::new(1)));
    let response = server.validate(&review);
    assert_eq!(response["allowed"], true);
    assert_eq!(response["auditAnnotations"]["passed"], "exemption");
    assert!(
        response["auditAnnotations"]["reason"]
            .as_str()
            .unwrap()
            .contains("moved in March")
    );
    let mut elsewhere = review.clone();
    elsewhere["request"]["namespace"] = json!("prod");
    assert_eq!(server.validate(&elsewhere)["allowed"], false);
    let server = Server::new(&with(today - Days::new(1)));
    assert_eq!(server.validate_read(&review)["allowed"], false);
}

#[test]
fn break_glass_is_audited_and_counted_and_off_unless_configured() {
    let registry = registry();
    let mut pod = pod(&image(&registry));
    pod["metadata"]["annotations"] = json!({"imgcheck.io/break-glass": "outage 4711"});
    let server = Server::new(&old_driver("mode: enforce, break-glass: true"));
    let response = server.validate(&create(&pod));
    assert_eq!(response["allowed"], true);
    let audit = &response["auditAnnotations"];
    assert_eq!(
        (&audit["passed"], &audit["reason"], &audit["user"]),
        (&json!("break-glass"), &json!("outage 4711"), &json!("ada"))
    );
    assert!(
        response["warnings"][0]
            .as_str()
            .unwrap()
            .contains("outage 4711")
    );
    assert_eq!(
        server.metric("imgcheck_admissions_unjudged_total{reason=\"break-glass\"}"),
        1.0
    );
    // The log arrives by a pipe.
    server.wait_for("break-glass", |it| !it.logged("break-glass").is_empty());
    assert_eq!(server.logged("break-glass").len(), 1);
    let server = Server::new(&old_driver("mode: enforce"));
    let response = server.validate_read(&create(&pod));
    assert_eq!(response["allowed"], false);
    assert!(warns(&response, "is not switched on"), "{response}");
}

/// Whether a warning has these words.
fn warns(response: &Value, words: &str) -> bool {
    let mut warnings = response["warnings"].as_array().into_iter().flatten();
    warnings.any(|it| it.as_str().unwrap().contains(words))
}

/// Pods inherit the annotations of their template, and not those of the object that creates them.
#[test]
fn break_glass_of_a_workload_is_that_of_its_template() {
    let registry = registry();
    let settings = "mode: enforce, deny-workloads: true, break-glass: true";
    let server = Server::new(&old_driver(settings));
    let annotations = json!({"imgcheck.io/break-glass": "outage 4711"});
    let mut own = deployment(&image(&registry));
    own["metadata"]["annotations"] = annotations.clone();
    let response = server.validate_read(&create(&own));
    assert_eq!(response["allowed"], false, "{response}");
    assert!(warns(&response, "spec.template.metadata"), "{response}");
    let mut template = deployment(&image(&registry));
    template["spec"]["template"]["metadata"]["annotations"] = annotations;
    let response = server.validate(&create(&template));
    assert_eq!(response["allowed"], true, "{response}");
    assert!(warns(&response, "outage 4711"), "{response}");
}

#[test]
fn what_was_admitted_before_is_let_through_for_some_days() {
    let registry = registry();
    let home = Home::new(ENFORCE);
    let review = create(&pod(&image(&registry)));
    let server = Server::start(&home, &[]);
    assert_eq!(server.validate_read(&review)["allowed"], true);
    // The nodes get an older driver.
    home.write("imgcheck.yaml", &old_driver("mode: enforce"));
    server.signal("HUP");
    server.wait_for("grace", |server| {
        server.validate(&review)["auditAnnotations"]["verdict"] == "fail"
    });
    let response = server.validate(&review);
    assert_eq!(response["allowed"], true);
    assert_eq!(response["auditAnnotations"]["passed"], "grace");
    assert!(
        response["warnings"].to_string().contains("14 more days"),
        "{response}"
    );
    // Something else on the same image has no grace.
    let mut other = review.clone();
    other["request"]["object"]["spec"]["containers"][0]["command"] = json!(["python", "other.py"]);
    assert_eq!(server.validate(&other)["allowed"], false);
    // The memory survives the process.
    drop(server);
    let server = Server::start(&home, &[]);
    assert_eq!(
        server.validate_read(&review)["auditAnnotations"]["passed"],
        "grace"
    );
    home.write("imgcheck.yaml", &old_driver("mode: enforce, grace-days: 0"));
    server.signal("HUP");
    server.wait_for("no grace", |server| {
        server.validate(&review)["allowed"] == false
    });
}

#[test]
fn a_dry_run_has_no_side_effect() {
    let (registry, server) = (registry(), Server::new(ENFORCE));
    let mut review = create(&pod(&image(&registry)));
    review["request"]["dryRun"] = json!(true);
    for _ in 0..3 {
        assert_eq!(
            server.validate(&review)["auditAnnotations"]["verdict"],
            "unknown"
        );
    }
    assert_eq!(server.metric("imgcheck_queue_jobs"), 0.0);
    assert_eq!(registry.count("blobs"), 0);
}

#[test]
fn on_miss_decides_what_happens_to_images_that_are_not_known() {
    let registry = registry();
    let review = create(&pod(&image(&registry)));
    let silent = Server::new(&enforce_with(&[(
        "mode: enforce",
        "mode: enforce, on-miss: allow",
    )]));
    let response = silent.validate(&review);
    assert_eq!(
        (&response["allowed"], &response["warnings"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(response["auditAnnotations"]["passed"], "on-miss");
    assert_eq!(
        silent.metric("imgcheck_admissions_unjudged_total{reason=\"on-miss\"}"),
        1.0
    );
    let warning = Server::new(&enforce_with(&[(
        "mode: enforce",
        "mode: enforce, on-miss: warn",
    )]));
    let response = warning.validate(&create(&pod("127.0.0.1:1/team/image:1")));
    assert_eq!(response["allowed"], true);
    assert!(
        response["warnings"][0]
            .as_str()
            .unwrap()
            .contains("127.0.0.1:1/team/image:1"),
        "{response}"
    );
}
