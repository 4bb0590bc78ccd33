//! What an image needs of a node, attached to it as Node Feature Discovery finds it.

use testkit::{Compression, oci_layout};

use super::Tools;
use crate::program::imgcheck;
use crate::registry::real::{Storage, push};
use crate::sample_image::mislabelled;

/// As `docs/src/requirements.md` does it, with the media types of Node Feature Discovery.
#[test]
fn oras_attaches_a_specification_of_node_feature_discovery() {
    let (Some(tools), Some(storage)) = (Tools::find(), Storage::new()) else {
        return;
    };
    let layout = storage.path("image");
    let items = oci_layout(&[mislabelled()], Compression::Gzip, false);
    testkit::write_directory(&layout, &items);
    let registry = storage.open();
    let reference = format!("{}/team/train:1", registry.address);
    push(&layout, &registry, "team/train:1");
    let output = imgcheck()
        .args([
            "requirements",
            "-f",
            "nfd",
            &format!("docker://{reference}"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::write(tools.home.path().join("needs.yaml"), &output.stdout).unwrap();
    let kind = "application/vnd.nfd.image-compatibility.v1alpha1";
    let file = "needs.yaml:application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml";
    tools.oras_attaches(&reference, kind, file);
    let discover = ["discover", "--plain-http", "--format", "json", &reference];
    let output = tools.run("oras", &discover);
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(kind), "{printed}");
}
