"""The row of a release of torch, from its wheel for Linux on x86-64."""

from __future__ import annotations

import ast
import re

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from .elf import dynamic
from .index import File, Index
from .metadata import Metadata
from .rows import Row
from .wheel import Wheel

# One text, built from TORCH_CUDA_ARCH_LIST, which torch.cuda.get_arch_list() returns.
ARCHITECTURES = re.compile(rb"(?:sm_[0-9]+[af]?|compute_[0-9]+)(?: (?:sm_[0-9]+[af]?|compute_[0-9]+))+")


def derive(index: Index, _: str, version: Version, files: list[File]) -> Row | None:
    """The row; `None` where no wheel carries CUDA."""
    file = newest_python(files)
    wheel = Wheel(file)
    metadata = wheel.metadata()
    build = build_of(wheel.text("torch/version.py"))
    if not build.get("cuda"):
        return None
    local = build["__version__"]
    cuda = build["cuda"]
    source = f"PyPI torch {version} wheel"
    architectures = arch_list(wheel.member("torch/lib/libtorch_python.so") or b"")
    platform = wheel.tag().rpartition("-")[2]
    return {
        "version": str(version),
        "released": {"date": day(files), "source": "upload time in the index", "confidence": "verified"}
        if day(files)
        else {"date": "unknown", "source": "the index has no upload times", "confidence": "unknown"},
        "python": {**pythons(files), "source": f"tags of the wheels of PyPI torch {version}", "confidence": "verified"},
        "pypi_default": {
            "local_version": local,
            "wheel_platform": platform,
            "requires_python": metadata.python,
            **libraries(metadata),
            "glibc_needed": glibc(platform),
            "cxx11_abi": cxx11_abi(wheel.member("torch/lib/libc10.so") or b""),
            "arch_string": architectures or ["unknown"],
            **linkage(wheel.member("torch/lib/libtorch_global_deps.so") or b""),
            "source": f"{source}: METADATA, version.py, libtorch_python.so, libc10.so, libtorch_global_deps.so",
            "confidence": "verified",
        },
        **partners(index, version),
        "variants": variants(wheel, cuda, local, metadata, architectures, source),
        "cxx_std": "unknown",
        "note": "builds of download.pytorch.org that the wheel does not name are unknown",
    }


def newest_python(files: list[File]) -> File:
    """The wheel for the newest CPython with the GIL."""

    def rank(file: File) -> int:
        found = re.search(r"-cp3(\d+)-cp3\d+-", file.name)
        return int(found.group(1)) if found else 0

    return max(files, key=rank)


def day(files: list[File]) -> str:
    """The day on which the first wheel was uploaded."""
    return min((file.uploaded for file in files if file.uploaded), default="")


def pythons(files: list[File]) -> dict[str, str]:
    """The oldest and the newest CPython for which there is a wheel."""
    minors = [int(found) for file in files for found in re.findall(r"-cp3(\d+)-", file.name)]
    return {"from": f"3.{min(minors)}", "to": f"3.{max(minors)}"} if minors else {"from": "unknown", "to": "unknown"}


def build_of(text: str) -> dict[str, str]:
    """The constants of `torch/version.py`."""
    values: dict[str, str] = {}
    for statement in ast.parse(text).body:
        target = None
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            values[target.id] = value.value
    return values


def libraries(metadata: Metadata) -> Row:
    """What the wheel requires of the CUDA libraries: a version, a specifier, or `none`."""

    def pin(name: str) -> str:
        for project in (f"nvidia-{name}-cu13", f"nvidia-{name}-cu12", f"nvidia-{name}-cu11", f"nvidia-{name}"):
            found = metadata.exact(project)
            if found:
                return found
        return "none"

    return {
        "cuda_toolkit_pin": metadata.exact("cuda-toolkit") or "none",
        "cudart": pin("cuda-runtime"),
        "cudnn": pin("cudnn"),
        "nccl": pin("nccl"),
        "triton": metadata.exact("triton") or "none",
        "cusparselt": pin("cusparselt"),
        "nvshmem": pin("nvshmem"),
    }


def glibc(platform: str) -> str:
    """The glibc that a platform tag promises (PEP 600)."""
    found = re.match(r"manylinux_(\d+)_(\d+)_", platform)
    return ".".join(found.groups()) if found else "unknown"


