//! pip of a distribution that manages its Python itself (PEP 668): `lint-externally-managed`.

use super::*;

/// Whether a Dockerfile has the finding.
fn is_refused(base: &str, lines: &str) -> bool {
    let (_, messages) = said("Dockerfile", &format!("FROM {base}\n{lines}\n"));
    messages
        .iter()
        .any(|it| it.contains("manages its Python with apt"))
}

const APT: &str = "RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip && rm -rf /var/lib/apt/lists/*";

#[test]
fn the_pip_of_the_distribution_is_refused() {
    for base in [
        "debian:12",
        "debian:bookworm-slim",
        "ubuntu:24.04",
        "nvidia/cuda:12.8.0-devel-ubuntu24.04",
    ] {
        for install in [
            "RUN pip install torch==2.8.0",
            "RUN pip3 install --no-cache-dir --user torch==2.8.0",
            "ENV DEBIAN_FRONTEND=noninteractive LD_LIBRARY_PATH=/usr/local/cuda/lib64\nWORKDIR /app\nCOPY requirements.txt .\nRUN python3 -m pip install -r requirements.txt",
            "ARG V=2.8.0\nRUN mkdir -p /app && cd /app && pip3 install torch==$V",
            "RUN pip3 install --pre --upgrade pip && pip3 install torch==2.8.0",
            "RUN pip install --break-system-packages wheel && pip install torch==2.8.0",
            "RUN pipx install uv && pip install torch==2.8.0",
            "ENV PIP_NO_CACHE_DIR=1 PATH=/usr/local/cuda/bin:$PATH\nRUN pip install torch==2.8.0",
            "RUN uv pip install --system torch==2.8.0",
            "ENV UV_SYSTEM_PYTHON=1\nRUN uv pip install torch==2.8.0",
        ] {
            assert!(
                is_refused(base, &format!("{APT}\n{install}")),
                "{base} {install}"
            );
        }
    }
    let stages = format!("ubuntu:24.04 AS base\n{APT}\nFROM base");
    assert!(is_refused(&stages, "RUN pip install torch==2.8.0"));
}

#[test]
fn another_pip_or_another_place_is_not() {
    for base in [
        "debian:11",
        "ubuntu:22.04",
        "python:3.11-bookworm",
        "nvidia/cuda:12.8.0-devel-ubuntu22.04",
        "team/ubuntu:24.04",
    ] {
        assert!(
            !is_refused(base, &format!("{APT}\nRUN pip install torch==2.8.0")),
            "{base}"
        );
    }
    for lines in [
        "RUN pip install --break-system-packages torch==2.8.0",
        "RUN pip install --target /opt/x torch==2.8.0",
        "RUN pip install -t/opt/x torch==2.8.0",
        "RUN pip install --break-system torch==2.8.0",
        "RUN pip install --prefix=/opt/x torch==2.8.0",
        "ENV PIP_BREAK_SYSTEM_PACKAGES=1\nRUN pip install torch==2.8.0",
        "ARG PIP_BREAK_SYSTEM_PACKAGES=1\nRUN pip install torch==2.8.0",
        "RUN PIP_BREAK_SYSTEM_PACKAGES=1 pip install torch==2.8.0",
        "RUN export PIP_BREAK_SYSTEM_PACKAGES=1 && pip install torch==2.8.0",
        "RUN pip config set global.break-system-packages true && pip install torch==2.8.0",
        "RUN rm /usr/lib/python3*/EXTERNALLY-MANAGED && pip install torch==2.8.0",
        "RUN rm -f /usr/lib/python3.12/EXTERNALLY-MANAGED\nRUN pip install torch==2.8.0",
        "RUN python3 -m venv /v\nENV PATH=/v/bin:$PATH\nRUN pip install torch==2.8.0",
        "RUN python3 -m venv /v && . /v/bin/activate && pip install torch==2.8.0",
        "RUN python3 -m venv /v && /v/bin/pip install torch==2.8.0",
        "RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3.11\nRUN pip install torch==2.8.0",
        "COPY pip.conf /etc/pip.conf\nRUN pip install torch==2.8.0",
        "COPY <<E /etc/pip.conf\n[global]\nbreak-system-packages = true\nE\nRUN pip install torch==2.8.0",
        "RUN printf '[global]\\nbreak-system-packages = true\\n' > /etc/pip.conf\nRUN pip install torch==2.8.0",
        "COPY --from=builder /usr/local /usr/local\nRUN pip install torch==2.8.0",
        "COPY setup.sh /tmp/\nRUN bash /tmp/setup.sh && pip install torch==2.8.0",
        "RUN pip install torch==2.8.0 || pip install --break-system-packages torch==2.8.0",
        "RUN if [ -n \"$X\" ]; then pip install torch==2.8.0; fi",
        "RUN --mount=type=secret,id=pip,target=/etc/pip.conf pip install torch==2.8.0",
        "RUN pip install $FLAGS torch==2.8.0",
        "RUN uv pip install --system --break-system-packages torch==2.8.0",
        "ENV UV_BREAK_SYSTEM_PACKAGES=1\nRUN uv pip install --system torch==2.8.0",
        "ENV PATH=/opt/python/bin:$PATH\nRUN pip install torch==2.8.0",
        "SHELL [\"conda\", \"run\", \"-n\", \"e\", \"/bin/bash\", \"-c\"]\nRUN pip install torch==2.8.0",
        "RUN pip download torch==2.8.0",
    ] {
        assert!(
            !is_refused("ubuntu:24.04", &format!("{APT}\n{lines}")),
            "{lines}"
        );
    }
    // Nothing says which pip that is.
    assert!(!is_refused("ubuntu:24.04", "RUN pip install torch==2.8.0"));
}

