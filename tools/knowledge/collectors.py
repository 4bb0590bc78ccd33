"""What the lists of the tables are made from: projects of the index, and how a row follows from a wheel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Optional

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from . import pins, torch
from .index import File, Index
from .metadata import Metadata
from .rows import Row
from .wheel import Wheel

Derive = Callable[[Index, str, Version, list[File]], Optional[Row]]


@dataclass(frozen=True)
class Collector:
    """One list of one table."""

    table: str
    key: str
    projects: tuple[str, ...]
    oldest: str
    """Older releases are left out."""
    field: str
    """Where a row has the version."""
    derive: Derive
    """The row of a release; `None` where the release has nothing to say."""
    project_field: str = ""
    """Where a row has the project, if the list is about several."""
    newest_first: bool = False
    extra: str | None = None
    """The extra that its rows are about, if the list has rows of several."""

    def release(self, row: Row) -> tuple[str, Version] | None:
        """Which release a row of this collector is about."""
        return self._release(row) if self.extra in (None, row.get("extra")) else None

    def _release(self, row: Row) -> tuple[str, Version] | None:
        project = str(row[self.project_field]) if self.project_field else self.projects[0]
        try:
            return project, Version(str(row[self.field]))
        except (InvalidVersion, KeyError):
            return None

    def order(self, row: Row) -> Any:
        """A key by which rows are sorted; a row without a version comes first."""
        return self._release(row) or ("", Version("0"))

    def missing(self, index: Index, rows: list[Row]) -> list[tuple[str, Version, list[File]]]:
        """Releases that no row is about."""
        known = {self.release(row) for row in rows}
        found = []
        ranges = [(Version(str(row["from"])), Version(str(row["to"]))) for row in rows if "from" in row and "to" in row]
        for project in self.projects:
            for version, files in index.releases(project).items():
                covered = (project, version) in known or any(first <= version <= last for first, last in ranges)
                if version >= Version(self.oldest) and not covered:
                    found.append((project, version, files))
        return found


def one_wheel(files: list[File]) -> Wheel:
    """One of the wheels of a release: what is read is the same in all."""
    return Wheel(min(files, key=lambda file: (len(file.name), file.name)))


def sourced(row: Row, project: str, version: Version) -> Row:
    """A row with its source."""
    return {**row, "source": f"PyPI {project} {version} METADATA", "confidence": "verified"}


def partner(*partners: str) -> Derive:
    """Rows of a package that is built for one release of PyTorch."""

    def derive(_: Index, project: str, version: Version, files: list[File]) -> Row | None:
        metadata = one_wheel(files).metadata()
        row: Row = {project: str(version)}
        for name in partners:
            pin = metadata.pin(name)
            if pin:
                row[name] = pin
        if metadata.python:
            row["python"] = metadata.python
        return sourced(row, project, version)

    return derive


def sglang(_: Index, project: str, version: Version, files: list[File]) -> Row | None:
    """The PyTorch that SGLang requires: up to 0.5.2 with the extra `srt`, which `all` includes."""
    metadata = one_wheel(files).metadata()
    for extra in ("", "srt"):
        pins = [requirement for requirement in metadata.requirements(extra) if canonicalize_name(requirement.name) == "torch"]
        if pins and pins[0].specifier:
            row: Row = {project: str(version), "torch": str(pins[0].specifier), "python": metadata.python}
            return sourced({**row, "extra": extra} if extra else row, project, version)
    return None


def nvidia(extra: str = "") -> Derive:
    """Rows of what a release requires of NVIDIA's packages."""
    return lambda index, project, version, files: pins.row(index, project, version, files, extra)


# The components of a row, and the projects that hold them; CUDA 12's have a suffix.
COMPONENTS = {
    "cublas": "nvidia-cublas",
    "cufft": "nvidia-cufft",
    "curand": "nvidia-curand",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "nvjitlink": "nvidia-nvjitlink",
    "cuda-nvrtc": "nvidia-cuda-nvrtc",
    "cuda-cupti": "nvidia-cuda-cupti",
}


