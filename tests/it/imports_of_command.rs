//! Imports of what the image starts: its command, what a launcher starts, and the application of a server.

use imgcheck::{Checker, ImageRequest};
use imgcheck_launch::Overlay;
use imgcheck_model::imports::AbsenceReason;
use serde_json::json;
use testkit::elf::raw::RawElf;
use testkit::{docker_archive, file, write_archive, write_directory};

use crate::imports::{LIBRARY, failures, torch};
use crate::program::check;
use crate::sample::{Image, SITE, program};

/// An image with a Python and programs, of which it starts this one. `bad.py` imports what is not there.
pub(crate) fn programs(started: &str) -> testkit::Image {
    let layer = [
        file("usr/bin/python3.11", RawElf::new().build()),
        file("usr/bin/python3", RawElf::new().build()),
        file("bin/sh", RawElf::new().build()),
        file("usr/lib/python3.11/os.py", "name = 'posix'\n"),
        file("app/good.py", "import os\n"),
        file("app/bad.py", "import absent\n"),
        file("app/program", "import absent\n"),
    ];
    let command = ["python3".to_owned(), format!("/app/{started}")];
    testkit::Image {
        command: command.to_vec(),
        ..testkit::Image::new("team/image:1", &[&layer])
    }
}

#[test]
fn the_command_is_followed() {
    let image = torch("").text("app/main.py", "import helper\n");
    let image = image.text("app/helper.py", "import os\nfrom torch import absent\n");
    let [failure] = failures(&image.clone().command(&["python3", "/app/main.py"]))
        .try_into()
        .unwrap();
    assert_eq!(
        (failure.program.as_str(), failure.is_command),
        ("/app/main.py", true)
    );
    assert_eq!(
        (failure.importer.as_str(), failure.line),
        ("/app/helper.py", 2)
    );
    assert!(failure.certain);
    let [module] = failures(&image.clone().command(&["python3", "-m", "vllm.server"]))
        .try_into()
        .unwrap();
    assert_eq!((module.module.as_str(), module.line), ("vllm", 0));
    let [code] = failures(
        &image
            .clone()
            .command(&["python3", "-c", "import torch, absent"]),
    )
    .try_into()
    .unwrap();
    assert_eq!(
        (code.program.as_str(), code.module.as_str()),
        ("-c", "absent")
    );
    assert_eq!(
        failures(&image.command(&["python3", "-c", "import torch, os"])),
        []
    );
}

#[test]
fn a_relative_import_out_of_all_packages() {
    let fails = |main: &str, command: &[&str]| {
        let image = torch("")
            .text("app/pkg/__init__.py", "")
            .text("app/pkg/model.py", "Net = 1\n")
            .text("app/pkg/train.py", main);
        let config = json!({"Cmd": command, "WorkingDir": "/app"});
        let failures = failures(&image.config(config)).into_iter();
        let failed = failures.map(|it| (it.module, it.line, it.reason));
        failed.collect::<Vec<_>>()
    };
    let relative = |module: &str| vec![(module.to_owned(), 1, AbsenceReason::RelativeImport)];
    let script = ["python3", "pkg/train.py"];
    let module = ["python3", "-m", "pkg.train"];
    let import = "from .model import Net\n";
    assert_eq!(fails(import, &script), relative(".model"));
    assert_eq!(fails(import, &module), []);
    let above = "from ..model import Net\n";
    assert_eq!(fails(above, &module), relative("..model"));
    let said = format!("__package__ = 'pkg'\n{import}");
    let handled = format!("try:\n    {import}except ImportError:\n    pass\n");
    for fine in [said, handled] {
        assert_eq!(fails(&fine, &script), [], "{fine}");
    }
}

