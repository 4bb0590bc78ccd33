"""The table of what is published: the stable releases of each watched project."""

from __future__ import annotations

from packaging.version import Version

from .index import Index
from .rows import Row, rows_of, text_of

HEADER = """\
# What the Python package index publishes: the stable releases of the projects of the GPU stack. Made by tools/knowledge.
#
# projects[]: `component` is the name in reports, `newest` the newest release, `released` the day of its first upload.
# What is published elsewhere only (download.pytorch.org, NVIDIA's own index, apt) is unknown.
# Collected {day}.
projects:
"""

CUDA = {
    "cuda-runtime": "cuda-runtime",
    "cuda-nvrtc": "nvrtc",
    "cuda-cupti": "cupti",
    "cublas": "cublas",
    "cufft": "cufft",
    "curand": "curand",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "nvjitlink": "nvjitlink",
    "cufile": "cufile",
}
LIBRARIES = {"cudnn": "cudnn", "nccl": "nccl", "cusparselt": "cusparselt", "nvshmem": ""}
OTHERS = {
    "bitsandbytes": "bitsandbytes",
    "cuda-toolkit": "cuda-toolkit",
    "cupy-cuda12x": "cupy",
    "cupy-cuda13x": "cupy",
    "deepspeed": "deepspeed",
    "flash-attn": "flash-attn",
    "jax": "jax",
    "jax-cuda12-plugin": "",
    "jax-cuda13-plugin": "",
    "jaxlib": "jaxlib",
    "onnxruntime-gpu": "onnxruntime",
    "sglang": "sglang",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "torchaudio": "torchaudio",
    "torchvision": "torchvision",
    "triton": "triton",
    "vllm": "vllm",
    "xformers": "xformers",
}


def watched() -> dict[str, str]:
    """The component of each project, empty for what is none. CUDA 13 dropped the suffix of the toolkit's wheels."""
    projects = dict(OTHERS)
    for name, component in CUDA.items():
        projects.update({f"nvidia-{name}": component, f"nvidia-{name}-cu12": component})
    for name, component in LIBRARIES.items():
        projects.update({f"nvidia-{name}-cu12": component, f"nvidia-{name}-cu13": component})
    return dict(sorted(projects.items()))


def row(index: Index, project: str, component: str) -> Row | None:
    """The row of a project; `None` if the index has no release of it."""
    files = [file for file in index.files(project) if not file.version.is_prerelease]
    if not files:
        return None
    versions = sorted({file.version for file in files})
    newest = versions[-1]
    days = [file.uploaded for file in files if file.version == newest and file.uploaded]
    result: Row = {"project": project, "component": component} if component else {"project": project}
    result.update({"newest": str(newest), "released": min(days, default="unknown")})
    result["versions"] = [str(version) for version in versions]
    return {**result, "source": f"PyPI {project} version list", "confidence": "verified"}


def text(rows: list[Row], day: str) -> str:
    """The whole table."""
    return HEADER.format(day=day) + "".join(map(text_of, rows))


def news(before: str, rows: list[Row]) -> list[str]:
    """Releases that the table lacked."""
    known = {str(old["project"]): {Version(str(v)) for v in old["versions"]} for old in rows_of(before, "projects")}
    lines = []
    for new in rows:
        project = str(new["project"])
        fresh = [v for v in new["versions"] if Version(v) not in known.get(project, set())]
        if fresh:
            lines.append(f"{project} " + ", ".join(fresh if project in known else fresh[-1:]))
    return lines
