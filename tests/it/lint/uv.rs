//! What uv takes from variables and files.

use super::*;

/// `[tool.uv.pip] system = true` of the project is as good as `--system`.
#[test]
fn a_project_may_let_uv_install_into_the_system() {
    let dockerfile =
        "FROM python:3.12\nWORKDIR /app\nCOPY pyproject.toml .\nRUN uv pip install torch==2.6.0\n";
    let project = "[project]\nname = 'a'\nversion = '1'\n";
    for (table, expected) in [("[tool.uv.pip]\nsystem = true\n", false), ("", true)] {
        let project = format!("{project}{table}");
        let found = found_in(
            &[("Dockerfile", dockerfile), ("pyproject.toml", &project)],
            "Dockerfile",
        );
        assert_eq!(
            found.contains("lint-uv-environment"),
            expected,
            "{table}{found}"
        );
    }
}

/// uv takes another Python than that of the base image, if a variable or a file says so.
#[test]
fn the_python_that_uv_takes_counts() {
    let install = "RUN uv venv && uv pip install torch==2.4.1\n";
    for (more, version, expected) in [
        ("", "", true),
        ("ENV UV_PYTHON=3.11\n", "", false),
        ("ENV UV_PYTHON=3.14\n", "", true),
        ("COPY .python-version .\n", "3.11\n", false),
        ("COPY .python-version .\n", "cpython-3.11-linux\n", false),
        ("", "3.11\n", true),
    ] {
        let text = format!("FROM python:3.13\nWORKDIR /app\n{more}{install}");
        let found = found_in(
            &[("Dockerfile", &text), (".python-version", version)],
            "Dockerfile",
        );
        assert_eq!(
            found.contains("lint-never-built"),
            expected,
            "{more}{version}{found}"
        );
    }
}

/// uv takes an overridden package as the override says, whatever requires it, so the requirements of others do not count.
#[test]
fn overrides_of_uv_replace_requirements() {
    let project = |overrides: &str| {
        let dependencies = "dependencies = ['torch==2.9.0', 'vllm==0.11.0']";
        format!("[project]\nname = 'a'\nversion = '1'\n{dependencies}\n[tool.uv]\n{overrides}")
    };
    let plain = project("");
    let overridden = project("override-dependencies = ['torch==2.9.0']");
    let conflict = "lint-pin-conflict";
    assert!(found_in(&[("pyproject.toml", &plain)], "pyproject.toml").contains(conflict));
    assert_eq!(
        found_in(&[("pyproject.toml", &overridden)], "pyproject.toml"),
        ""
    );
    let dockerfile = |install: &str| {
        format!(
            "FROM python:3.12\nENV VIRTUAL_ENV=/v\nCOPY . .\nRUN {install} torch==2.9.0 vllm==0.11.0\n"
        )
    };
    let overrides = ("over.txt", "torch==2.9.0\n");
    for (install, expected) in [
        ("uv pip install", true),
        ("uv pip install --overrides over.txt", false),
        ("uv pip install --override=over.txt", false),
        ("uv pip install --overrides elsewhere.txt", false),
        ("UV_OVERRIDE=over.txt uv pip install", false),
        ("UV_OVERRIDE=over.txt pip install", true),
    ] {
        let text = dockerfile(install);
        let found = found_in(&[("Dockerfile", &text), overrides], "Dockerfile");
        assert_eq!(found.contains(conflict), expected, "{install}: {found}");
    }
    for (lock, expected) in [
        ("", true),
        (
            "[manifest]\noverrides = [{ name = 'torch', specifier = '==2.9.0' }]\n",
            false,
        ),
    ] {
        let package = |name: &str, version: &str| {
            format!(
                "[[package]]\nname = '{name}'\nversion = '{version}'\nsource = {{ registry = 'https://pypi.org/simple' }}\n"
            )
        };
        let packages = [package("torch", "2.9.0"), package("vllm", "0.11.0")].concat();
        let text = format!("version = 1\n{lock}{packages}");
        let found = found_in(&[("uv.lock", &text)], "uv.lock");
        assert_eq!(found.contains(conflict), expected, "{found}");
    }
}

