//! Docker Compose files: <https://github.com/compose-spec/compose-spec/blob/main/spec.md>.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::evidence::{Scope, Search};
use super::facts::{
    Container, Evidence, EvidenceKind, GpuRequest, Mount, RefusedResource, RuntimeClass, Unknown,
    Variable, Workload, may_set_path, patterns,
};
use super::kinds::Kinds;
use super::placement::{Placement, Toleration};
use super::text::Manifest;
use crate::lint::compose;
use imgcheck_base::document::Node;
use imgcheck_launch::{Overlay, known_user};

/// What brings files into a service beside its `volumes`.
const OTHER_FILES: [&str; 5] = ["configs", "secrets", "volumes_from", "extends", "develop"];

/// A text with the defaults of its variables; what has none stays.
fn interpolated(text: &str) -> String {
    compose::interpolated(text).text
}

/// The services of a file as containers of one workload.
pub(super) fn read(file: &Node, services: &Node, manifest: &Manifest, kinds: &Kinds) -> Workload {
    let all = services.entries().map(|(name, service)| {
        let name = name.text().unwrap_or_default().to_owned();
        Service { service, manifest }.container(name)
    });
    let containers: Vec<Container> = all.collect();
    let mut not_understood = Search::new(manifest, kinds, &[]).run(file, Scope::Objects);
    let services = services.entries().zip(&containers);
    for ((_, service), _) in services.filter(|(_, it)| it.gpu.is_none()) {
        for section in ["deploy", "devices"]
            .iter()
            .filter_map(|it| service.get(it))
        {
            let found = Search::new(manifest, kinds, &[]).run(section, Scope::All);
            let is_gpu = |it: &Evidence| it.kind == EvidenceKind::Gpu;
            not_understood.extend(found.into_iter().filter(is_gpu));
        }
    }
    Workload {
        file: manifest.name().to_owned(),
        kind: "compose".to_owned(),
        containers,
        not_understood,
        ..Workload::default()
    }
}

struct Service<'s> {
    service: &'s Node,
    manifest: &'s Manifest<'s>,
}

