//! The containers of a Pod.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::environment::{Environment, expand};
use super::quantity::Quantity;
use super::reader::Reader;
use super::security_context::SecurityContext;
use super::{config_maps, keys, resources, scheduling};
use crate::workload::facts::{
    Container, ExecAction, GpuRequest, MisspelledGpu, Mount, RdmaRequest, Role, RuntimeClass,
    Unknown, Variable, may_set_path, patterns,
};
use crate::workload::placement::Placement;
use crate::workload::shape::{LISTS, containers_of, has_claim, volume};
use crate::workload::text::Manifest;
use imgcheck_base::document::Node;
use imgcheck_base::lexical::simplified;
use imgcheck_launch::Overlay;

const SHARED_MEMORY: &str = "/dev/shm";
/// What container engines give.
const DEFAULT_SHARED_MEMORY: &str = "64Mi";
/// The variable by which NVIDIA's container runtime gives GPUs, and the values that give none (NVIDIA Container Toolkit, "Specialized
/// Configurations with Docker").
const VISIBLE_DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";
const NO_DEVICES: [&str; 3] = ["", "none", "void"];

/// The specification of a Pod, and what its containers share.
pub(super) struct Template<'p> {
    pod: &'p Node,
    object: &'p Node,
    group: String,
    reader: &'p Reader<'p>,
    placement: Arc<Placement>,
    /// How many containers mount each volume.
    mounted: HashMap<&'p str, usize>,
    /// Volumes that a webhook adds because an annotation asks for them.
    injected: Vec<Mount>,
}

impl<'p> Template<'p> {
    pub fn new(pod: &'p Node, object: &'p Node, group: String, reader: &'p Reader<'p>) -> Self {
        let class = pod.text_of("runtimeClassName");
        let selector = class.and_then(|it| reader.objects.runtime_selector(it));
        let mut placement = scheduling::placement(pod, selector);
        let shares = |name: &String, _: &mut u64| !reader.kinds.is_gpu_share(name);
        placement.resources.retain(shares);
        let lists = ["containers", "initContainers"].into_iter();
        let requests = lists
            .flat_map(|it| pod.items_of(it))
            .flat_map(|it| misspelled(it, reader));
        let names = requests.filter_map(|(key, _)| key.text());
        placement.misspelled = names.map(str::to_owned).collect();
        placement.flavors = reader.objects.flavors(object, reader.namespace, &placement);
        let mut mounted = HashMap::new();
        for container in containers_of(pod) {
            let names = container.items_of("volumeMounts");
            let names: BTreeSet<&str> = names.filter_map(|it| it.text_of("name")).collect();
            names
                .into_iter()
                .for_each(|it| *mounted.entry(it).or_default() += 1);
        }
        let mut template = Template {
            mounted,
            injected: injected_mounts(object, reader),
            placement: Arc::default(),
            pod,
            object,
            group,
            reader,
        };
        placement.has_gpu = containers_of(pod).any(|it| template.gpu(it).is_some());
        template.placement = Arc::new(placement);
        template
    }

    /// All containers: init and ephemeral ones, too.
    pub fn containers(&self) -> Vec<Container> {
        let lists = LISTS.iter();
        let all = lists.flat_map(|(list, role)| {
            let items = self.pod.items_of(list);
            items.map(move |container| self.container(container, *role))
        });
        all.collect()
    }

