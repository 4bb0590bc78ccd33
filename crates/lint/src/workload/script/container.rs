//! What the containers of all commands have in common.

use std::ops::Range;
use std::sync::Arc;

use crate::lint::Argument;
use crate::workload::facts::{Container, Mount};
use crate::workload::placement::{Placement, Toleration};
use crate::workload::text::Manifest;

/// A container of which nothing decides where it runs.
pub(super) fn started(
    name: &str,
    image: &str,
    span: Range<usize>,
    manifest: &Manifest,
) -> Container {
    Container {
        name: name.to_owned(),
        image: image.to_owned(),
        location: manifest.range(span),
        placement: Arc::new(Placement {
            tolerations: vec![Toleration {
                key: None,
                value: None,
                effect: None,
            }],
            ..Placement::default()
        }),
        ..Container::default()
    }
}

/// `SOURCE[:TARGET[:OPTIONS]]`.
pub(super) fn bind(text: &str, span: Range<usize>, manifest: &Manifest) -> Mount {
    let mut parts = text.split(':');
    let source = parts.next().unwrap_or_default();
    let target = parts.next().unwrap_or(source);
    Mount {
        path: target.trim_end_matches('/').to_owned(),
        volume: source.to_owned(),
        kind: "bind".to_owned(),
        empty: false,
        location: manifest.range(span),
    }
}

/// The words as a command.
pub(super) fn command(words: &[Argument]) -> Option<Vec<String>> {
    let words: Vec<String> = words.iter().map(|it| it.text.clone()).collect();
    Some(words).filter(|it| !it.is_empty())
}