/// pip of a distribution installs for its Python.
#[test]
fn the_python_of_the_distribution_decides_which_wheels_there_are() {
    let says = |base: &str, lines: &str| {
        let (_, messages) = said("Dockerfile", &format!("FROM {base}\n{APT}\n{lines}\n"));
        messages.join("\n")
    };
    let none = |python: &str| format!("has no build for Python {python}");
    for (base, torch, python) in [
        ("ubuntu:20.04", "2.5.1", "3.8"),
        ("ubuntu:focal-20240530", "2.5.1", "3.8"),
        ("nvidia/cuda:12.4.1-devel-ubuntu20.04", "2.5.1", "3.8"),
        ("ubuntu:22.04", "1.10.0", "3.10"),
        ("debian:13-slim", "2.4.1", "3.13"),
    ] {
        let install = format!("RUN pip install --break-system-packages torch=={torch}");
        let found = says(base, &install);
        assert!(found.contains(&none(python)), "{base} {found}");
        let later = format!("RUN pip install --break-system-packages wheel\n{install}");
        assert!(says(base, &later).contains(&none(python)), "{base}");
    }
    let vllm = "RUN pip install --break-system-packages vllm==0.8.5";
    let found = says("debian:13", vllm);
    assert!(
        found.contains("vllm 0.8.5 has no build for Python 3.13"),
        "{found}"
    );
    assert!(!says("debian:12", vllm).contains("no build for Python"));
    for lines in [
        "RUN pip install torch==2.4.1",
        "ENV PATH=/opt/conda/bin:$PATH\nRUN pip install torch==2.5.1",
        "RUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.11\nRUN pip install torch==2.5.1",
        "RUN ln -s /usr/bin/python3.11 /usr/local/bin/python3 && pip install torch==2.5.1",
        "RUN python3.11 -m pip install torch==2.5.1",
    ] {
        let found = says("ubuntu:20.04", lines);
        assert!(
            !found.contains("has no build for Python"),
            "{lines} {found}"
        );
    }
    let unknown = said(
        "Dockerfile",
        "FROM ubuntu:20.04\nRUN pip install torch==2.5.1\n",
    );
    assert!(!unknown.1.join(" ").contains("has no build for Python"));
}