#[test]
fn modules_that_the_user_may_not_read() {
    let fails = |image: Image, main: &str, user: &str| {
        let image = image.text("app/main.py", main);
        let config = json!({"Cmd": ["python3", "/app/main.py"], "User": user});
        let failures = failures(&image.config(config)).into_iter();
        let failed = failures.map(|it| (it.raises, it.elsewhere, it.reason));
        failed.collect::<Vec<_>>()
    };
    let unreadable = |class: &str, path: &str| {
        let reason = AbsenceReason::Unreadable;
        vec![(class.to_owned(), path.to_owned(), reason)]
    };
    let closed = || torch("").text("app/model.py", "Net = 1\n").mode(0o600);
    let import = "from model import Net\n";
    let denied = unreadable("PermissionError", "/app/model.py");
    assert_eq!(fails(closed(), import, "1000"), denied);
    assert_eq!(fails(closed(), import, "0"), []);
    let compiled = closed().text("app/__pycache__/model.cpython-311.pyc", "");
    assert_eq!(fails(compiled, import, "1000"), []);
    for class in ["OSError", "PermissionError", "Exception"] {
        let handled = format!("try:\n    {import}except {class}:\n    pass\n");
        assert_eq!(fails(closed(), &handled, "1000"), [], "{class}");
    }
    // A directory that the user may not search is a package without content.
    let package = || {
        torch("")
            .directory("app/model")
            .mode(0o700)
            .text("app/model/__init__.py", "Net = 1\n")
    };
    let absent = unreadable("ImportError", "/app/model");
    assert_eq!(fails(package(), import, "1000"), absent);
    assert_eq!(fails(package(), "import model\n", "1000"), []);
}

/// The programs of PyTorch, as pip writes them, and the module that they run.
fn torchrun() -> Image {
    let run = format!("{SITE}/torch/distributed/run.py");
    torch("")
        .text(&format!("{SITE}/torch/distributed/__init__.py"), "")
        .text(&run, "def main(): pass\n")
        .text(
            "usr/local/bin/torchrun",
            "#!/usr/local/bin/python3.11\nfrom torch.distributed.run import main\nmain()\n",
        )
        .mode(0o755)
        .directory("srv")
}

#[test]
fn what_a_launcher_starts() {
    let failed = |image: Image, command: &[&str]| {
        let config = json!({"Cmd": command, "WorkingDir": "/srv"});
        let failures = failures(&image.config(config));
        let failed = failures.into_iter().map(|it| (it.program, it.module));
        failed.collect::<Vec<_>>()
    };
    let launchers: [&[&str]; 4] = [
        &["torchrun", "-m"],
        &[
            "bash",
            "-xc",
            "torchrun --nproc-per-node 2 --module \"$@\"",
            "_",
        ],
        &["python3.11", "-m", "torch.distributed.run", "-m"],
        &["python3.11", "-E", "-m", "torch.distributed.launch", "-m"],
    ];
    let shell = |image: Image| image.elf("bin/bash", program(&[])).mode(0o755);
    let launch = format!("{SITE}/torch/distributed/launch.py");
    let image = || shell(torchrun()).text(&launch, "");
    let absent = ("absent.train".to_owned(), "absent".to_owned());
    for launcher in launchers {
        let command = [launcher, &["absent.train"]].concat();
        assert_eq!(
            failed(image(), &command),
            std::slice::from_ref(&absent),
            "{command:?}"
        );
        // The working directory comes first in the search path.
        let module = image().text("srv/absent/train.py", "");
        assert_eq!(failed(module, &command), [], "{command:?}");
    }
    let script = image().text("srv/train.py", "import helper\nimport absent\n");
    let script = script.text("srv/helper.py", "");
    let of_script = ("/srv/train.py".to_owned(), "absent".to_owned());
    assert_eq!(failed(script, &["torchrun", "train.py"]), [of_script]);
    // A launcher that fails starts nothing.
    let run = format!("{SITE}/torch/distributed/run.py");
    let broken = image().text(&run, "import yaml\n");
    let of_launcher = ("/usr/local/bin/torchrun".to_owned(), "yaml".to_owned());
    assert_eq!(failed(broken, &["torchrun", "-m", "absent"]), [of_launcher]);
}

#[test]
fn a_package_that_cannot_be_executed() {
    let failed = |image: Image, command: &[&str]| {
        let failures = failures(&image.command(command)).into_iter();
        let failed = failures.map(|it| (it.module, it.reason));
        failed.collect::<Vec<_>>()
    };
    let not_executable = [("torch.__main__".to_owned(), AbsenceReason::NotExecutable)];
    let dynamic = "import sys\ndef register(name):\n    sys.modules[name] = sys\n";
    let command = ["python3", "-m", "torch"];
    assert_eq!(failed(torch(dynamic), &command), not_executable);
    let launcher = ["torchrun", "-m", "torch"];
    assert_eq!(failed(torchrun(), &launcher), not_executable);
    let main = format!("{SITE}/torch/__main__.py");
    assert_eq!(failed(torch(dynamic).text(&main, ""), &command), []);
    for moved in [
        "__path__.append('/opt/torch')\n",
        "import sys\nsys.path.append('/opt')\n",
    ] {
        assert_eq!(failed(torch(moved), &command), [], "{moved}");
    }
}

