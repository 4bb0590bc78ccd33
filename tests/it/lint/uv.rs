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
        let files = directory(&[("Dockerfile", dockerfile), ("pyproject.toml", &project)]);
        let (_, report) = json(files.path(), &["Dockerfile"]);
        let found = places(&report).join(" ");
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
        let files = directory(&[("Dockerfile", &text), (".python-version", version)]);
        let (_, report) = json(files.path(), &["Dockerfile"]);
        let found = places(&report).join(" ");
        assert_eq!(
            found.contains("lint-never-built"),
            expected,
            "{more}{version}{found}"
        );
    }
}