    fn container(&self, container: &Node, role: Role) -> Container {
        let manifest = self.reader.manifest;
        let image = container.get("image");
        let restarts = container.text_of("restartPolicy") == Some("Always");
        let environment = Environment::read(container, self.reader);
        let mut mounts = self.mounts(container);
        mounts.extend(self.injected.iter().cloned());
        let config_maps = config_maps::mounted(container, self.pod, self.reader);
        let unknown_mounts = mounts.iter().map(|it| &it.path);
        let unknown_mounts = unknown_mounts.filter(|it| !config_maps.contains_key(*it));
        let command = ["command", "args"].map(|key| container.get(key));
        let [own_command, args] = command.map(|list| {
            let texts = list?.texts();
            let expanded = texts.iter().map(|it| expand(it, &environment.values));
            Some(expanded.collect::<Vec<_>>()).filter(|it| !it.is_empty())
        });
        let may_have_gpu = self.may_have_gpu(container, &environment.variables);
        let security = self.security(container);
        let host_ipc = self.pod.text_of("hostIPC") == Some("true");
        let runtime = self.pod.get("runtimeClassName");
        Container {
            name: container.text_of("name").unwrap_or_default().to_owned(),
            group: self.group.clone(),
            role: match role {
                Role::Init if restarts => Role::Sidecar,
                role => role,
            },
            image: image.and_then(Node::text).unwrap_or_default().to_owned(),
            decided_by: String::new(),
            location: manifest.location(image.unwrap_or(container)),
            command_location: command
                .into_iter()
                .flatten()
                .next()
                .map(|it| manifest.location(it)),
            overlay: Overlay {
                command: own_command,
                args,
                env: environment.values,
                unset: BTreeSet::new(),
                working_directory: container.text_of("workingDir").map(str::to_owned),
                user: security.user(),
                volumes: unknown_mounts.cloned().collect(),
                config_maps,
                other_volumes: true,
                other_groups: security.has_other_groups(),
                read_only: security.is_set("readOnlyRootFilesystem"),
                programs_known: false,
                other_search_path: may_set_path(&environment.unknown),
                other_variables: self.other_variables(&environment.unknown),
            },
            env: environment.variables,
            unknown: environment.unknown,
            default_shm: !host_ipc && self.has_little_shared_memory(&mounts),
            mounts,
            gpu: self.gpu(container),
            misspelled_gpus: self.misspelled_gpus(container),
            other_gpu: self.other_gpu(container),
            refused_resources: resources::refused(container, manifest),
            refused_fields: keys::refused_objects(container, self.pod, self.reader),
            missing_keys: keys::missing(container, self.pod, self.reader),
            gpus: Vec::new(),
            rdma: self.rdma(container),
            privileged: security.is_set("privileged"),
            may_have_gpu,
            runtime_class: runtime.and_then(|class| {
                Some(RuntimeClass {
                    name: class.text()?.to_owned(),
                    location: manifest.location(class),
                })
            }),
            exec_actions: exec_actions(container, manifest),
            run_as_non_root: security.run_as_non_root().map(|it| manifest.location(it)),
            placement: self.placement.clone(),
        }
    }

    fn security<'c>(&'c self, container: &'c Node) -> SecurityContext<'c> {
        SecurityContext::of(self.pod, container)
    }

    /// Patterns of the variables that the kubelet sets (`makeEnvironmentVariables` in pkg/kubelet/kubelet_pods.go), and of those whose values are
    /// not in the input.
    fn other_variables(&self, unknown: &[Unknown]) -> Vec<String> {
        let kinds = self.reader.kinds;
        let mut found = patterns(unknown);
        found.extend(kinds.pod_variables.iter().cloned());
        if self.pod.text_of("enableServiceLinks") != Some("false") {
            found.extend(kinds.service_variables.iter().cloned());
        }
        found
    }

    fn mounts(&self, container: &Node) -> Vec<Mount> {
        let mount = |mount: &Node| {
            let path = mount.text_of("mountPath")?;
            let name = mount.text_of("name").unwrap_or_default();
            let volume = volume(self.pod, name);
            let kinds = volume.into_iter().flat_map(Node::entries);
            let kind = kinds
                .filter_map(|(key, _)| key.text())
                .find(|key| *key != "name");
            let is_claim = has_claim(self.object, name);
            Some(Mount {
                empty: kind == Some("emptyDir")
                    && self.mounted.get(name) == Some(&1)
                    && container.at(["lifecycle", "postStart"]).is_none(),
                path: simplified(path),
                volume: name.to_owned(),
                kind: match kind {
                    Some(kind) => kind.to_owned(),
                    None if is_claim => "persistentVolumeClaim".to_owned(),
                    None => String::new(),
                },
                location: self
                    .reader
                    .manifest
                    .location(mount.get("mountPath").unwrap_or(mount)),
            })
        };
        container
            .items_of("volumeMounts")
            .filter_map(mount)
            .collect()
    }

