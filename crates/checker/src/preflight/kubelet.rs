//! What the kubelet does with a container beside starting it: it checks the user, and runs the programs of probes and of the lifecycle.

use oci_spec::image::ImageConfiguration;

use super::super::facts::ImageFacts;
use super::super::volumes::Volumes;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::{is_below, name_of};
use imgcheck_launch::{self as launch, Launch, Overlay};
use imgcheck_lint::workload::{Container, ExecFailure, RefusedUser};

/// The failures that no file which the container writes elsewhere may prevent, by their kinds.
const KINDS: [&str; 6] = [
    "damaged",
    "format",
    "loader",
    "missing",
    "permission",
    "script",
];

/// Where programs of the container may be written while it runs.
const WRITABLE: [&str; 5] = ["/dev/shm", "/run", "/tmp", "/var/run", "/var/tmp"];

/// The programs of probes and of the lifecycle that certainly do not start, if the image decides what the container itself does.
pub(super) fn exec_failures(
    facts: &ImageFacts,
    container: &Container,
    launch: &launch::Knowledge,
    bounds: &Bounds,
) -> Result<Vec<ExecFailure>> {
    if container.exec_actions.is_empty() {
        return Ok(Vec::new());
    }
    let layers = facts.layers.iter().map(|layer| &*layer.facts);
    let volumes = Volumes::default();
    let root = volumes.mounted(layers, &container.overlay, bounds)?;
    let main = Launch::of(&root, &facts.config, &container.overlay, launch);
    if !main.gaps.is_empty() {
        return Ok(Vec::new());
    }
    // A script may write others, or make them executable.
    let may_bring =
        |path: &str| may_be_written(path) || path.contains('/') && !main.chain.is_empty();
    let failures = container.exec_actions.iter().filter_map(|action| {
        let overlay = Overlay {
            command: Some(action.command.clone()),
            args: None,
            ..container.overlay.clone()
        };
        let started = Launch::of(&root, &facts.config, &overlay, launch);
        let failures = started.failures.iter();
        let failures = failures.filter(|it| KINDS.contains(&it.kind.as_str()));
        let failures = failures.map(|it| {
            let program = match it.kind.as_str() {
                "missing" | "script" => &it.subject,
                _ => &it.program,
            };
            (program.clone(), it.message.clone())
        });
        let mut all = failures.chain(missing_script(&started));
        let (program, says) = all.find(|(program, _)| !may_bring(program))?;
        Some(ExecFailure {
            field: action.field.clone(),
            program,
            says,
            location: action.location.clone(),
        })
    });
    Ok(failures.collect())
}

/// The script that a command runs with Python, if it is certainly not there, and what Python says.
fn missing_script(launch: &Launch) -> Option<(String, String)> {
    let [program, script, ..] = launch.arguments.as_slice() else {
        return None;
    };
    let path = launch.absolute(script);
    let mut missing = launch.missing_operands.iter();
    let is_missing = missing.any(|it| it.path == path && it.is_certain);
    let is_python = name_of(program).starts_with("python");
    (is_python && is_missing && launch.gaps.is_empty()).then(|| {
        let says = format!("can't open file '{path}': [Errno 2] No such file or directory");
        (path, says)
    })
}

/// Whether a path is where programs usually write.
pub(super) fn may_be_written(path: &str) -> bool {
    WRITABLE.iter().any(|it| is_below(path, it))
}

/// Why the kubelet does not start a container with `runAsNonRoot` (kubernetes/kubernetes, `verifyRunAsNonRoot` in
/// `pkg/kubelet/kuberuntime/security_context.go`).
pub(super) fn refused_user(
    config: &ImageConfiguration,
    container: &Container,
) -> Option<RefusedUser> {
    let location = container.run_as_non_root.clone()?;
    let of_image = config.config().as_ref().and_then(|it| it.user().as_deref());
    let id = |user: &str| user.split(':').next().unwrap_or_default().to_owned();
    let says = match (&container.overlay.user, id(of_image.unwrap_or_default())) {
        (Some(user), _) if id(user) == "0" => {
            "container's runAsUser breaks non-root policy".to_owned()
        }
        (Some(_), _) => return None,
        (None, user) if user.is_empty() || user.parse() == Ok(0) => {
            "container has runAsNonRoot and image will run as root".to_owned()
        }
        (None, user) if user.parse::<i64>().is_ok() => return None,
        (None, user) => format!(
            "container has runAsNonRoot and image has non-numeric user ({user}), cannot verify user is non-root"
        ),
    };
    Some(RefusedUser { says, location })
}