/// What uv builds after all other packages, or with requirements that the project adds, finds PyTorch.
#[test]
fn uv_may_give_pytorch_to_a_build() {
    let dependencies = "dependencies = ['torch==2.6.0', 'flash-attn==2.7.3']";
    let package = |name: &str, version: &str| {
        format!(
            "[[package]]\nname = '{name}'\nversion = '{version}'\nsource = {{ registry = 'https://pypi.org/simple' }}\n"
        )
    };
    let packages = [package("torch", "2.6.0"), package("flash-attn", "2.7.3")].concat();
    let lock = format!("version = 1\n{packages}");
    for (setting, option, expected) in [
        ("", "", true),
        (
            "[tool.uv]\nno-build-isolation-package = ['flash-attn']",
            "",
            false,
        ),
        ("[tool.uv]\nno-build-isolation-package = ['apex']", "", true),
        ("[tool.uv]\nno-build-isolation = true", "", false),
        (
            "[tool.uv.extra-build-dependencies]\nflash_attn = ['torch']",
            "",
            false,
        ),
        ("", "--no-build-isolation-package flash-attn", false),
        ("", "--no-build-isolation", false),
    ] {
        let project = format!("[project]\nname = 'a'\nversion = '1'\n{dependencies}\n{setting}\n");
        let image = "nvidia/cuda:12.4.1-devel-ubuntu22.04";
        let text = format!("FROM {image}\nWORKDIR /app\nCOPY . .\nRUN uv sync {option}\n");
        let mut inputs = vec![("Dockerfile", text.as_str()), ("pyproject.toml", &project)];
        for with_lock in [false, true] {
            if with_lock {
                inputs.push(("uv.lock", &lock));
            }
            let found = found_in(&inputs, "Dockerfile");
            assert_eq!(
                found.contains("lint-build-isolation"),
                expected,
                "{setting} {option} {with_lock} {found}"
            );
        }
    }
}

/// With `--no-build-isolation-package`, the build sees the PyTorch that an earlier command installed, as with `--no-build-isolation`.
#[test]
fn isolation_may_be_off_for_one_package() {
    for (option, expected) in [
        ("", true),
        ("--no-build-isolation-package flash-attn", false),
        ("--no-build-isolation-package=flash_attn", false),
        ("--no-build-isolation-package apex", true),
    ] {
        let text = format!(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV VIRTUAL_ENV=/v\nRUN uv pip install torch==2.6.0\n\
             RUN uv pip install {option} flash-attn==2.7.3\n"
        );
        let found = found_in(&[("Dockerfile", &text)], "Dockerfile");
        assert_eq!(
            found.contains("lint-build-isolation"),
            expected,
            "{option} {found}"
        );
    }
}

/// Where something leaves newer releases out, a package without a version need not be the newest, which requires another PyTorch.
#[test]
fn a_package_without_a_version_may_not_be_the_newest() {
    let base = "FROM python:3.11\nENV UV_SYSTEM_PYTHON=1\nRUN uv pip install torch==2.5.1\n";
    for (lines, expected) in [
        ("RUN uv pip install torchvision", true),
        (
            "RUN uv pip install --exclude-newer 2024-12-01 torchvision",
            false,
        ),
        (
            "RUN uv pip install --exclude-newer=2024-12-01 torchvision",
            false,
        ),
        (
            "ENV UV_EXCLUDE_NEWER=2024-12-01\nRUN uv pip install torchvision",
            false,
        ),
        (
            "RUN UV_EXCLUDE_NEWER=2024-12-01 uv pip install torchvision",
            false,
        ),
        ("RUN uv pip install -c /c.txt torchvision", false),
        (
            "ENV UV_CONSTRAINT=/c.txt\nRUN uv pip install torchvision",
            false,
        ),
        (
            "ENV PIP_CONSTRAINT=/c.txt\nRUN pip install torchvision",
            false,
        ),
        ("RUN uv add torchvision", false),
    ] {
        let found = found_in(&[("Dockerfile", &format!("{base}{lines}\n"))], "Dockerfile");
        assert_eq!(
            found.contains("lint-torch-replaced"),
            expected,
            "{lines} {found}"
        );
    }
}