    /// Whether no volume gives a container more shared memory than container engines do.
    fn has_little_shared_memory(&self, mounts: &[Mount]) -> bool {
        let Some(mount) = mounts.iter().find(|it| it.path == SHARED_MEMORY) else {
            return true;
        };
        let volume = volume(self.pod, &mount.volume);
        let directory = volume.and_then(|it| it.get("emptyDir"));
        let directory = directory.filter(|it| it.text_of("medium") == Some("Memory"));
        let size = directory.and_then(|it| it.text_of("sizeLimit"));
        let quantity = |text: &str| Quantity::parse(text).ok().flatten();
        size.and_then(quantity)
            .is_some_and(|it| Some(it) <= quantity(DEFAULT_SHARED_MEMORY))
    }

    /// The first request for GPUs: an extended resource, or a claim (dynamic resource allocation).
    fn gpu(&self, container: &Node) -> Option<GpuRequest> {
        let (manifest, kinds) = (self.reader.manifest, self.reader.kinds);
        let request = |shares: bool| {
            requests(container).find_map(|(key, value)| {
                let name = key.text()?;
                let count = value.text().and_then(|it| it.parse().ok());
                let is_gpu = kinds.is_gpu_resource(name) && count != Some(0);
                (is_gpu && kinds.is_gpu_share(name) == shares).then(|| GpuRequest {
                    resource: name.to_owned(),
                    count: count.filter(|_| !shares),
                    location: manifest.location(key),
                })
            })
        };
        let resource = request(false).or_else(|| request(true));
        resource.or_else(|| self.claim(container))
    }

    /// Requests with a misspelled name of a GPU resource, each name once.
    fn misspelled_gpus(&self, container: &Node) -> Vec<MisspelledGpu> {
        let mut found: Vec<MisspelledGpu> = Vec::new();
        for (key, meant) in misspelled(container, self.reader) {
            let name = key.text().unwrap_or_default();
            if !found.iter().any(|it| it.resource == name) {
                found.push(MisspelledGpu {
                    resource: name.to_owned(),
                    meant: meant.to_owned(),
                    location: self.reader.manifest.location(key),
                });
            }
        }
        found
    }

    /// The first request for a GPU of another vendor; empty without one.
    fn other_gpu(&self, container: &Node) -> String {
        let mut requests = requests(container).filter(|(_, value)| value.text() != Some("0"));
        let other = requests.find_map(|(key, _)| {
            let name = key.text()?;
            self.reader.kinds.is_other_gpu(name).then_some(name)
        });
        other.unwrap_or_default().to_owned()
    }

    /// Whether a container may get a GPU that it does not request for certain.
    fn may_have_gpu(&self, container: &Node, variables: &[Variable]) -> bool {
        let kinds = self.reader.kinds;
        let has_claim = || self.claims(container).any(|(_, class)| class.is_none());
        let has_resource = || {
            let mut names = requests(container).filter_map(|(key, value)| {
                let name = key.text()?;
                (value.text() != Some("0")).then_some(name)
            });
            names.any(|it| kinds.is_perhaps_gpu(it))
        };
        let mut variables = variables.iter().filter(|it| it.name == VISIBLE_DEVICES);
        let has_variable = variables.any(|it| {
            let value = it.value.as_deref();
            value.is_none_or(|it| !NO_DEVICES.contains(&it))
        });
        has_variable || has_claim() || has_resource() || self.has_devices(container)
    }

    /// Whether a container is privileged and mounts the devices of the node.
    fn has_devices(&self, container: &Node) -> bool {
        let mut mounts = container.items_of("volumeMounts");
        self.security(container).is_set("privileged")
            && mounts.any(|mount| {
                let volume = mount.text_of("name").and_then(|it| volume(self.pod, it));
                let path = volume.and_then(|it| it.at(["hostPath", "path"])?.text());
                path.is_some_and(|it| simplified(it) == "/dev" || it.starts_with("/dev/nvidia"))
            })
    }

    /// The first request for an adapter for RDMA.
    fn rdma(&self, container: &Node) -> Option<RdmaRequest> {
        requests(container).find_map(|(key, value)| {
            let name = key.text()?;
            let is_rdma = self.reader.kinds.is_rdma_resource(name) && value.text() != Some("0");
            is_rdma.then(|| RdmaRequest {
                resource: name.to_owned(),
                location: self.reader.manifest.location(key),
            })
        })
    }

