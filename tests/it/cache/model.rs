//! Models of images: what is judged without the facts of the layers is judged as with them.

use super::*;

impl Case {
    /// Removes the facts of layers, so that only a model can answer.
    fn forget_facts(&self, cache: &str) {
        for path in self.facts(cache) {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn an_image_is_judged_by_its_model_as_by_its_facts() {
    let case = Case::new();
    let server = crate::samples::content().serve();
    let image = server.reference(crate::samples::TAG);
    let targets = ["--gpu", "a100", "--gpu", "v100", "--driver", "470.82"];
    let check = |arguments: &[&str]| {
        let mut command = crate::program::imgcheck();
        command.env_remove("IMGCHECK_NO_CACHE");
        command.env("IMGCHECK_CACHE_DIR", case.path("cache"));
        command.args(["check", &image, "-f", "json"]).args(targets);
        let output = command.args(arguments).output().unwrap();
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
        for image in report["images"].as_array_mut().unwrap() {
            image["elapsed_ms"] = Value::Null;
            for layer in image["layers"].as_array_mut().unwrap() {
                layer["cached"] = Value::Null;
            }
        }
        report
    };
    let expected = check(&["--no-cache"]);
    assert!(
        !expected["images"][0]["findings"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(check(&[]), expected);
    case.forget_facts("cache");
    let fetched = server.count("blobs/");
    assert_eq!(check(&[]), expected);
    assert_eq!(server.count("blobs/"), fetched, "no layer is read again");
    assert_eq!(case.facts("cache").len(), 0);
}

#[test]
fn other_limits_and_depths_have_models_of_their_own() {
    let case = Case::new();
    case.run("cache", &[]);
    case.forget_facts("cache");
    assert!(case.run("cache", &[]).is_cached());
    assert!(case.run("cache", &["--deep"]).is_read());
    let output = case.command("cache").args(["--limit", "layers=1"]).output();
    assert_eq!(output.unwrap().status.code(), Some(3));
}