impl Service<'_> {
    fn container(&self, name: String) -> Container {
        let (service, manifest) = (self.service, self.manifest);
        let image = service.get("image");
        let (variables, unknown) = self.environment();
        let mounts = self.mounts();
        let words = |key: &str| service.get(key).map(words);
        let command = service.get("entrypoint").or(service.get("command"));
        let runtime = service.get("runtime");
        let known = variables.iter();
        let known = known.filter_map(|it| Some((it.name.clone(), it.value.clone()?)));
        let has_shm = service.get("shm_size").is_some()
            || service.text_of("ipc") == Some("host")
            || mounts.iter().any(|it| it.path == "/dev/shm");
        let reference = image.and_then(Node::text).map(interpolated);
        let reference = reference.unwrap_or_default();
        // A variable without a default takes the value of the shell.
        let (image_name, decided_by) = match reference.contains("${") {
            true => (String::new(), reference),
            false => (reference, String::new()),
        };
        Container {
            name,
            image: image_name,
            decided_by,
            location: manifest.location(image.unwrap_or(service)),
            command_location: command.map(|it| manifest.location(it)),
            overlay: Overlay {
                command: words("entrypoint"),
                args: words("command"),
                env: known.collect(),
                unset: BTreeSet::new(),
                working_directory: service.text_of("working_dir").map(interpolated),
                user: service.text_of("user").map(interpolated).map(known_user),
                volumes: mounts.iter().map(|it| it.path.clone()).collect(),
                config_maps: BTreeMap::new(),
                other_volumes: OTHER_FILES.iter().any(|it| service.get(it).is_some()),
                other_groups: service.get("group_add").is_some(),
                read_only: service.text_of("read_only") == Some("true"),
                programs_known: false,
                other_search_path: may_set_path(&unknown),
                other_variables: patterns(&unknown),
            },
            env: variables,
            unknown,
            mounts,
            gpu: self.gpu(),
            refused_resources: self.refused_devices(),
            runtime_class: runtime.and_then(|it| {
                Some(RuntimeClass {
                    name: it.text()?.to_owned(),
                    location: manifest.location(it),
                })
            }),
            default_shm: !has_shm,
            placement: Arc::new(self.placement()),
            ..Container::default()
        }
    }

    /// `environment` as a map or a list; a name without a value takes the value of the shell, and `env_file` is another file.
    fn environment(&self) -> (Vec<Variable>, Vec<Unknown>) {
        let variable = |(name, value, place): (&str, Option<&str>, &Node)| Variable {
            name: name.to_owned(),
            value: value.map(interpolated).filter(|it| !it.contains("${")),
            location: self.manifest.location(place),
        };
        let variables: Vec<Variable> = compose::pairs(self.service.get("environment"))
            .map(variable)
            .collect();
        let open = variables.iter().filter(|it| it.value.is_none());
        let open = open.map(|it| Unknown {
            variable: Some(it.name.clone()),
            message: format!("the value of {} comes from the shell", it.name),
            location: it.location.clone(),
        });
        let files = self.service.get("env_file").map(|file| Unknown {
            variable: None,
            message: "env_file may set any variable, and is not read".to_owned(),
            location: self.manifest.location(file),
        });
        let unknown = open.chain(files).collect();
        (variables, unknown)
    }

    /// `volumes` as `SOURCE:TARGET[:MODE]` or as a map.
    fn mounts(&self) -> Vec<Mount> {
        let mount = |volume: &Node| {
            let (source, target) = match volume.text() {
                Some(text) => {
                    let mut parts = text.split(':');
                    let first = parts.next().unwrap_or_default();
                    match parts.next().filter(|it| it.starts_with('/')) {
                        Some(target) => (first, target),
                        None => ("", first),
                    }
                }
                None => (
                    volume.text_of("source").unwrap_or_default(),
                    volume.text_of("target")?,
                ),
            };
            let is_path = source.starts_with(['/', '.', '~', '$']);
            Some(Mount {
                path: match target.trim_end_matches('/') {
                    "" => "/".to_owned(),
                    path => path.to_owned(),
                },
                volume: source.to_owned(),
                kind: if is_path { "bind" } else { "volume" }.to_owned(),
                empty: false,
                location: self.manifest.location(volume),
            })
        };
        let volumes = self.service.items_of("volumes");
        volumes.filter_map(mount).collect()
    }

    /// The devices that `deploy` reserves.
    fn devices(&self) -> impl Iterator<Item = &Node> {
        let reserved = self.service.at(["deploy", "resources", "reservations"]);
        reserved.into_iter().flat_map(|it| it.items_of("devices"))
    }

    /// Devices without capabilities, which the schema of Compose requires (compose-spec, `schema/compose-spec.json`, `devices`).
    fn refused_devices(&self) -> Vec<RefusedResource> {
        let refused = self.devices().filter(|it| it.get("capabilities").is_none());
        let refused = refused.filter(|it| it.entries().next().is_some());
        let resource = |device: &Node| RefusedResource {
            resource: "devices".to_owned(),
            problem: "capabilities".to_owned(),
            says: "capabilities is required".to_owned(),
            location: self.manifest.location(device),
            ..RefusedResource::default()
        };
        refused.map(resource).collect()
    }

    /// `gpus`, devices of `deploy` with the capability `gpu`, or `runtime: nvidia`.
    fn gpu(&self) -> Option<GpuRequest> {
        let request = |resource: &str, count: Option<u64>, place: &Node| GpuRequest {
            resource: resource.to_owned(),
            count,
            location: self.manifest.location(place),
        };
        let count = |device: &Node| {
            let ids = device.items_of("device_ids").count() as u64;
            let count = device.text_of("count").and_then(|it| it.parse().ok());
            count.or((ids > 0).then_some(ids))
        };
        let device = self.devices().find(|device| {
            let capabilities = device.get("capabilities").map(Node::texts);
            let is_gpu = capabilities.is_some_and(|all| all.iter().any(|it| it == "gpu"));
            is_gpu || device.text_of("driver") == Some("nvidia")
        });
        if let Some(device) = device {
            let place = device.get("driver").or(device.get("capabilities"));
            return Some(request("gpu", count(device), place.unwrap_or(device)));
        }
        if let Some(gpus) = self.service.get("gpus") {
            return Some(request("gpu", gpus.items().find_map(count), gpus));
        }
        let runtime = self.service.get("runtime")?;
        (runtime.text() == Some("nvidia")).then(|| request("runtime nvidia", None, runtime))
    }

    /// Nothing but the platform decides where a service runs.
    fn placement(&self) -> Placement {
        let platform = self.service.text_of("platform").unwrap_or_default();
        let architecture = platform.split('/').nth(1).map(|architecture| {
            let label = "kubernetes.io/arch".to_owned();
            (label, architecture.to_owned())
        });
        Placement {
            selector: BTreeMap::from_iter(architecture),
            tolerations: vec![Toleration {
                key: None,
                value: None,
                effect: None,
            }],
            ..Placement::default()
        }
    }
}

/// A command as a list, or as a text whose words are split as a shell does it.
fn words(node: &Node) -> Vec<String> {
    let Some(text) = node.text() else {
        return node.texts().iter().map(|it| interpolated(it)).collect();
    };
    let text = interpolated(text);
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
