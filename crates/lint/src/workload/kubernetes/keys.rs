//! Keys of ConfigMaps and Secrets that the kubelet looks up before it starts a container.
//!
//! Source: kubernetes/kubernetes, `makeEnvironmentVariables` in pkg/kubelet/kubelet_pods.go, and `MakePayload` in pkg/volume/configmap and pkg/volume/secret.

use std::collections::BTreeSet;

use super::reader::Reader;
use crate::workload::facts::{MissingKey, RefusedField};
use crate::workload::shape::volume;
use imgcheck_base::document::Node;

/// Keys that a container needs, and that their objects of the input lack. An object without any key is left to who fills it.
pub(super) fn missing(container: &Node, pod: &Node, reader: &Reader) -> Vec<MissingKey> {
    let mut missing = Vec::new();
    let mut check = |kind: &str, name: Option<&str>, source: &Node, key: Option<&Node>| {
        let (Some(name), Some(key)) = (name, key) else {
            return;
        };
        let data = reader.objects.data(kind, reader.namespace, name);
        let text = key.text().unwrap_or_default();
        let is_there = data.is_none_or(|it| it.is_empty() || it.contains_key(text));
        if !is_there && source.text_of("optional") != Some("true") {
            missing.push(MissingKey {
                object: format!("{kind} {name}"),
                key: text.to_owned(),
                location: reader.manifest.location(key),
            });
        }
    };
    for entry in container.items_of("env") {
        for (kind, field) in [("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")] {
            if let Some(source) = entry.at(["valueFrom", field]) {
                check(kind, source.text_of("name"), source, source.get("key"));
            }
        }
    }
    for source in sources(container, pod) {
        for (kind, field) in [("ConfigMap", "configMap"), ("Secret", "secret")] {
            let Some(source) = source.get(field) else {
                continue;
            };
            for item in source.items_of("items") {
                check(kind, name_of(source), source, item.get("key"));
            }
        }
    }
    missing
}

/// What the API server refuses of the ConfigMaps and Secrets of the input that a container needs.
pub(super) fn refused_objects(container: &Node, pod: &Node, reader: &Reader) -> Vec<RefusedField> {
    let variables = container
        .items_of("env")
        .filter_map(|it| it.get("valueFrom"));
    let places = variables
        .chain(container.items_of("envFrom"))
        .chain(sources(container, pod));
    let named = places.flat_map(|place| {
        let fields = [
            (
                "ConfigMap",
                ["configMapKeyRef", "configMapRef", "configMap"],
            ),
            ("Secret", ["secretKeyRef", "secretRef", "secret"]),
        ];
        fields.into_iter().flat_map(move |(kind, fields)| {
            let sources = fields.into_iter().filter_map(|it| place.get(it));
            sources.filter_map(move |it| Some((kind, name_of(it)?)))
        })
    });
    let named: BTreeSet<(&str, &str)> = named.collect();
    let refused = named.into_iter().flat_map(|(kind, name)| {
        let refused = reader.objects.refused(kind, reader.namespace, name).iter();
        refused.map(move |it| RefusedField {
            object: format!("{kind} {name}"),
            ..it.clone()
        })
    });
    refused.collect()
}

/// The object that a reference names.
fn name_of(source: &Node) -> Option<&str> {
    source.text_of("name").or(source.text_of("secretName"))
}

/// The volumes that a container mounts, and the sources of those that are projected.
fn sources<'p>(container: &'p Node, pod: &'p Node) -> impl Iterator<Item = &'p Node> {
    let mounts = container.items_of("volumeMounts");
    let names: BTreeSet<&str> = mounts.filter_map(|it| it.text_of("name")).collect();
    let mounted = names.into_iter().filter_map(|it| volume(pod, it));
    mounted.flat_map(|volume| {
        let projected = volume.get("projected").into_iter();
        std::iter::once(volume).chain(projected.flat_map(|it| it.items_of("sources")))
    })
}
