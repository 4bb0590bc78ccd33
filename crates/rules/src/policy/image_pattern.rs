//! Patterns of images in the configuration.

use imgcheck_base::glob::glob;
use imgcheck_base::reference::name::Name;

/// Whether a pattern matches a reference as written or in full, or, without a tag, its repository.
pub(super) fn matches_reference(reference: &str, pattern: &str) -> bool {
    glob(reference, pattern) || matches_name(reference, pattern)
}

/// Whether a pattern matches a reference in full, or its repository.
pub(super) fn matches_name(reference: &str, pattern: &str) -> bool {
    let Ok(name) = reference.parse::<Name>() else {
        return false;
    };
    let repository = |name: Name| Name {
        tag: None,
        digest: None,
        ..name
    };
    let full = name.canonical();
    let names = [full.clone(), repository(full), repository(name)];
    names.iter().any(|it| glob(&it.to_string(), pattern))
}
