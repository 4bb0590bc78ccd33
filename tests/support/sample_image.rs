//! The mislabelled image of `testdata/sample/`, to be stored in other ways.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value;
use testkit::Image;

/// The mislabelled image; its reference is `pytorch-cuda:v2.9`.
pub fn mislabelled() -> Image {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/testdata/sample/pytorch-cuda-v2.9.tar"
    );
    let archive = std::fs::read(path).unwrap();
    let mut archive = tar::Archive::new(&archive[..]);
    let member = |member: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut member = member.unwrap();
        let mut content = Vec::new();
        member.read_to_end(&mut content).unwrap();
        (member.path().unwrap().display().to_string(), content)
    };
    let members: HashMap<String, Vec<u8>> = archive.entries().unwrap().map(member).collect();
    let manifest: Value = serde_json::from_slice(&members["manifest.json"]).unwrap();
    let names = manifest[0]["Layers"].as_array().unwrap().iter();
    Image {
        layers: names
            .map(|name| members[name.as_str().unwrap()].clone())
            .collect(),
        ..Image::new("pytorch-cuda:v2.9", &[])
    }
}