def cxx11_abi(library: bytes) -> object:
    """How `c10::Error(SourceLocation, std::string)` is mangled: 1 with `std::__cxx11::string`, 0 with the older `Ss`."""
    name = b"_ZN3c105ErrorC2ENS_14SourceLocationE"
    found = {abi for abi, rest in enumerate((b"Ss", b"NSt7__cxx11")) if name + rest in library}
    return found.pop() if len(found) == 1 else "unknown"


def arch_list(library: bytes) -> list[str]:
    """The architectures that the wheel was built for."""
    texts = {found.decode() for found in ARCHITECTURES.findall(library)}
    return texts.pop().split() if len(texts) == 1 else []


def linkage(library: bytes) -> Row:
    """How the libraries find each other."""
    if not library:
        return {"rpath_kind": "unknown"}
    section = dynamic(library)
    kind = "DT_RUNPATH" if section["runpath"] else "DT_RPATH" if section["rpath"] else "none"
    return {"dt_needed": ["unknown"], "dt_needed_note": "libtorch_cuda.so was not read", "rpath_kind": kind}


def capability(architecture: str) -> str:
    """The compute capability of `sm_90a`, without its letter."""
    digits = re.sub(r"[^0-9]", "", architecture)
    return f"{digits[:-1]}.{digits[-1]}"


def variants(wheel: Wheel, cuda: str, local: str, metadata: Metadata, architectures: list[str], source: str) -> list[Row]:
    """The builds that the wheel names, and its own."""
    rows = {name: listed(name, by_machine, source) for name, by_machine in built(wheel.text("torch/cuda/__init__.py")).items()}
    own = libraries(metadata)
    rows[cuda] = {
        "cuda": cuda,
        "tag": local.partition("+")[2] or "cu" + cuda.replace(".", ""),
        "status": "published",
        "cudnn": own["cudnn"],
        "nccl": own["nccl"],
        "archs": [capability(name) for name in architectures if name.startswith("sm_")] or ["unknown"],
        "ptx": None,
        **({"toolkit": own["cuda_toolkit_pin"]} if own["cuda_toolkit_pin"] != "none" else {}),
        **{key: value for key, value in rows.get(cuda, {}).items() if key == "archs_aarch64"},
        "source": source,
        "confidence": "verified",
        "pypi_default": True,
    }
    return [rows[name] for name in sorted(rows, key=Version)]


def listed(cuda: str, by_machine: dict[str, list[int]], source: str) -> Row:
    """A build that the wheel names."""
    archs = {machine: [capability(str(number)) for number in sorted(numbers)] for machine, numbers in by_machine.items()}
    row: Row = {"cuda": cuda, "tag": "cu" + cuda.replace(".", ""), "status": "listed", "cudnn": "unknown", "nccl": "unknown"}
    row.update({"archs": archs.get("x86_64", ["unknown"]), "ptx": None})
    if "aarch64" in archs:
        row["archs_aarch64"] = archs["aarch64"]
    return {**row, "source": f"{source}: torch/cuda/__init__.py PYTORCH_RELEASES_CODE_CC", "confidence": "stated"}


def built(text: str) -> dict[str, dict[str, list[int]]]:
    """`PYTORCH_RELEASES_CODE_CC`: the capabilities by CUDA and machine. Releases before 2.13 know no machines."""
    for statement in ast.parse(text).body:
        target = getattr(statement, "target", None) or (getattr(statement, "targets", None) or [None])[0]
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Name) and target.id == "PYTORCH_RELEASES_CODE_CC" and value is not None:
            table = ast.literal_eval(value)
            return {cuda: by if isinstance(by, dict) else {"x86_64": by} for cuda, by in table.items()}
    return {}


def partners(index: Index, version: Version) -> Row:
    """The releases of torchvision and torchaudio whose requirement on torch this release meets. Some require no release."""
    row: Row = {}
    for project in ("torchvision", "torchaudio"):
        found = []
        for release, files in list(index.releases(project).items())[-8:]:
            pin = Wheel(files[0]).metadata().pin("torch")
            if pin and SpecifierSet(pin).contains(version):
                found.append(str(release))
        row[project] = found or ["unknown"]
    return {**row, "partners_source": "PyPI torchvision and torchaudio METADATA", "partners_confidence": "verified"}
