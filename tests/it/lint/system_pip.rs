//! pip of a distribution that manages its Python itself (PEP 668): `lint-externally-managed`.

use super::*;

/// Whether a Dockerfile has the finding.
fn is_refused(base: &str, lines: &str) -> bool {
    let (_, messages) = said("Dockerfile", &format!("FROM {base}\n{lines}\n"));
    messages
        .iter()
        .any(|it| it.contains("externally-managed-environment"))
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
        "RUN uv pip install --system torch==2.8.0",
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
