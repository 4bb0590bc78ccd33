//! What a user types as an image, and its claims. A reference that is printed is parsed as the same one, its canonical form is
//! stable, and a claim quotes the text that it was read from.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use imgcheck_base::reference::name::{Name, is_tag};
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_model::claims::Grammar;

static GRAMMAR: LazyLock<Grammar> =
    LazyLock::new(|| imgcheck_model::knowledge::grammar().expect("the built-in grammar"));

/// Names of labels and variables that promise something, and one that does not.
const NAMES: [&str; 6] = [
    "org.opencontainers.image.title",
    "org.opencontainers.image.version",
    "com.nvidia.pytorch.version",
    "NV_LIBNCCL_PACKAGE_VERSION",
    "PYTORCH_VERSION",
    "OTHER",
];

pub fn fuzz(text: &str) {
    let target = ImageReference::parse(text);
    assert_eq!(ImageReference::parse(&target.to_string()), target);
    if let Ok(name) = text.parse::<Name>() {
        reference(text, &name);
    }
    let values: BTreeMap<String, String> = NAMES
        .iter()
        .zip(text.lines())
        .map(|(name, value)| ((*name).to_owned(), value.to_owned()))
        .collect();
    for claim in GRAMMAR.image_claims(None, &values, &values) {
        let quoted = values
            .iter()
            .any(|(name, value)| claim.text == format!("{name}={value}"));
        assert!(quoted, "{claim:?}");
    }
}

fn reference(text: &str, name: &Name) {
    assert_eq!(name.to_string(), text);
    assert!(name.tag.as_deref().is_none_or(is_tag), "{name:?}");
    assert!(
        name.components()
            .all(|part| !part.is_empty() && !part.starts_with('.')),
        "{name:?}"
    );
    let full = name.canonical();
    assert_eq!(full.canonical(), full);
    if full.to_string().len() <= 255 {
        assert_eq!(
            full.to_string().parse::<Name>().expect("the full name"),
            full
        );
    }
    for claim in GRAMMAR.claims(text).expect("claims of a reference") {
        assert!(text.contains(&claim.text), "{claim:?}");
    }
}