def toolkit(_: Index, project: str, version: Version, files: list[File]) -> Row | None:
    """The components of a CUDA release. Its drivers are in no wheel."""
    metadata = one_wheel(files).metadata()
    major = version.major

    def component(name: str) -> str:
        names = (name, f"{name}-cu{major}")
        pins = {str(pin.specifier) for pin in metadata.requirements("all") if canonicalize_name(pin.name) in names}
        return re.sub(r"^==|\.\*$", "", pins.pop()) if len(pins) == 1 else "unknown"

    release = ".".join(map(str, (*version.release, 0, 0)[:3]))
    return {
        "toolkit": release,
        "driver_native_min": "unknown",
        "driver_minor_compat_min": {12: "525.60.13", 13: "580"}.get(major, "unknown"),
        "cudart": component("nvidia-cuda-runtime"),
        "components": {name: component(project) for name, project in COMPONENTS.items()},
        "components_source": f"PyPI cuda-toolkit {version} METADATA (pins)",
        "components_confidence": "verified",
        "libcudart_soname": "libcudart.so." + {11: "11.0"}.get(major, str(major)),
        "confidence": "unknown",
        "source": f"PyPI cuda-toolkit {version} METADATA; NVIDIA's table of drivers was not read",
    }


def nccl(index: Index, project: str, version: Version, files: list[File]) -> Row | None:
    """The NCCL that a release of torch requires."""
    metadata = one_wheel(files).metadata()
    for name in ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11"):
        pin = metadata.exact(name)
        if pin:
            major, minor, patch = Version(pin).release[:3]
            row = {"from": str(version), "to": str(version), "nccl": pin, "code": major * 10000 + minor * 100 + patch}
            return {**row, "source": "PyPI torch METADATA", "confidence": "verified"}
    return None


FRAMEWORKS = "frameworks"
COLLECTORS = (
    Collector("pytorch", "releases", ("torch",), "1.13", "version", torch.derive, newest_first=True),
    Collector("nccl", "torch_pypi_default", ("torch",), "2.0", "to", nccl, newest_first=True),
    Collector("cuda", "toolkits", ("cuda-toolkit",), "12.0", "toolkit", toolkit),
    *(
        Collector(FRAMEWORKS, "nvidia_pins", (project,), oldest, "version", nvidia(extra), "package", extra=extra)
        for project, oldest, extra in (
            ("torch", "1.13", ""),
            ("tensorflow", "2.14", "and-cuda"),
            ("jax-cuda12-plugin", "0.4.30", "with-cuda"),
            ("jax-cuda13-plugin", "0.4.30", "with-cuda"),
            ("onnxruntime-gpu", "1.21", "cuda"),
            ("onnxruntime-gpu", "1.21", "cudnn"),
            ("vllm", "0.2", ""),
            ("sglang", "0.4", ""),
        )
    ),
    Collector(FRAMEWORKS, "torchvision", ("torchvision",), "0.9", "torchvision", partner("torch")),
    Collector(FRAMEWORKS, "torchaudio", ("torchaudio",), "0.8", "torchaudio", partner("torch")),
    Collector(FRAMEWORKS, "triton", ("triton",), "2.0", "triton", partner("torch")),
    Collector(FRAMEWORKS, "vllm", ("vllm",), "0.2", "vllm", partner("torch", "torchvision", "torchaudio", "xformers", "triton")),
    Collector(FRAMEWORKS, "xformers", ("xformers",), "0.0.13", "xformers", partner("torch")),
    Collector(FRAMEWORKS, "torchtext", ("torchtext",), "0.9", "torchtext", partner("torch")),
    Collector(FRAMEWORKS, "torchdata", ("torchdata",), "0.3", "torchdata", partner("torch")),
    Collector(FRAMEWORKS, "torchcodec", ("torchcodec",), "0.0.1", "torchcodec", partner("torch")),
    Collector(FRAMEWORKS, "torchao", ("torchao",), "0.2", "torchao", partner("torch")),
    Collector(FRAMEWORKS, "sgl-kernel", ("sgl-kernel",), "0.1", "sgl-kernel", partner("torch")),
    Collector(FRAMEWORKS, "vllm-flash-attn", ("vllm-flash-attn",), "2.5.6", "vllm-flash-attn", partner("torch")),
    Collector(FRAMEWORKS, "autoawq-kernels", ("autoawq-kernels",), "0.0.1", "autoawq-kernels", partner("torch")),
    Collector(FRAMEWORKS, "auto-gptq", ("auto-gptq",), "0.4.2", "auto-gptq", partner("torch")),
    Collector(FRAMEWORKS, "sglang", ("sglang",), "0.4.3.post3", "sglang", sglang),
)
