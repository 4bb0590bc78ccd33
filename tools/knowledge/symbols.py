"""Which releases of torch have every symbol that the extensions of a wheel need. A missing one fails their load: CPython binds all symbols at once."""

from __future__ import annotations

import re
import struct

from packaging.version import Version

from . import elf
from .index import Index
from .wheel import LARGEST_SEARCHED, Wheel

# Where the symbols of PyTorch are that are not of CUDA kernels; libtorch_cuda.so has more than most machines can hold in memory.
LIBRARIES = ("libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_python.so", "libtorch.so")
# Namespaces at, c10, torch and caffe2 (Itanium C++ ABI, section 5.1), and the stable C interfaces.
OWN = re.compile(r"_Z[A-Z]*K?(2at|3c10|5torch|6caffe2)|aoti_torch_|torch_")


def table(data: bytes) -> tuple[set[str], set[str]]:
    """The symbols that an ELF file needs, without weak ones, and those that it defines. Raises `ValueError` for a damaged file."""
    try:
        return _table(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged ELF file: {error}") from error


def _table(data: bytes) -> tuple[set[str], set[str]]:
    strings, symbols, count = elf.symbol_table(data)
    needs, defines = set(), set()
    for number in range(count):
        name, information, _, section, _, _ = struct.unpack_from("<IBBHQQ", data, symbols + 24 * number)
        begin = strings + name
        text = data[begin : data.index(0, begin)].decode()
        if section:
            defines.add(text)
        elif information >> 4 == 1:
            needs.add(text)
    return needs, defines


def read(wheel: Wheel, path: str) -> bytes:
    """A member of any size that memory holds."""
    size = wheel.zip.getinfo(path).file_size
    if size > LARGEST_SEARCHED:
        raise ValueError(f"{wheel.file.name}: {path} has {size} bytes, more than {LARGEST_SEARCHED}")
    return wheel.zip.read(path)


def needed(wheel: Wheel) -> set[str]:
    """The symbols of PyTorch that the extensions of a wheel need and do not define themselves."""
    paths = [path for path in wheel.zip.namelist() if path.endswith(".so") and ".libs/" not in path]
    tables = [table(read(wheel, path)) for path in paths]
    own = {name for _, defines in tables for name in defines}
    return {name for needs, _ in tables for name in needs if OWN.match(name)} - own


def exported(wheel: Wheel) -> set[str]:
    """The symbols of PyTorch that a wheel of torch defines."""
    paths = [f"torch/lib/{name}" for name in LIBRARIES if f"torch/lib/{name}" in wheel.zip.NameToInfo]
    return {name for path in paths for name in table(read(wheel, path))[1] if OWN.match(name)}


def missing(index: Index, project: str, version: str, torches: list[str]) -> dict[str, set[str]]:
    """By release of torch, the needed symbols that it lacks and another of these releases has: others may be those of CUDA kernels."""
    files = [file for file in index.releases(project)[Version(version)] if not file.name.endswith("any.whl")]
    wanted = needed(Wheel(min(files, key=lambda file: (len(file.name), file.name))))
    have: dict[str, set[str]] = {}
    for release in torches:
        wheels = index.releases("torch")[Version(release)]
        have[release] = exported(Wheel(min(wheels, key=lambda file: (len(file.name), file.name)))) & wanted
    known = set().union(*have.values())
    return {release: known - names for release, names in have.items()}


def markdown(found: dict[str, set[str]]) -> str:
    """A line for each release of torch."""
    lines = []
    for release, names in found.items():
        shortest = min(names, key=lambda name: (len(name), name), default="")
        lines.append(f"- torch {release}: " + (f"lacks {len(names)}, such as `{shortest}`" if names else "has all"))
    return "".join(f"{line}\n" for line in lines)