    /// The request by a claim for a GPU.
    fn claim(&self, container: &Node) -> Option<GpuRequest> {
        let mut claims = self.claims(container);
        claims.find_map(|(used, class)| {
            Some(GpuRequest {
                resource: class??.to_owned(),
                count: None,
                location: self.reader.manifest.location(used),
            })
        })
    }

    /// The resource claims that a container uses, as [`Objects::gpu_claim`](super::objects::Objects::gpu_claim) knows them. The operator of NIM makes
    /// those that have a `claimCreationSpec` (NVIDIA/k8s-nim-operator, `config/samples/nim/serving/advanced/dra/auto-creation`).
    fn claims<'c>(
        &'c self,
        container: &'c Node,
    ) -> impl Iterator<Item = (&'c Node, Option<Option<&'c str>>)> {
        let reader = self.reader;
        let used = container.get("resources").into_iter();
        used.flat_map(|it| it.items_of("claims"))
            .filter_map(move |used| {
                let name = used.text_of("name")?;
                let mut declared = self.pod.items_of("resourceClaims");
                let declared = declared.find(|it| it.text_of("name") == Some(name))?;
                if let Some(made) = declared.get("claimCreationSpec") {
                    let devices = made.items_of("devices");
                    let mut classes = devices.filter_map(|it| it.text_of("deviceClassName"));
                    let class = classes.find(|it| reader.kinds.is_gpu_class(it));
                    return Some((used, Some(class)));
                }
                let template = declared
                    .text_of("resourceClaimTemplateName")
                    .or(declared.text_of("resourceClaimName"));
                let template = template.unwrap_or_default();
                Some((used, reader.objects.gpu_claim(reader.namespace, template)))
            })
    }
}

/// Whether the manifest mounts a volume at `/dev/shm`, which a controller leaves as it is (`addEmptyDir` in KubeRay's `common/pod.go`).
pub(super) fn mounts_shared_memory(container: &Container) -> bool {
    let mut mounts = container.mounts.iter();
    mounts.any(|it| it.path == SHARED_MEMORY)
}

fn injected_mounts(object: &Node, reader: &Reader) -> Vec<Mount> {
    let rows = reader.kinds.injected_volumes.iter();
    let mounts = rows.filter_map(|row| {
        let value = annotation(object, &row.annotation)?;
        (value.text() == Some(&row.value)).then(|| Mount {
            path: row.path.clone(),
            volume: row.annotation.clone(),
            location: reader.manifest.location(value),
            ..Mount::default()
        })
    });
    mounts.collect()
}

/// The value of an annotation of an object, or of a Pod template in it.
fn annotation<'n>(object: &'n Node, name: &str) -> Option<&'n Node> {
    let own = object.at(["metadata", "annotations", name]);
    let values = object.entries().map(|(_, value)| value);
    own.or_else(|| {
        values
            .chain(object.items())
            .find_map(|it| annotation(it, name))
    })
}

/// The programs that the kubelet starts in a container, but for `preStop`, whose failure changes nothing.
fn exec_actions(container: &Node, manifest: &Manifest) -> Vec<ExecAction> {
    const FIELDS: [&str; 4] = [
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle.postStart",
    ];
    let action = |field: &str| {
        let path = field.split('.').chain(["exec", "command"]);
        let command = container.at(path)?;
        Some(ExecAction {
            field: field.to_owned(),
            command: command.texts(),
            location: manifest.location(command),
        })
    };
    FIELDS.into_iter().filter_map(action).collect()
}

/// The resources that a container requests, and how much of each.
fn requests(container: &Node) -> impl Iterator<Item = &(Node, Node)> {
    let groups = ["limits", "requests"].map(|key| container.at(["resources", key]));
    groups.into_iter().flatten().flat_map(Node::entries)
}

/// The requests of a container with misspelled names of GPU resources, each with the resource that is meant.
fn misspelled<'c>(
    container: &'c Node,
    reader: &'c Reader,
) -> impl Iterator<Item = (&'c Node, &'c str)> {
    let requests = requests(container).filter(|(_, value)| value.text() != Some("0"));
    requests.filter_map(|(key, _)| Some((key, reader.kinds.misspelled_gpu(key.text()?)?)))
}
