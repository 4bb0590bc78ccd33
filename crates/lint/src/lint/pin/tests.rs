#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn python_requirements_are_read() {
    for (text, name, version, cuda) in [
        ("torch==2.8.0+cu118", "torch", Some("2.8.0"), Some("11.8")),
        ("Torch_Vision >= 0.19", "torch-vision", None, None),
        ("torch==2.8.*", "torch", Some("2.8"), None),
        ("torch~=2.8.0", "torch", Some("2.8"), None),
        ("torch===2.8.0", "torch", Some("2.8.0"), None),
        (
            "torch[opt]==2.1 ; python_version >= '3.6'",
            "torch",
            Some("2.1"),
            None,
        ),
        (
            "torch @ https://download.pytorch.org/whl/cu126/torch-2.8.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl",
            "torch",
            Some("2.8.0"),
            Some("12.6"),
        ),
        (
            "./torch-2.1.0+cpu-cp310-cp310-linux_x86_64.whl",
            "torch",
            Some("2.1.0"),
            Some("cpu"),
        ),
        (
            "vllm @ git+https://github.com/vllm-project/vllm",
            "vllm",
            None,
            None,
        ),
    ] {
        let pin = python(text).unwrap().unwrap();
        assert_eq!(
            (
                pin.name.as_str(),
                pin.version.as_deref(),
                pin.cuda.as_deref()
            ),
            (name, version, cuda),
            "{text}"
        );
        assert!(pin.marker.is_none(), "{text}");
    }
}

#[test]
fn markers_decide_whether_linux_needs_it() {
    let sometimes = python("torch==2.1; python_version < '3.10'")
        .unwrap()
        .unwrap();
    assert!(sometimes.marker.is_some());
    assert_eq!(python("torch==2.1; sys_platform == 'win32'"), Ok(None));
    let always = python("torch==2.1; platform_system == 'Linux'")
        .unwrap()
        .unwrap();
    assert!(always.marker.is_none());
}

#[test]
fn arbitrary_equality_accepts_any_text() {
    let pin = python("baz===weird ; python_version > '2'")
        .unwrap()
        .unwrap();
    assert_eq!(
        (pin.name.as_str(), pin.version, pin.specifier.as_str()),
        ("baz", None, "===weird")
    );
    assert_eq!(pin.text, "baz===weird ; python_version > '2'");
    assert_eq!(python("baz===weird; sys_platform == 'win32'"), Ok(None));
    for wrong in [
        "baz===",
        "baz===a,b c",
        "===weird",
        "baz==weird",
        "a===b===c",
    ] {
        assert!(python(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn invalid_requirements_are_errors_and_paths_are_ignored() {
    assert!(python("torch=2.1").is_err());
    assert!(python("torch==").is_err());
    assert!(python("torch==2.1; what").is_err());
    for text in [".", "./package[extra]", "/opt/x.tar.gz"] {
        assert_eq!(python(text), Ok(None), "{text}");
    }
}

#[test]
fn conda_specifications_are_read() {
    for (text, name, version, cuda) in [
        (
            "pytorch=2.5.1=py3.11_cuda12.4_cudnn9.1.0_0",
            "pytorch",
            Some("2.5.1"),
            Some("12.4"),
        ),
        (
            "conda-forge::pytorch==2.1.0=cuda118py310h1_0",
            "pytorch",
            Some("2.1.0"),
            Some("11.8"),
        ),
        (
            "pytorch 2.1.* cpu_py310",
            "pytorch",
            Some("2.1"),
            Some("cpu"),
        ),
        ("cudatoolkit=11.8", "cudatoolkit", Some("11.8"), None),
        ("python>=3.10", "python", None, None),
    ] {
        let pin = conda(text).unwrap();
        assert_eq!(
            (
                pin.name.as_str(),
                pin.version.as_deref(),
                pin.cuda.as_deref()
            ),
            (name, version, cuda),
            "{text}"
        );
    }
    assert_eq!(conda("$x"), None);
}

#[test]
fn system_packages_are_read() {
    let pin = system("libcudnn8=8.9.7.29-1+cuda12.2", "apt").unwrap();
    assert_eq!(
        (pin.name.as_str(), pin.version.as_deref()),
        ("libcudnn8", Some("8.9.7.29-1+cuda12.2"))
    );
    assert_eq!(
        system("libnccl2=2.18.*", "apt").unwrap().version.as_deref(),
        Some("2.18")
    );
    assert_eq!(system("curl", "apk").unwrap().version, None);
}

#[test]
fn an_index_determines_the_cuda_version() {
    let mut index = Index {
        besides: vec![
            "https://x/simple".into(),
            "https://download.pytorch.org/whl/cu118".into(),
        ],
        ..Index::default()
    };
    let mut pin = Pin::default();
    index.apply(&mut pin);
    assert_eq!((pin.cuda.as_deref(), pin.only_index), (Some("11.8"), false));
    index.instead = Some("https://download.pytorch.org/whl/nightly/cu128".into());
    let mut pin = Pin::default();
    index.apply(&mut pin);
    assert_eq!((pin.cuda.as_deref(), pin.only_index), (Some("12.8"), false));
}

#[test]
fn only_pytorch_indexes_exclude_pypi() {
    let own = "https://download.pytorch.org/whl/cu118";
    for (instead, besides, expected) in [
        (own, None, true),
        (own, Some("https://pypi.org/simple"), false),
        (own, Some("https://download.pytorch.org/whl"), true),
        ("https://pypi.tuna.tsinghua.edu.cn/simple", Some(own), false),
        ("https://mirrors.aliyun.com/pypi/simple", Some(own), false),
        ("https://mirror.example/pytorch-wheels/cu118", None, true),
    ] {
        let index = Index {
            instead: Some(instead.to_owned()),
            besides: besides.into_iter().map(str::to_owned).collect(),
            ..Index::default()
        };
        let mut pin = Pin::default();
        index.apply(&mut pin);
        assert_eq!(pin.only_index, expected, "{instead} {besides:?}");
        assert_eq!(pin.cuda.as_deref(), Some("11.8"));
    }
}

#[test]
fn a_uv_backend_is_a_pytorch_index() {
    let mut index = Index {
        instead: Some("https://x/simple".into()),
        backend: Some("cu118".into()),
        ..Index::default()
    };
    let mut pin = Pin::default();
    index.apply(&mut pin);
    assert_eq!(
        pin.index.as_deref(),
        Some("https://download.pytorch.org/whl/cu118")
    );
    assert_eq!((pin.cuda.as_deref(), pin.only_index), (Some("11.8"), true));
    index.backend = Some("auto".into());
    let mut pin = Pin::default();
    index.apply(&mut pin);
    assert_eq!((pin.cuda, pin.index.as_deref()), (None, Some("auto")));
}

#[test]
fn a_repository_names_the_package() {
    for (text, name) in [
        ("git+https://github.com/a/detectron2.git", "detectron2"),
        (
            "git+ssh://git@github.com/a/Simple_KNN.git@v1#subdirectory=x",
            "simple-knn",
        ),
        ("git+https://x/y@main#egg=apex[all]&subdirectory=z", "apex"),
    ] {
        let pin = python(text).unwrap().unwrap();
        assert_eq!((pin.name.as_str(), pin.version), (name, None), "{text}");
    }
    assert_eq!(python("git+https://x/$NAME").unwrap(), None);
}
