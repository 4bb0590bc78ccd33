//! The images of running Pods.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::listed::Listed;
use super::plan::REGISTRY;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;

/// The output of `kubectl get pods -A -o json`.
#[derive(Deserialize)]
struct PodList {
    items: Vec<Pod>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pod {
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    init_containers: Vec<Container>,
    containers: Vec<Container>,
    ephemeral_containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    image: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    init_container_statuses: Vec<ContainerStatus>,
    container_statuses: Vec<ContainerStatus>,
    ephemeral_container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    name: String,
    #[serde(default, rename = "imageID")]
    image_id: String,
}

/// The images of the Pods that have not ended, each with the number of Pods that use it. What runs counts, not what the tag is now.
///
/// # Errors
/// The text is no list of Pods.
pub(crate) fn images(name: &str, text: &str) -> Result<Vec<Listed>> {
    let list: PodList = serde_json::from_str(text).map_err(|error| {
        Error::damaged(name, format!("it is not a list of Pods: {error}"))
            .with_help("give it the output of `kubectl get pods -A -o json`")
    })?;
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let ended = |pod: &Pod| matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
    for pod in list.items.into_iter().filter(|pod| !ended(pod)) {
        let status = pod.status;
        let statuses = status.init_container_statuses.into_iter();
        let statuses = statuses
            .chain(status.container_statuses)
            .chain(status.ephemeral_container_statuses);
        let running: HashMap<String, String> = statuses.map(|it| (it.name, it.image_id)).collect();
        let spec = pod.spec;
        let containers = spec.init_containers.into_iter().chain(spec.containers);
        let mut images: Vec<(String, String)> = containers
            .chain(spec.ephemeral_containers)
            .filter(|container| !container.image.is_empty())
            .map(|container| {
                let source = running.get(&container.name).and_then(|id| pinned(id));
                let source = source.unwrap_or_else(|| container.image.clone());
                (container.image, format!("{REGISTRY}{source}"))
            })
            .collect();
        images.sort();
        images.dedup();
        for image in images {
            *counts.entry(image).or_default() += 1;
        }
    }
    let listed = counts
        .into_iter()
        .map(|((reference, source), pods)| Listed {
            reference: Some(reference),
            source,
            pods: Some(pods),
            is_enumerated: false,
            pulls: None,
        });
    Ok(listed.collect())
}

/// The repository and digest of a status, which containerd writes as `NAME@sha256:…` and Docker as `docker-pullable://NAME@sha256:…`.
fn pinned(image_id: &str) -> Option<String> {
    let name = image_id
        .strip_prefix("docker-pullable://")
        .unwrap_or(image_id);
    let (_, digest) = name.split_once('@')?;
    digest::hexadecimal(digest)?;
    name.parse::<Name>().ok()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pods_are_counted_by_what_runs() {
        let digest = digest::sha256(b"x");
        let pod = |phase: &str, id: &str| {
            serde_json::json!({
                "spec": {"containers": [{"name": "a", "image": "team/train:1"}, {"name": "b", "image": "team/train:1"}]},
                "status": {"phase": phase, "containerStatuses": [{"name": "a", "imageID": id}, {"name": "b", "imageID": id}]}
            })
        };
        let id = format!("example.com/team/train@{digest}");
        let list = serde_json::json!({"items": [pod("Running", &id), pod("Running", &id), pod("Succeeded", &id), pod("Pending", "")]});
        let images = images("pods", &list.to_string()).unwrap();
        assert_eq!(images.len(), 2);
        assert_eq!(
            images[0].source,
            format!("docker://example.com/team/train@{digest}")
        );
        assert_eq!(
            (images[0].reference.as_deref(), images[0].pods),
            (Some("team/train:1"), Some(2))
        );
        assert_eq!(
            (images[1].source.as_str(), images[1].pods),
            ("docker://team/train:1", Some(1))
        );
    }

    #[test]
    fn other_texts_are_refused() {
        assert!(images("pods", "<html>").is_err());
        assert!(images("pods", "{}").is_err());
    }
}
