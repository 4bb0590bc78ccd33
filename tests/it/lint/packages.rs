//! Which packages are found.

use super::*;

#[test]
fn a_here_document_is_the_input_of_one_command() {
    let text =
        "FROM a\nRUN cat <<A > /x && bash <<B && bash\npip install one\nA\npip install two\nB\n";
    assert_eq!(installed(text), ["0: two"]);
    let body = "pip install x==1\n".repeat(100);
    let commands = "bash <<E; ".repeat(300);
    let text = format!("FROM a\nRUN {commands}true\n{body}E\n");
    assert!(
        parse(FileKind::Dockerfile, &text).is_none_or(|found| found.stages[0].pins.len() == 100)
    );
}

#[test]
fn loader_configuration_that_is_copied_from_a_here_document_is_read() {
    for (target, expected) in [
        ("/etc/ld.so.conf.d/x.conf", true),
        ("/etc/ld.so.conf.d/", true),
        ("/etc/motd", false),
    ] {
        let text = format!("FROM a\nCOPY <<E.conf {target}\n/usr/local/cuda/lib64/stubs\nE.conf\n");
        let files = directory(&[("Dockerfile", &text)]);
        let (_, report) = json(files.path(), &["Dockerfile"]);
        let expected = match expected {
            true => vec!["lint-stub-path Dockerfile:3:1"],
            false => vec![],
        };
        assert_eq!(places(&report), expected, "{target}");
    }
}

/// What stages install: `stage: package` for each, `?` behind what only may be.
fn installed(text: &str) -> Vec<String> {
    let sources = parse(FileKind::Dockerfile, text).unwrap();
    let pins = sources.stages.iter().flat_map(|stage| {
        stage.pins.iter().map(move |pin| {
            let sure = if pin.conditional { "?" } else { "" };
            let place = if pin.environment.is_empty() {
                String::new()
            } else {
                format!(" in {}", pin.environment)
            };
            format!("{}: {}{sure}{place}", stage.index, pin.text)
        })
    });
    pins.collect()
}

