#!/usr/bin/env python3
"""Which values of PYTORCH_CUDA_ALLOC_CONF each release of PyTorch refuses, by its own libc10_cuda.so. No GPU is needed.

    python3 testdata/recipes/allocator_settings.py

Renews testdata/allocator-settings.csv: a row for each value, a column for each release; `ok`, `fails`, `crashes`, or `aborts` when the libraries are
loaded. Only libc10, libc10_cuda and libcudart are fetched from the wheels. `backend:cudaMallocAsync` needs a driver and is left out.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

TESTDATA = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTDATA.parent / "tools"))
from knowledge.index import Index  # noqa: E402
from knowledge.wheel import Wheel  # noqa: E402

RELEASES = ("2.0.0 2.0.1 2.1.0 2.1.2 2.2.0 2.2.2 2.3.1 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.0 2.9.1 2.10.0 2.11.0 2.12.0 2.13.0 "
            "2.14.1 2.15.0").split()
RUNTIMES = {
    "11": ("nvidia-cuda-runtime-cu11", "11.7.99", "nvidia/cuda_runtime/lib/libcudart.so.11.0"),
    "12": ("nvidia-cuda-runtime-cu12", "12.8.90", "nvidia/cuda_runtime/lib/libcudart.so.12"),
    "13": ("nvidia-cuda-runtime", "13.0.96", "nvidia/cu13/lib/libcudart.so.13"),
}
OUTCOMES = {0: "ok", 1: "fails", -6: "aborts", -11: "crashes"}


def wheel(index: Index, project: str, version: str) -> Wheel:
    """A wheel of a release for Linux on x86-64."""
    files = [file for file in index.files(project) if str(file.version) == version and file.runs_on_linux()]
    return Wheel(sorted(files, key=lambda file: file.name)[0])


def fetch(index: Index, project: str, version: str, member: str, directory: Path) -> Path:
    """Writes a member of a wheel into a directory."""
    content = wheel(index, project, version).member(member)
    if content is None:
        raise SystemExit(f"{project} {version} has no {member}")
    path = directory / Path(member).name
    path.write_bytes(content)
    return path


def compiled(directory: Path, abi: int) -> Path:
    """The program that hands a value to PyTorch's libraries, for one C++ ABI."""
    program = directory / f"allocator{abi}"
    source = Path(__file__).with_suffix(".cpp")
    subprocess.run(["g++", "-O1", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-o", program, source, "-ldl"], check=True)
    return program


def outcomes(index: Index, release: str, values: list[str], directory: Path) -> list[str]:
    """What each value does in a release."""
    number = tuple(int(part) for part in release.split("."))
    libraries = directory / release
    libraries.mkdir()
    for name in ("libc10.so", "libc10_cuda.so"):
        fetch(index, "torch", release, f"torch/lib/{name}", libraries)
    runtime = fetch(index, *RUNTIMES["11" if number < (2, 1) else "12" if number < (2, 11) else "13"], libraries)
    program = compiled(libraries, int(number >= (2, 7)))
    found = []
    for value in values:
        run = subprocess.run([program, runtime, libraries, value], capture_output=True)
        if run.returncode not in OUTCOMES:
            raise SystemExit(f"{release} with {value!r}: {run.returncode} {run.stdout!r} {run.stderr!r}")
        found.append(OUTCOMES[run.returncode])
    return found


def main() -> None:
    table = TESTDATA / "allocator-settings.csv"
    with table.open(newline="") as file:
        values = [row["value"] for row in csv.DictReader(file)]
    index = Index()
    with tempfile.TemporaryDirectory() as directory:
        columns = {release: outcomes(index, release, values, Path(directory)) for release in RELEASES}
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["value", *columns])
        writer.writerows(zip(values, *columns.values()))


if __name__ == "__main__":
    main()
