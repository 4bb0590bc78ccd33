"""What a release requires of NVIDIA's packages, one by one."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from .index import File, Index
from .metadata import Metadata
from .rows import Row
from .wheel import Wheel

STACK = ("nvidia-", "cuda-", "tensorrt")
TOOLKIT = "cuda-toolkit"


def pinned(metadata: Metadata, extra: str = "") -> list[Requirement]:
    """Requirements on packages of the GPU stack that accept some releases only."""
    wanted = metadata.requirements(extra)
    return [r for r in wanted if canonicalize_name(r.name).startswith(STACK) and r.specifier]


def of_toolkit(index: Index, toolkit: Requirement) -> list[Row]:
    """What `cuda-toolkit[cublas,…]==13.2.2` requires. Raises `ValueError` where it accepts several releases."""
    releases = [version for version in index.releases(TOOLKIT) if toolkit.specifier.contains(version)]
    if len(releases) != 1:
        raise ValueError(f"{toolkit}: {len(releases)} releases")
    metadata = Wheel(index.releases(TOOLKIT)[releases[0]][0]).metadata()
    found = [requirement for extra in sorted(toolkit.extras) for requirement in pinned(metadata, extra)]
    return [{**pin(requirement), "via": TOOLKIT} for requirement in found]


def pin(requirement: Requirement) -> Row:
    """One requirement as a row."""
    return {"package": canonicalize_name(requirement.name), "specifier": str(requirement.specifier)}


def row(index: Index, project: str, version: Version, files: list[File], extra: str = "") -> Row | None:
    """What a release requires on Linux, with an extra what it adds; `None` if it requires nothing of the stack."""
    wheel = Wheel(min(files, key=lambda file: (len(file.name), file.name)))
    found: dict[str, Row] = {}
    for requirement in pinned(wheel.metadata(), extra):
        is_toolkit = canonicalize_name(requirement.name) == TOOLKIT and requirement.extras
        for new in of_toolkit(index, requirement) if is_toolkit else []:
            found.setdefault(new["package"], new)
        found[canonicalize_name(requirement.name)] = pin(requirement)
    if not found:
        return None
    source = f"PyPI {project} {version} METADATA"
    if any("via" in new for new in found.values()):
        source += f", and that of {TOOLKIT}"
    result: Row = {"package": project, "version": str(version), "extra": extra, "pins": [found[name] for name in sorted(found)]}
    return {**result, "source": source, "confidence": "verified"}
