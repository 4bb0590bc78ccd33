//! The events of registries, by their form:
//!
//! - distribution (`notifications`, envelope version 2): `{"events": [{"action": "push", "target": …}]}`
//! - Harbor's webhooks: `{"type": "PUSH_ARTIFACT", "event_data": …}`
//! - CloudEvents 1.0 in JSON, or in binary mode with the type in the header `ce-type`: `data` is one of these

use serde_json::Value;

/// Media types of manifests of images.
const MANIFESTS: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];
/// Media types of lists of manifests, one for each platform.
const INDEXES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
/// Harbor's names for a push: in its own format, in CloudEvents, and before version 2.
const PUSHES: [&str; 3] = ["PUSH_ARTIFACT", "harbor.artifact.pushed", "pushImage"];

/// The content of an event document.
#[derive(Debug)]
pub struct Events<'d> {
    /// The form of the document.
    pub from: &'static str,
    /// How many events it has; of an event with several images, how many those are.
    pub count: usize,
    /// Images that were pushed.
    pub pushed: Vec<Pushed<'d>>,
}

/// An image that was pushed, as an event says.
#[derive(Debug, PartialEq, Eq)]
pub struct Pushed<'d> {
    /// Host and port.
    pub registry: &'d str,
    /// The repository.
    pub repository: &'d str,
    /// The digest of the manifest or index.
    pub digest: &'d str,
    /// Whether it has manifests for several platforms.
    pub is_index: bool,
}

/// The events of a document; `kind` is the header `ce-type`.
pub fn events<'d>(document: &'d Value, kind: Option<&'d str>) -> Events<'d> {
    let kind = kind.or_else(|| match document["specversion"].is_string() {
        true => document["type"].as_str(),
        false => None,
    });
    match kind {
        Some(kind) => Events {
            from: "cloudevents",
            ..of_data(document.get("data").unwrap_or(document), kind)
        },
        None => of_data(document, document["type"].as_str().unwrap_or_default()),
    }
}

fn of_data<'d>(data: &'d Value, kind: &str) -> Events<'d> {
    if let Some(all) = data["events"].as_array() {
        return Events {
            from: "distribution",
            count: all.len(),
            pushed: all.iter().filter_map(of_distribution).collect(),
        };
    }
    if data["target"].is_object() {
        return Events {
            from: "distribution",
            count: 1,
            pushed: of_distribution(data).into_iter().collect(),
        };
    }
    let event = data.get("event_data").unwrap_or(data);
    match event["resources"].as_array() {
        Some(resources) if PUSHES.contains(&kind) => Events {
            from: "harbor",
            count: resources.len(),
            pushed: resources.iter().filter_map(of_harbor).collect(),
        },
        found => Events {
            from: if found.is_some() { "harbor" } else { "other" },
            count: 1,
            pushed: Vec::new(),
        },
    }
}

/// A push of an image to a registry of the distribution project, whose address is that by which it was pushed.
fn of_distribution(event: &Value) -> Option<Pushed<'_>> {
    let target = &event["target"];
    let media_type = target["mediaType"].as_str()?;
    let is_index = INDEXES.contains(&media_type);
    if event["action"] != "push" || !(is_index || MANIFESTS.contains(&media_type)) {
        return None;
    }
    Some(Pushed {
        registry: event["request"]["host"].as_str()?,
        repository: target["repository"].as_str()?,
        digest: target["digest"].as_str()?,
        is_index,
    })
}

/// An artifact that was pushed to Harbor: `HOST/PROJECT/REPOSITORY:TAG` or `…@DIGEST`. Its kind is unknown.
fn of_harbor(resource: &Value) -> Option<Pushed<'_>> {
    let url = resource["resource_url"].as_str()?;
    let (registry, path) = url.split_once('/')?;
    let path = path.split('@').next().unwrap_or(path);
    let repository = match path.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => path,
    };
    Some(Pushed {
        registry,
        repository,
        digest: resource["digest"].as_str()?,
        is_index: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const EXPECTED: Pushed = Pushed {
        registry: "harbor.example:8443",
        repository: "team/train",
        digest: "sha256:1",
        is_index: false,
    };

    fn distribution(media_type: &str) -> Value {
        json!({"action": "push", "request": {"host": "harbor.example:8443"}, "target": {
            "mediaType": media_type, "repository": "team/train", "digest": "sha256:1",
        }})
    }

    fn harbor(kind: &str, url: &str) -> Value {
        json!({"type": kind, "occur_at": 1, "operator": "admin", "event_data": {
            "resources": [{"digest": "sha256:1", "tag": "1", "resource_url": url}],
            "repository": {"repo_full_name": "team/train"},
        }})
    }

    #[test]
    fn pushed_manifests_of_distribution_are_found() {
        let all = [
            distribution(MANIFESTS[0]),
            distribution(INDEXES[1]),
            distribution("application/octet-stream"),
            json!({"action": "pull", "target": {"mediaType": MANIFESTS[0]}}),
            json!(7),
        ];
        let document = json!({"events": all});
        let found = events(&document, None);
        assert_eq!((found.from, found.count), ("distribution", 5));
        let is_index = true;
        assert_eq!(
            found.pushed,
            [
                EXPECTED,
                Pushed {
                    is_index,
                    ..EXPECTED
                }
            ]
        );
    }

    #[test]
    fn pushed_artifacts_of_harbor_are_found() {
        for url in [
            "harbor.example:8443/team/train:1",
            "harbor.example:8443/team/train@sha256:1",
            "harbor.example:8443/team/train:1@sha256:1",
            "harbor.example:8443/team/train",
        ] {
            let document = harbor("PUSH_ARTIFACT", url);
            let found = events(&document, None);
            assert_eq!(
                (found.from, found.pushed),
                ("harbor", vec![EXPECTED]),
                "{url}"
            );
        }
        let document = harbor("SCANNING_COMPLETED", "harbor.example:8443/team/train:1");
        let found = events(&document, None);
        assert_eq!(
            (found.from, found.count, found.pushed.len()),
            ("harbor", 1, 0)
        );
    }

    #[test]
    fn cloud_events_contain_either() {
        let data = harbor("", "harbor.example:8443/team/train:1")["event_data"].clone();
        let document =
            json!({"specversion": "1.0", "type": "harbor.artifact.pushed", "data": data});
        let found = events(&document, None);
        assert_eq!((found.from, found.pushed), ("cloudevents", vec![EXPECTED]));
        let found = events(&data, Some("harbor.artifact.pushed"));
        assert_eq!((found.from, found.pushed), ("cloudevents", vec![EXPECTED]));
        let data = distribution(MANIFESTS[1]);
        let found = events(&data, Some("Microsoft.ContainerRegistry.ImagePushed"));
        assert_eq!((found.from, found.pushed), ("cloudevents", vec![EXPECTED]));
    }

    #[test]
    fn what_is_unknown_tells_nothing() {
        for document in [
            json!({}),
            json!({"specversion": "1.0", "type": "com.example.other", "data": 7}),
            json!({"specversion": 1, "type": 2, "events": 3, "event_data": []}),
        ] {
            let found = events(&document, None);
            assert_eq!((found.count, found.pushed.len()), (1, 0), "{document}");
        }
    }
}