/// A server imports its application from the working directory.
#[test]
fn an_application_of_a_server() {
    let failing = |main: &str, command: &[&str]| {
        let image = Image::python()
            .text(&format!("{LIBRARY}/os.py"), "")
            .text(
                "usr/local/bin/uvicorn",
                "#!/usr/local/bin/python3\nimport os\n",
            )
            .text("app/api/main.py", main)
            .config(serde_json::json!({"Cmd": command, "WorkingDir": "/app"}));
        failures(&image)
    };
    let command = ["uvicorn", "api.main:app", "--port", "80"];
    assert_eq!(failing("import os\napp = os\n", &command), []);
    for command in [
        &["uvicorn", "api.main:create()"][..],
        &["uvicorn", "api.main"],
    ] {
        assert_eq!(failing("", command), [], "{command:?}");
    }
    let [failure] = failing("application = 1\n", &command).try_into().unwrap();
    assert_eq!(
        (failure.module.as_str(), failure.name.as_str()),
        ("api.main", "app")
    );
    let [failure] = failing("import yaml\n", &command).try_into().unwrap();
    assert_eq!(
        (failure.module.as_str(), failure.importer.as_str()),
        ("yaml", "/app/api/main.py")
    );
    assert!(failure.is_command && failure.certain);
    let [failure] = failing("", &["uvicorn", "api.other:app"])
        .try_into()
        .unwrap();
    assert_eq!(failure.module, "api.other");
    assert_eq!(
        failing("", &["uvicorn", "api.other:app", "--app-dir", "x"]),
        []
    );
}

#[test]
fn a_program_that_the_image_does_not_have_is_a_gap() {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("image.tar");
    let gaps = |command: &[&str]| {
        let mut image = programs("good.py");
        image.command = command.iter().map(|it| (*it).to_owned()).collect();
        write_archive(&archive, &docker_archive(&[image]));
        let (_, report) = check(&archive, &[]);
        let gaps = report["images"][0]["judged"]["gaps"].as_array();
        let gaps = gaps.into_iter().flatten();
        let gaps = gaps.map(|it| it["message"].as_str().unwrap().to_owned());
        gaps.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(gaps(&["python3", "/app/good.py"]), "");
    let input = gaps(&["python3", "-"]);
    assert!(
        input.contains("Python executes its standard input"),
        "{input}"
    );
    let script = "echo 'import absent' > /tmp/x.py && python3 /tmp/x.py";
    let written = gaps(&["sh", "-c", script]);
    assert!(
        written.contains("Python executes /tmp/x.py, which a script writes"),
        "{written}"
    );
    let unread = gaps(&["python3", "/app/program"]);
    assert!(
        unread.contains("/app/program was not read with the image"),
        "{unread}"
    );
}

#[test]
fn what_a_container_starts_in_place_of_the_command_is_read() {
    const PYTHON: &str = "usr/lib/python3.11";
    let layer = [
        file("usr/bin/python3.11", std::fs::read("/bin/sh").unwrap()),
        file(&format!("{PYTHON}/os.py"), "name = 'posix'\n"),
        file("app/main.py", "import helper\n"),
        file("app/helper.py", "import absent\n"),
    ];
    let scratch = tempfile::tempdir().unwrap();
    write_directory(scratch.path(), &layer);
    let overlay = Overlay {
        command: Some(vec![
            "/usr/bin/python3.11".to_owned(),
            "/app/main.py".to_owned(),
        ]),
        ..Overlay::default()
    };
    let checker = Checker::builder().build().unwrap();
    let rules = |overlays: Vec<Overlay>| {
        let request = ImageRequest::new(scratch.path().display().to_string());
        let mut images = checker.images(&request.launched_with(overlays)).unwrap();
        let (facts, subject) = images.remove(0);
        let subject = subject.launched_with(overlay.clone());
        let findings = checker.judge(&facts, &subject).unwrap();
        let rules = findings.iter().map(|it| it.rule.clone());
        rules.collect::<Vec<String>>()
    };
    let fails = "python-import-fails".to_owned();
    assert!(!rules(Vec::new()).contains(&fails));
    assert!(rules(vec![overlay.clone()]).contains(&fails));
}
