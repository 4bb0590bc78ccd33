"""What no rule derives: differences between a new release and the one before, which a person must look at."""

from __future__ import annotations

import ast
import re

from packaging.version import Version

from . import preload
from .collectors import one_wheel
from .index import Index
from .rows import rows_of
from .wheel import Wheel

# Projects whose imports rules/knowledge/processes/ models.
MODELLED = ("torch", "torchvision", "torchaudio", "triton", "vllm", "xformers", "onnxruntime-gpu")
# Files that decide how a package loads its libraries.
LOADERS = {
    "torchvision": ("torchvision/extension.py",),
    "torchaudio": ("torchaudio/_extension/__init__.py",),
    "onnxruntime-gpu": ("onnxruntime/__init__.py",),
}
CUDNN = "torch/backends/cudnn/__init__.py"


def compare(index: Index, project: str, version: Version) -> list[str]:
    """What changed in the way a package loads since the release before."""
    releases = index.releases(project)
    before = [release for release in releases if release < version]
    if not before:
        return []
    old, new = one_wheel(releases[before[-1]]), one_wheel(releases[version])
    lines = extensions(old, new)
    if project == "torch":
        lines += preload.differences(old.text("torch/__init__.py"), new.text("torch/__init__.py"))
        if function(old.text(CUDNN), "_init") != function(new.text(CUDNN), "_init"):
            lines.append(f"`{CUDNN}` has changed: which cuDNN is accepted (`about.cudnn_runtime_rule` of pytorch.yaml)?")
    for path in LOADERS.get(project, ()):
        if code(old.text(path)) != code(new.text(path)):
            lines.append(f"`{path}` has changed")
    return [f"{project} {version}, compared with {before[-1]}: {line}" for line in lines]


def extensions(old: Wheel, new: Wheel) -> list[str]:
    """Extension modules and libraries that came or went."""
    before, after = shared_objects(old), shared_objects(new)
    lines = [f"`{name}` is gone" for name in sorted(before - after)]
    lines += [f"`{name}` is new" for name in sorted(after - before)]
    return lines


def shared_objects(wheel: Wheel) -> set[str]:
    """Paths of shared objects, without the tags of Python and the hashes of auditwheel."""
    names = (name for name in wheel.zip.namelist() if re.search(r"\.so(\.\d+)*$", name))
    return {re.sub(r"\.cpython-[^/]*\.so$|\.abi3\.so$", ".so", re.sub(r"[.-][0-9a-f]{8}(?=\.so)", "", name)) for name in names}


def code(text: str) -> str:
    """The statements of a file, without comments and places."""
    return ast.dump(ast.parse(text))


def function(text: str, name: str) -> str | None:
    """The statements of a function, wherever it is defined."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.dump(node)
    return None


def beyond_ranges(cuda_table: str) -> list[str]:
    """CUDA releases about which other lists of the table say nothing."""
    newest = max(Version(str(row["toolkit"])) for row in rows_of(cuda_table, "toolkits")).release[:2]
    lines = []
    for key, column in (("compute_capability_by_toolkit", "to"), ("ptx_isa", "cuda")):
        last = max(Version(str(row[column])) for row in rows_of(cuda_table, key) if column in row)
        if last.release[:2] < newest:
            lines.append(f"cuda.yaml, {key} ends at CUDA {last}, and the newest release is {newest[0]}.{newest[1]}")
    return lines


def beyond_matrix(index: Index, cudnn_table: str) -> list[str]:
    """Releases of cuDNN that no row of the table covers: NVIDIA's support matrix must be read."""
    last = [str(row.get("to", "")) for row in rows_of(cudnn_table, "versions")][-1]
    minor = Version(last).release[:2]
    newest = list(index.releases("nvidia-cudnn-cu13")) or [Version("0")]
    if newest[-1].release[:2] <= minor:
        return []
    return [f"cuDNN {newest[-1]} is newer than the last row of cudnn.yaml ({last}): read NVIDIA's support matrix"]
