//! Command lines, environments and entrypoint scripts.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use oci_spec::image::ImageConfiguration;

use super::script::library_path;
use super::{Launch, Overlay};
use crate::image::RootFilesystem;
use crate::layer::{Content, Entry, EntryKind, LayerFacts};

fn launch(process: &str, overlay: &Overlay) -> Launch {
    let script = "#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nexec \"$@\"\n";
    let layer = LayerFacts {
        entries: vec![Entry {
            path: "usr/bin/start.sh".to_owned(),
            kind: EntryKind::File(Content::Text(script.to_owned())),
            size: 1,
            mode: 0o755,
        }],
    };
    let config = format!(
        r#"{{"architecture": "amd64", "os": "linux", "config": {process}, "rootfs": {{"type": "layers", "diff_ids": []}}}}"#
    );
    let config = ImageConfiguration::from_reader(config.as_bytes()).unwrap();
    Launch::of(&RootFilesystem::merge([&layer]), &config, overlay)
}

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|it| (*it).to_owned()).collect())
}

#[test]
fn the_image_configuration_gives_the_defaults() {
    let launch = launch(
        r#"{"Entrypoint": ["start.sh"], "Cmd": ["serve"], "Env": ["LD_LIBRARY_PATH=/a"], "User": "app"}"#,
        &Overlay::default(),
    );
    assert_eq!(launch.arguments, ["start.sh", "serve"]);
    assert_eq!(launch.executable.as_deref(), Some("/usr/bin/start.sh"));
    assert_eq!(launch.variable("LD_LIBRARY_PATH"), "/opt/lib:/a");
    assert_eq!(launch.library_path_from, "/usr/bin/start.sh");
    assert_eq!(launch.working_directory, "/");
    assert_eq!(launch.user, "app");
}

#[test]
fn an_overlay_replaces_command_environment_and_working_directory() {
    let image = r#"{"Entrypoint": ["start.sh"], "Cmd": ["serve"], "Env": ["A=1", "B=2"], "WorkingDir": "/app"}"#;
    let with = |overlay: Overlay| launch(image, &overlay);
    let command = with(Overlay {
        command: words(&["python3"]),
        env: BTreeMap::from([("LD_LIBRARY_PATH".to_owned(), "/old".to_owned())]),
        unset: BTreeSet::from(["A".to_owned()]),
        working_directory: Some("/srv".to_owned()),
        ..Overlay::default()
    });
    assert_eq!(command.arguments, ["python3"]);
    assert_eq!(command.library_path_from, "overlay");
    assert_eq!(command.variable("LD_LIBRARY_PATH"), "/old");
    assert_eq!((command.variable("A"), command.variable("B")), ("", "2"));
    assert_eq!(command.working_directory, "/srv");
    let args = with(Overlay {
        args: words(&["train"]),
        ..Overlay::default()
    });
    assert_eq!(args.arguments, ["start.sh", "train"]);
}

#[test]
fn reads_plain_assignments_only() {
    let value = |script: &str| library_path(script, "/a");
    assert_eq!(
        value("export LD_LIBRARY_PATH=/x:/y\n").as_deref(),
        Some("/x:/y")
    );
    assert_eq!(
        value("#!/bin/sh\nexport LD_LIBRARY_PATH=\"/x:$LD_LIBRARY_PATH\"\nexec \"$@\"").as_deref(),
        Some("/x:/a")
    );
    assert_eq!(
        value("LD_LIBRARY_PATH=/x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}").as_deref(),
        Some("/x:/a")
    );
    assert_eq!(
        library_path(
            "export LD_LIBRARY_PATH=/x${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}",
            ""
        )
        .as_deref(),
        Some("/x")
    );
    assert_eq!(value("export LD_LIBRARY_PATH=$CUDA_HOME/lib64"), None);
    assert_eq!(value("export LD_LIBRARY_PATH=$(find /opt)"), None);
    assert_eq!(value("echo LD_LIBRARY_PATH"), None);
    assert_eq!(value("LD_LIBRARY_PATH=/z;").as_deref(), Some("/z"));
    assert_eq!(value("if x; then\n  LD_LIBRARY_PATH=/z; fi"), None);
    assert_eq!(value("LD_LIBRARY_PATH=/z /opt/old/bin/init"), None);
    assert_eq!(library_path("LD_LIBRARY_PATH=/z", ""), None);
}
