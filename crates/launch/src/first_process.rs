//! The first process of a container.

use oci_spec::image::ImageConfiguration;

use crate::locate::DEFAULT_PATH;
use crate::overlay::Overlay;
use crate::process::{Environment, Input, Process, Setting};
use crate::user::User;
use imgcheck_image::{RootFilesystem, configuration};

/// The container's first process, its command as texts, and its user.
pub(crate) fn first_process(
    root: &RootFilesystem,
    config: &ImageConfiguration,
    overlay: &Overlay,
) -> (Process, Vec<String>, User) {
    let configured = config.config().as_ref();
    let text = |field: Option<&Option<String>>| field.cloned().flatten().unwrap_or_default();
    let entrypoint = configured.and_then(|it| it.entrypoint().as_deref());
    let command = configured.and_then(|it| it.cmd().as_deref());
    let command = overlay.arguments(entrypoint, command);
    let written = text(configured.map(|it| it.user()));
    let written = overlay.user.clone().unwrap_or(written);
    let user = User::of(root, &written);
    let mut environment = Environment::new();
    for (name, value) in overlay.environment(configuration::environment(config)) {
        let is_overlaid = overlay.env.contains_key(&name);
        let setting = Setting {
            value: value.into(),
            from: if is_overlaid { "overlay" } else { "image" }.into(),
        };
        environment.insert(name.into(), setting);
    }
    // Container engines set these where the image does not.
    for (name, value) in [("PATH", DEFAULT_PATH), ("HOME", &user.home)] {
        environment.entry(name.into()).or_insert(Setting {
            value: value.into(),
            from: "image".into(),
        });
    }
    let directory = overlay.working_directory.clone();
    let directory = directory.unwrap_or_else(|| text(configured.map(|it| it.working_dir())));
    let directory = match directory.starts_with('/') {
        true => root
            .resolve(&directory)
            .map_or(directory.clone(), |it| it.path()),
        false => "/".to_owned(),
    };
    let process = Process {
        arguments: command.iter().map(|it| it.as_str().into()).collect(),
        environment,
        directory: directory.into(),
        user: user.written.as_str().into(),
        chain: Vec::new(),
        depth: 0,
        input: Input::Inherited,
        loader: None,
    };
    (process, command, user)
}
