//! Combines the evidence for a component into its version.

use super::{Component, Evidence, EvidenceKind};

impl Evidence {
    pub(super) fn new(
        kind: EvidenceKind,
        value: impl Into<String>,
        path: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Evidence {
            kind,
            value: value.into(),
            path: path.into(),
            detail: detail.into(),
        }
    }
}

/// Sorts the evidence and sets the version: the strongest evidence wins, and weaker evidence that agrees with it adds detail.
/// `2.8.0` from machine code and `2.8.0+cu128` from metadata give `2.8.0+cu128`; `9.10.2` from machine code and `9.1.0.70` from a
/// package give `9.10.2`.
pub(super) fn resolve_version(component: &mut Component) {
    component.evidence.sort_by_key(|evidence| evidence.kind);
    let mut version = "";
    for evidence in &component.evidence {
        if version.is_empty() || refines(&evidence.value, version) {
            version = &evidence.value;
        }
    }
    component.version = version.to_owned();
}

/// Whether `fine` is the release `coarse` with more detail: further numbers, or a suffix.
pub(super) fn refines(fine: &str, coarse: &str) -> bool {
    let (coarse_numbers, coarse_suffix) = split_release(coarse);
    let (fine_numbers, fine_suffix) = split_release(fine);
    coarse_suffix.is_empty()
        && match fine_numbers.strip_prefix(coarse_numbers) {
            Some("") => !fine_suffix.is_empty(),
            Some(more) => more.starts_with('.'),
            None => false,
        }
}

/// Splits a version after its leading numbers: `2.8.0` and `+cu128`.
pub(super) fn split_release(version: &str) -> (&str, &str) {
    let end = version
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(version.len());
    version.split_at(end)
}

/// The first `count` dot-separated parts of a version.
pub(super) fn first_numbers(version: &str, count: usize) -> &str {
    match version.match_indices('.').nth(count.saturating_sub(1)) {
        Some((end, _)) => &version[..end],
        None => version,
    }
}

/// Whether a text looks like a version: at most 100 printable characters that start with a digit.
pub(super) fn is_version(text: &str) -> bool {
    text.len() <= 100
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|character| character.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(evidence: &[(EvidenceKind, &str)]) -> String {
        let mut component = Component {
            evidence: evidence
                .iter()
                .map(|(kind, value)| Evidence::new(*kind, *value, "", ""))
                .collect(),
            ..Component::default()
        };
        resolve_version(&mut component);
        component.version
    }

    #[test]
    fn agreeing_evidence_adds_what_the_strongest_lacks() {
        use EvidenceKind::*;
        assert_eq!(
            settled(&[(PythonMetadata, "2.8.0+cu128"), (Code, "2.8.0")]),
            "2.8.0+cu128"
        );
        assert_eq!(
            settled(&[(Code, "9.10.2"), (PythonMetadata, "9.10.2.21")]),
            "9.10.2.21"
        );
        assert_eq!(
            settled(&[
                (String, "2.8.0"),
                (PythonMetadata, "2.8.0a0+5228986c39.nv25.5")
            ]),
            "2.8.0a0+5228986c39.nv25.5"
        );
    }

    #[test]
    fn disagreeing_evidence_loses_to_stronger() {
        use EvidenceKind::*;
        assert_eq!(
            settled(&[(PythonMetadata, "9.1.0.70"), (Code, "9.10.2")]),
            "9.10.2"
        );
        assert_eq!(settled(&[(Code, "2.1"), (Dpkg, "2.10.1")]), "2.1");
        assert_eq!(
            settled(&[
                (PythonMetadata, "2.8.0+cu128"),
                (PythonMetadata, "2.8.0+cu126")
            ]),
            "2.8.0+cu128"
        );
        assert_eq!(settled(&[]), "");
    }
}
