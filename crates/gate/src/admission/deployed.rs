//! The containers of an object in an admission request.

use chrono::{NaiveDate, Utc};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::review::AdmissionRequest;
use super::scope::{self, EPHEMERAL, annotation};
use crate::cluster::Puller;
use crate::judge::Answered;
use crate::queue::ContainerKey;
use crate::setup::View;
use imgcheck_lint::workload::{self, Container, Workload};
use imgcheck_rules::policy::gate::{GateConfig, Mode};

/// The label of a namespace that chooses its mode.
const MODE: &str = "imgcheck.io/mode";
/// The annotation that lets an object through; its value says why.
pub(super) const BREAK_GLASS: &str = "imgcheck.io/break-glass";
/// With this annotation, a dry run asks whether the API server reaches the gate, in every mode.
const PROBE: &str = "imgcheck.io/probe";

/// Why an object is not judged in which something looks like an image or a GPU request, and belongs to no container.
pub(super) const NOT_UNDERSTOOD: &str = "not-understood";

/// An object that starts containers.
pub(super) struct Deployed<'d> {
    pub workload: Workload,
    pub puller: Puller,
    pub config: &'d GateConfig,
    pub mode: Mode,
    pub day: NaiveDate,
    /// Whether it may be denied: it is a Pod, or `deny-workloads` is set.
    pub is_deniable: bool,
    pub is_pod: bool,
}

impl<'d> Deployed<'d> {
    /// # Errors
    /// Why the object is not judged.
    pub fn read(request: &AdmissionRequest, view: &'d View) -> Result<Self, &'static str> {
        if let Some(why) = scope::pass(request) {
            return Err(why);
        }
        let config = view.setup.config();
        let read = |object: &Value| {
            workload::of_object(object, &request.namespace, &view.objects, &view.setup.kinds)
        };
        // What it starts is judged when its controller creates the Pods.
        let is_understood = || {
            let (objects, kinds) = (&view.objects, &view.setup.kinds);
            !workload::has_more(&request.object, objects, kinds)
        };
        let Some(mut workload) = read(&request.object) else {
            return Err(match is_understood() {
                true => "no-containers",
                false => NOT_UNDERSTOOD,
            });
        };
        let uses_gpu = workload.containers.iter().any(|it| {
            let runtime = it.runtime_class.as_ref();
            let is_gpu_runtime = |name: &str| view.setup.kinds.is_gpu_runtime(name);
            it.gpu.is_some()
                || it.may_have_gpu
                || runtime.is_some_and(|it| is_gpu_runtime(&it.name))
        });
        if let Some(before) = read(&request.old_object) {
            if before.containers == workload.containers {
                return Err("unchanged");
            }
            if request.sub_resource == EPHEMERAL {
                workload
                    .containers
                    .retain(|it| !before.containers.contains(it));
            }
        }
        if !uses_gpu && !config.all_pods {
            return Err(match request.is_pod() || is_understood() {
                true => "no-gpu",
                false => NOT_UNDERSTOOD,
            });
        }
        let is_pod = request.is_pod();
        Ok(Deployed {
            workload,
            puller: puller(request),
            config,
            mode: mode_of(request, view),
            day: Utc::now().date_naive(),
            is_deniable: is_pod || config.deny_workloads,
            is_pod,
        })
    }

    /// Why a Pod, or the Pods that an object creates, are let through unjudged.
    pub fn break_glass<'r>(&self, request: &'r AdmissionRequest) -> Option<&'r str> {
        let reason = match self.is_pod {
            true => annotation(&request.object, BREAK_GLASS)?,
            false => annotation_of_pods(&request.object, BREAK_GLASS)?,
        };
        (self.config.break_glass && !reason.trim().is_empty()).then_some(reason)
    }

    /// Why an annotation lets nothing through.
    pub fn without_break_glass(&self, request: &AdmissionRequest) -> Option<String> {
        annotation(&request.object, BREAK_GLASS)?;
        Some(match self.config.break_glass {
            true if self.is_pod => format!("{BREAK_GLASS} gives no reason; ignoring it"),
            true => format!(
                "{BREAK_GLASS} counts on Pods only; write it in the annotations of the Pod template (spec.template.metadata.annotations)"
            ),
            false => format!("{BREAK_GLASS} is not switched on in this cluster; ignoring it"),
        })
    }

    /// Takes out the containers that are let through unjudged, each with the reason.
    pub fn exempt(&mut self) -> Vec<(Container, String)> {
        let (config, day) = (self.config, self.day);
        let namespace = self.workload.namespace.clone();
        let mut exempt = Vec::new();
        self.workload.containers.retain(|container| {
            let exemption = config.exemption(&container.image, &namespace, day);
            exempt.extend(exemption.map(|it| (container.clone(), it.reason.clone())));
            exemption.is_none()
        });
        exempt
    }

    pub fn grace_key(&self, answered: &Answered) -> ContainerKey {
        let containers: Vec<_> = self.workload.containers.iter().collect();
        let text = format!(
            "{:?} {containers:?} {:?}",
            self.workload.namespace, answered.digests
        );
        Sha256::digest(text.as_bytes()).into()
    }
}

/// An annotation of the Pod templates in an object, which its Pods inherit; they do not inherit its own.
fn annotation_of_pods<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    let parts = object.as_object()?.iter();
    let parts = parts.filter(|(key, _)| *key != "metadata");
    let mut found = Vec::new();
    parts.for_each(|(_, part)| scope::texts_of(part, name, &mut found));
    found.into_iter().find_map(Value::as_str)
}

/// Whether a request only asks whether the API server reaches the gate.
pub(super) fn is_probe(request: &AdmissionRequest) -> bool {
    request.is_dry_run() && annotation(&request.object, PROBE).is_some()
}

/// The mode of the namespace of an object.
pub(super) fn mode_of(request: &AdmissionRequest, view: &View) -> Mode {
    let label = mode_label(request, view);
    view.setup.config().mode_of(&request.namespace, label)
}

fn mode_label<'v>(request: &AdmissionRequest, view: &'v View) -> Option<&'v str> {
    let labels = view.cluster.namespaces.get(&request.namespace)?;
    labels.get(MODE).map(String::as_str)
}

/// What is wrong with the label of the namespace, which does not count then.
pub(super) fn wrong_mode(request: &AdmissionRequest, view: &View) -> Option<String> {
    let label = mode_label(request, view)?;
    Mode::named(label).is_none().then(|| {
        format!(
            "the label {MODE}={label} of the namespace {} is not audit, warn, or enforce; ignoring it",
            request.namespace
        )
    })
}

/// The ServiceAccount and the pull secrets that an object names, at any depth.
pub(super) fn puller(request: &AdmissionRequest) -> Puller {
    let (mut accounts, mut secrets) = (Vec::new(), Vec::new());
    scope::texts_of(&request.object, "serviceAccountName", &mut accounts);
    scope::texts_of(&request.object, "imagePullSecrets", &mut secrets);
    let secrets = secrets.into_iter().filter_map(Value::as_array).flatten();
    let mut secrets: Vec<String> = secrets
        .filter_map(|it| it.get("name")?.as_str().map(str::to_owned))
        .collect();
    secrets.dedup();
    let account = accounts
        .into_iter()
        .filter_map(Value::as_str)
        .find(|it| !it.is_empty());
    Puller {
        namespace: request.namespace.clone(),
        service_account: account.unwrap_or("default").to_owned(),
        secrets,
    }
}
