"""The list `wheel_tags`: for which CPythons releases have wheels for Linux on x86-64, from the names of their files alone."""

from __future__ import annotations

import re
from itertools import groupby

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from .index import File, Index
from .rows import Row

KEY = "wheel_tags"
PACKAGES = (
    "bitsandbytes",
    "ctranslate2",
    "cupy-cuda11x",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "faiss-gpu",
    "faiss-gpu-cu12",
    "jaxlib",
    "onnxruntime-gpu",
    "open3d",
    "paddlepaddle-gpu",
    "tensorflow",
    "tensorflow-gpu",
    "tensorrt-cu12",
    "tensorrt-cu12-bindings",
    "torchaudio",
    "torchtext",
    "torchvision",
    "triton",
    "vllm",
    "xformers",
)
Span = tuple[int, "int | None"]
"""The minors of CPython 3, first and last; without the last, all later ones."""


def span_of(tag: str) -> Span | None:
    """The CPythons that a tag such as `cp312-cp312-manylinux_2_28_x86_64` or `py3-none-any` is for; `None` without one of version 3.

    Free-threaded builds are left out.
    """
    python, abi, _ = tag.split("-", 2)
    match = re.fullmatch(r"(cp|py)3(\d*)", python)
    if match is None or abi.endswith("t"):
        return None
    minor = int(match[2] or 0)
    return (minor, None) if abi == "abi3" or match[1] == "py" else (minor, minor)


def is_for(tag: str, system: str) -> bool:
    """Whether a tag is for a system, such as `manylinux`, on x86-64."""
    platform = tag.rsplit("-", 1)[1]
    return platform == "any" or (platform.startswith(system) and platform.endswith("x86_64"))


def pythons(files: list[File]) -> dict[str, str]:
    """The first and the last CPython with a wheel; without the last, all later ones. Raises `ValueError` if one between them has none."""
    tags = {tag for file in files for tag in file.tags if is_for(tag, "manylinux") or is_for(tag, "linux")}
    spans = {span for span in map(span_of, tags) if span is not None}
    if not spans:
        return {}
    first = min(begin for begin, _ in spans)
    last = max(begin for begin, _ in spans)
    is_open = any(end is None for _, end in spans)
    lacking = set(range(first, last + 1)) - {minor for b, e in spans for minor in range(b, (last if e is None else e) + 1)}
    if lacking:
        raise ValueError(f"no wheel for CPython 3.{min(lacking)}")
    return {"from": f"3.{first}"} if is_open else {"from": f"3.{first}", "to": f"3.{last}"}


def facts(files: list[File]) -> Row:
    """What a row says of one release."""
    python = pythons(files)
    row: Row = {"python": python} if python else {}
    row["sdist"] = any(not file.tags for file in files)
    row["musl"] = any(is_for(tag, "musllinux") for file in files for tag in file.tags)
    return row


def releases(index: Index, package: str) -> dict[Version, Row]:
    """The facts of each stable release, the oldest first. `==` installs a yanked one, too."""
    files: dict[Version, list[File]] = {}
    for file in index.files(package, yanked=True):
        if not file.version.is_prerelease:
            files.setdefault(file.version, []).append(file)
    return {version: facts(files[version]) for version in sorted(files)}


def row(package: str, first: str, last: str, what: Row) -> Row:
    """The row of a range of releases."""
    text = f"=={first}" if first == last else f">={first},<={last}"
    return {"package": package, "releases": text, **what, "source": f"PyPI {package} file names", "confidence": "verified"}


def extended(index: Index, package: str, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """The rows of a package with those of newer releases, and these releases. The last row grows if it says the same of them."""
    known = [Version(end(old)) for old in rows]
    fresh = [(version, what) for version, what in releases(index, package).items() if not known or version > max(known)]
    for what, group in groupby(fresh, key=lambda item: item[1]):
        versions = [str(version) for version, _ in group]
        first = versions[0]
        if rows and same(rows[-1], what):
            first = begin(rows[-1])
            rows = rows[:-1]
        rows = [*rows, row(package, first, versions[-1], what)]
    return rows, [str(version) for version, _ in fresh]


def differences(index: Index, package: str, rows: list[Row], last: int) -> list[str]:
    """Where a row says something different of one of the last releases."""
    lines = []
    for version, what in list(releases(index, package).items())[-last:]:
        lines += [f"{package} {version}: {plain(what)}" for old in rows if covers(old, version) and not same(old, what)]
    return lines


def covers(old: Row, version: Version) -> bool:
    """Whether a row is about a release."""
    return SpecifierSet(str(old["releases"])).contains(version)


def same(old: Row, what: Row) -> bool:
    """Whether a row, read or new, has these facts."""
    return plain({key: old[key] for key in ("python", "sdist", "musl") if key in old}) == plain(what)


def plain(what: Row) -> dict[str, str]:
    """Facts as texts: the tables are read without types."""
    return {key: str(value).lower() for key, value in what.items()}


def begin(old: Row) -> str:
    """The first release of a range."""
    return str(old["releases"]).split(",")[0].lstrip(">=")


def end(old: Row) -> str:
    """The last release of a range."""
    return str(old["releases"]).split(",")[-1].lstrip("<=")