#[test]
fn packages_are_found_however_they_are_installed() {
    for (text, expected) in [
        (
            "FROM a\nRUN pip install x==1 \\\n # c\n\n  'y>=2'",
            vec!["0: x==1", "0: y>=2"],
        ),
        (
            "FROM a\nRUN [\"pip\", \"install\", \"x==1\"]",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN [\"/bin/bash\", \"-c\", \"pip install x==1\"]",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN bash -lc 'pip install x==1 && true'",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN <<EOF\ncat <<X > /y.sh\npip install no\nX\ngosu app pip install x==1\nEOF",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN <<EOF\npip install x==1\nEOF\nRUN pip install y",
            vec!["0: x==1", "0: y"],
        ),
        (
            "FROM a\nRUN --mount=type=cache \\\n <<-\"E\"\n\tpip install x==1\n\tE\n",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN bash -e <<E && pip install y\npip install x==1\nE\n",
            vec!["0: x==1", "0: y"],
        ),
        ("FROM a\nRUN python3 - <<E\npip install x==1\nE\n", vec![]),
        (
            "FROM a\nRUN <<E\n#!/usr/bin/env python3\npip install x==1\nE\n",
            vec![],
        ),
        ("FROM a\nCOPY <<E /x\nRUN pip install x==1\nE\n", vec![]),
        (
            "ARG V=1\nFROM a\nARG V\nENV W=${V}.2 U=$W\nRUN pip install x==$W y==$U z==$NONE",
            vec!["0: x==1.2", "0: y==$U", "0: z==$NONE"],
        ),
        (
            "FROM a\nRUN V=1.2.3 && pip install x==${V%.*} && if a; then pip install y; fi",
            vec!["0: x==1.2", "0: y?"],
        ),
        (
            "FROM a\nRUN python3 -m venv /v && . /v/bin/activate && pip install x; /w/bin/pip install y",
            vec!["0: x in /v", "0: y in /w"],
        ),
        (
            "FROM a\nENV PATH=/opt/venv/bin:$PATH\nRUN pip install x\nRUN conda run -n e pip install y",
            vec!["0: x in /opt/venv", "0: y in e"],
        ),
        (
            "FROM a AS b\nRUN pip install x\nFROM B\nRUN pip install y\nFROM c",
            vec!["0: x", "1: x", "1: y"],
        ),
        (
            "# escape=`\nFROM a\nRUN pip install x `\n y",
            vec!["0: x", "0: y"],
        ),
        ("FROM a\nSHELL [\"powershell\"]\nRUN pip install x", vec![]),
        (
            "FROM a AS b\nSHELL [\"conda\", \"run\", \"--no-capture-output\", \"-n\", \"e\", \"/bin/bash\", \"-c\"]\nRUN pip install x\nFROM b\nRUN conda install y\nRUN [\"pip\", \"install\", \"z\"]\nSHELL [\"/bin/bash\", \"-lc\"]\nRUN pip install v",
            vec!["0: x in e", "1: x in e", "1: y in e", "1: z", "1: v"],
        ),
        (
            "FROM a\nSHELL [\"micromamba\", \"run\", \"--cwd\", \"/x\", \"-p\", \"/e\", \"bash\", \"-c\"]\nRUN <<E\npip install x\n/v/bin/pip install y\nconda run -n f pip install z\nE\n",
            vec!["0: x in /e", "0: y in /v", "0: z in f"],
        ),
        (
            "FROM a\nSHELL [\"/opt/conda/bin/mamba\", \"run\", \"--name=e\", \"bash\", \"-c\"]\nRUN pip install x",
            vec!["0: x in e"],
        ),
        (
            "FROM a\nRUN pip install -e . ./b c.whl git+https://x/y 'z @ https://x/z-1.0+cu118-py3-none-any.whl'",
            vec![
                "0: git+https://x/y",
                "0: z @ https://x/z-1.0+cu118-py3-none-any.whl",
            ],
        ),
    ] {
        assert_eq!(installed(text), expected, "{text}");
    }
}

#[test]
fn build_only_stages_are_recognized() {
    let shipped = |text: &str| {
        let stages = parse(FileKind::Dockerfile, text).unwrap().stages;
        stages
            .iter()
            .map(|stage| stage.shipped)
            .collect::<Vec<bool>>()
    };
    assert_eq!(
        shipped("FROM a AS b\nFROM c\nCOPY --from=b /x /x"),
        [false, true]
    );
    assert_eq!(
        shipped("FROM a AS b\nFROM c\nRUN --mount=type=bind,from=b,target=/x true"),
        [false, true]
    );
    assert_eq!(
        shipped("FROM a\nFROM c\nCOPY --from=0 /x /x"),
        [false, true]
    );
    assert_eq!(
        shipped("FROM a AS b\nFROM b AS c\nFROM b\nCOPY --from=c /x /x"),
        [true, false, true]
    );
    assert_eq!(shipped("FROM a AS test\nFROM c"), [true, true]);
}

/// uv installs the requirements of a project; what comes behind it in the Dockerfile is judged all the same.
#[test]
fn a_project_is_not_read_as_a_requirements_file() {
    let directory = directory(&[
        (
            "Dockerfile",
            "FROM python:3.12\nCOPY pyproject.toml .\nRUN uv pip install --system -r pyproject.toml\n\
             RUN pip install torch==2.8.0 torchvision==0.19.0\n",
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\nversion = \"1\"\n",
        ),
    ]);
    let (code, report) = json(directory.path(), &["Dockerfile"]);
    assert_eq!(code, 1, "{report}");
    let found = places(&report);
    assert!(
        found
            .iter()
            .any(|place| place.starts_with("lint-pin-conflict Dockerfile:4")),
        "{found:?}"
    );
}

#[test]
fn several_indexes_are_judged_together() {
    let cuda = "PyTorch 2.8.0 was never built for CUDA 11.8";
    let own = "https://download.pytorch.org/whl/cu118";
    let warning = vec![format!("warning: {cuda}")];
    let error = vec![format!("error: {cuda}")];
    for (options, expected) in [
        (format!("--index-url {own}"), &error),
        (format!("--extra-index-url {own}"), &warning),
        (
            format!("--index-url {own} --extra-index-url https://pypi.org/simple"),
            &warning,
        ),
        (
            format!("-i https://mirrors.aliyun.com/pypi/simple --extra-index-url {own}"),
            &warning,
        ),
    ] {
        let text = format!("FROM python:3.12\nRUN pip install torch==2.8.0 {options}\n");
        assert_eq!(&said("Dockerfile", &text).1, expected, "{options}");
    }
    let both = format!(
        "FROM python:3.12 AS a\nRUN pip install torch==2.8.0 --extra-index-url {own}\n\
         FROM python:3.12\nRUN pip install torch==2.8.0 --index-url {own}\n"
    );
    assert_eq!(said("Dockerfile", &both), (1, [warning, error].concat()));
}

#[test]
fn a_uv_backend_is_judged() {
    let error = "error: PyTorch 2.8.0 was never built for CUDA 11.8";
    for (command, expected) in [
        (
            "uv pip install --system torch==2.8.0 torchvision==0.23.0 --torch-backend=cu118",
            vec![error],
        ),
        (
            "UV_TORCH_BACKEND=cu118 uv pip install --system torch==2.8.0",
            vec![error],
        ),
        ("UV_TORCH_BACKEND=cu118 pip install torch==2.8.0", vec![]),
        (
            "uv pip install --system torch==2.8.0 --torch-backend=auto",
            vec![
                "warning: uv chooses a CPU build of `torch==2.8.0` in a build, which has no driver",
            ],
        ),
        (
            "uv pip install --system torch==2.8.0 --torch-backend=cu128",
            vec![],
        ),
    ] {
        let text = format!("FROM python:3.12\nRUN {command}\n");
        assert_eq!(said("Dockerfile", &text).1, expected, "{command}");
    }
}

#[test]
fn sources_of_uv_are_chosen_by_their_markers() {
    let project = |sources: &str| {
        format!(
            "[project]\nname = \"x\"\nversion = \"1\"\ndependencies = [\"torch==2.8.0\", \"torchvision==0.23.0\"]\n\
             [tool.uv.sources]\n{sources}\n\
             [[tool.uv.index]]\nname = \"cpu\"\nurl = \"https://download.pytorch.org/whl/cpu\"\n\
             [[tool.uv.index]]\nname = \"cu118\"\nurl = \"https://download.pytorch.org/whl/cu118\"\n\
             [[tool.uv.index]]\nname = \"cu128\"\nurl = \"https://download.pytorch.org/whl/cu128\"\n"
        )
    };
    let arm = r#"{ index = "cpu", marker = "sys_platform == 'linux' and platform_machine == 'aarch64'" }"#;
    let intel = r#"{ index = "cu128", marker = "sys_platform == 'linux' and platform_machine == 'x86_64'" }"#;
    let orders = project(&format!(
        "torch = [{arm}, {intel}]\ntorchvision = [{intel}, {arm}]"
    ));
    assert_eq!(said("pyproject.toml", &orders), (0, vec![]));
    let other = r#"{ index = "cpu", marker = "sys_platform == 'darwin'" }"#;
    let fine = project(&format!(
        "torch = [{other}, {intel}]\ntorchvision = [{intel}]"
    ));
    assert_eq!(said("pyproject.toml", &fine), (0, vec![]));
    let old = r#"{ index = "cu118", marker = "platform_system != 'Darwin'" }"#;
    let wrong = project(&format!("torch = [{old}]"));
    let errors = [
        "error: PyTorch 2.8.0 was never built for CUDA 11.8",
        // Without a source it is that of PyPI.
        "error: torchvision is installed for CUDA 12.8, but PyTorch for CUDA 11.8",
    ];
    let errors = errors.map(str::to_owned).to_vec();
    assert_eq!(said("pyproject.toml", &wrong), (1, errors));
}

#[test]
fn removed_packages_are_not_compared_later() {
    let install = "pip install torch==2.4.0 torchvision==0.19.0";
    for (between, expected) in [
        ("true", 2),
        ("pip uninstall -y torch torchvision", 0),
        ("uv pip uninstall --system torchvision torch || true", 0),
        ("pip uninstall -y torchvision", 1),
        ("/opt/other/bin/pip uninstall -y torch torchvision", 2),
        ("pip uninstall -y numpy", 2),
    ] {
        let text = format!(
            "FROM python:3.11\nRUN {install}\nRUN {between}\nRUN pip install torch==2.8.0\n"
        );
        assert_eq!(said("Dockerfile", &text).1.len(), expected, "{between}");
    }
    let late = "FROM python:3.11\nRUN pip uninstall -y torchvision\nRUN pip install torch==2.8.0 torchvision==0.19.0\n";
    assert_eq!(said("Dockerfile", late).1.len(), 1);
}

#[test]
fn a_project_of_poetry_has_a_python_and_ranges() {
    let project = |python: &str, torch: &str, torchvision: &str| {
        let text = format!(
            "[tool.poetry.dependencies]\npython = \"{python}\"\ntorch = \"{torch}\"\ntorchvision = \"{torchvision}\"\n"
        );
        said("pyproject.toml", &text)
    };
    let (code, messages) = project("^3.13", "2.4.1", "^0.20");
    assert_eq!(code, 1);
    let expected = [
        "error: PyTorch 2.4.1 has no build for Python 3.13",
        "error: `torchvision ^0.20` is for PyTorch 2.5.0 or 2.5.1, but `torch 2.4.1` is requested",
    ];
    for message in expected {
        assert!(messages.iter().any(|it| it == message), "{messages:?}");
    }
    for (python, torch, torchvision) in [
        ("^3.10", "2.4.1", "^0.19"),
        (">=3.9,<4.0", "2.9.1", "^0.24"),
        ("^3.9 || ^3.13", "2.4.1", ">=0.19"),
        ("~3.12", "^2.4", "0.20.1"),
        ("*", "2.4.1", "*"),
    ] {
        assert_eq!(
            project(python, torch, torchvision),
            (0, vec![]),
            "{python} {torch} {torchvision}"
        );
    }
    let standard = |python: &str| {
        let text = format!(
            "[project]\nrequires-python = \"{python}\"\ndependencies = [\"torch==2.4.1\"]\n"
        );
        said("pyproject.toml", &text).1
    };
    assert_eq!(standard(">=3.13"), [expected[0]]);
    assert!(standard(">=3.9").is_empty());
}

#[test]
fn what_an_image_or_a_range_has_is_no_conflict() {
    let base = "FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\n";
    for (name, text, expected) in [
        (
            "Dockerfile",
            format!("{base}RUN pip install torchaudio\n"),
            None,
        ),
        (
            "Dockerfile",
            format!("{base}RUN pip install -U torchaudio\n"),
            Some(
                "error: `torchaudio` without a version is 2.11.0 for PyTorch >=2.11, but the base image has 2.8.0",
            ),
        ),
        (
            "requirements.txt",
            "torch==2.6.0\ntriton~=3.2\n".to_owned(),
            None,
        ),
        (
            "requirements.txt",
            "torch==2.6.0\ntriton==3.*\n".to_owned(),
            None,
        ),
        (
            "requirements.txt",
            "torch==2.6.0\ntriton~=3.3\n".to_owned(),
            Some("error: `torch==2.6.0` requires triton 3.2.0, but `triton~=3.3` is requested"),
        ),
        (
            "Dockerfile",
            "FROM python:3.12\nRUN uv pip install --system vllm==0.11.0 --torch-backend=auto\n"
                .to_owned(),
            Some(
                "warning: uv chooses a CPU build of PyTorch for `vllm==0.11.0` in a build, which has no driver",
            ),
        ),
    ] {
        let (_, said) = said(name, &text);
        let expected: Vec<&str> = expected.into_iter().collect();
        assert_eq!(said, expected, "{text}");
    }
}

#[test]
fn no_release_from_before_the_framework_is_proposed() {
    let files = directory(&[("requirements.txt", "torch==2.12.0\nvllm==0.20.0\n")]);
    let (_, report) = json(files.path(), &["requirements.txt"]);
    let findings = report["files"][0]["findings"].as_array().unwrap();
    let helps = findings.iter().filter_map(|it| it["help"].as_str());
    let helps: Vec<&str> = helps.filter(|it| it.contains("PyTorch")).collect();
    assert_eq!(helps, ["use PyTorch 2.11.0"]);
}
