#![allow(clippy::unwrap_used)]
use super::*;

fn install(command: &str) -> Option<Install> {
    let words: Vec<Argument> = command
        .split_whitespace()
        .map(|text| Argument {
            text: text.to_owned(),
            known: true,
            span: 0..0,
        })
        .collect();
    read(&words, &|name| {
        (name == "PIP_EXTRA_INDEX_URL").then(|| "https://e".to_owned())
    })
}

fn packages(command: &str) -> Vec<String> {
    let install = install(command).unwrap();
    install
        .packages
        .into_iter()
        .map(|package| package.text)
        .collect()
}

#[test]
fn install_commands_are_recognized() {
    for command in [
        "pip install --no-cache-dir torch==2.8.0",
        "pip3.11 install -U torch==2.8.0",
        "/opt/conda/bin/python -mpip install torch==2.8.0",
        "/opt/x/bin/python -u -m pip --no-cache install --timeout 60 torch==2.8.0",
        "uv pip install --system torch==2.8.0",
        "PIP_NO_CACHE=1 env X=y python3 -m uv pip install torch==2.8.0",
        "conda run --no-capture-output -n x pip install torch==2.8.0",
        "conda install -y -n x -c pytorch torch==2.8.0",
        "apt-get -y install --no-install-recommends torch==2.8.0",
        "apk add --no-cache torch==2.8.0",
    ] {
        assert_eq!(packages(command), ["torch==2.8.0"], "{command}");
    }
    for command in [
        "pip download torch",
        "pip",
        "python -m venv x",
        "conda",
        "conda run -n x conda run pip",
        "ls",
    ] {
        assert_eq!(install(command), None, "{command}");
    }
}

#[test]
fn programs_that_start_another_one_are_left_out() {
    let launch = imgcheck_model::knowledge::launch().unwrap();
    for (before, command) in [
        ("sudo -u x -EH -p ask", "pip install x"),
        ("gosu root command", "pip install x"),
        ("timeout -k 5 600 nice -n 10", "rm x"),
        ("xargs -I {} -n1", "pip install {}"),
        ("env -u A", "B=c pip install x"),
        ("", "conda run -n x pip install x"),
        ("", "command -v pip"),
        ("", "ssh host pip install x"),
    ] {
        let written = format!("{before} {command}");
        let words = written.split_whitespace().map(|text| Argument {
            text: text.to_owned(),
            ..Argument::default()
        });
        let words: Vec<Argument> = words.collect();
        let texts = unwrapped(&words, &launch).iter();
        let texts: Vec<&str> = texts.map(|it| it.text.as_str()).collect();
        assert_eq!(texts.join(" "), command, "{written}");
    }
}

#[test]
fn options_are_read() {
    let found = install("pip install -r a.txt -rb.txt -c c.txt --index-url=https://x -f https://f --no-deps --target /t x").unwrap();
    let files = found.files.iter();
    let files: Vec<(&str, bool)> = files
        .map(|(it, limits)| (it.text.as_str(), *limits))
        .collect();
    assert_eq!(files, [("a.txt", false), ("b.txt", false), ("c.txt", true)]);
    assert_eq!(found.index.instead.as_deref(), Some("https://x"));
    assert_eq!(found.index.besides, ["https://f", "https://e"]);
    assert!(found.alone);
    assert_eq!(found.environment.as_deref(), Some("/t"));
    assert_eq!(
        install("/v/bin/pip install x")
            .unwrap()
            .environment
            .as_deref(),
        Some("/v/bin")
    );
    let conda = install("mamba env create -f environment.yml -n e").unwrap();
    assert_eq!(
        (conda.environments, conda.environment),
        (vec!["environment.yml".to_owned()], Some("e".to_owned()))
    );
}

#[test]
fn remove_commands_are_recognized() {
    for command in [
        "pip uninstall -y torch",
        "python3 -m pip uninstall --yes torch",
        "uv pip uninstall --system torch",
        "conda remove -y -n x torch",
        "mamba uninstall torch",
    ] {
        assert!(install(command).unwrap().removes, "{command}");
        assert_eq!(packages(command), ["torch"], "{command}");
    }
    assert!(!install("pip install torch").unwrap().removes);
}

#[test]
fn pip_and_uv_read_their_own_variables() {
    let values = |name: &str| {
        let known = [
            ("PIP_INDEX_URL", "https://pip"),
            ("UV_DEFAULT_INDEX", "https://uv"),
            ("UV_TORCH_BACKEND", "cu118"),
        ];
        let found = known.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_owned())
    };
    let index = |command: &str| {
        let words = command.split(' ').map(|word| Argument {
            text: word.to_owned(),
            known: true,
            span: 0..0,
        });
        let words: Vec<Argument> = words.collect();
        let index = read(&words, &values).unwrap().index;
        (index.instead.unwrap(), index.backend)
    };
    for command in [
        "pip install x",
        "python -m pip install x",
        "conda run pip install x",
    ] {
        assert_eq!(
            index(command),
            ("https://pip".to_owned(), None),
            "{command}"
        );
    }
    for command in ["uv pip install x", "python -m uv pip install x"] {
        let uv = ("https://uv".to_owned(), Some("cu118".to_owned()));
        assert_eq!(index(command), uv, "{command}");
    }
}

#[test]
fn builds_have_variables_and_options() {
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let pip = install("FORCE_CUDA=1 MAX_JOBS=4 pip install x").unwrap();
    assert_eq!(
        pip.variables,
        [own("FORCE_CUDA", "1"), own("MAX_JOBS", "4")]
    );
    let conda = install("A=1 conda run -n e pip install x").unwrap();
    assert!(conda.variables.contains(&own("A", "1")));
    for command in [
        "pip install --global-option=--cuda_ext ./x",
        "pip install --global-option --cuda_ext ./x",
        "python setup.py --cuda_ext install",
    ] {
        let options = install(command).unwrap().build_options;
        assert!(options.contains(&"--cuda_ext".to_owned()), "{command}");
    }
}

#[test]
fn setup_scripts_build_in_place() {
    let setup = install("python3 x/setup.py develop").unwrap();
    assert!(setup.no_build_isolation);
    assert_eq!(packages("python3 x/setup.py develop"), ["./x/"]);
    assert_eq!(packages("python setup.py install"), ["./"]);
    assert!(install("python setup.py --version").is_none());
}

#[test]
fn editable_directories_need_no_dot() {
    assert_eq!(packages("pip install -e x"), ["./x"]);
    assert_eq!(packages("pip install -e ."), ["."]);
    let address = "git+https://github.com/a/b.git#egg=b";
    assert_eq!(packages(&format!("pip install -e {address}")), [address]);
}
