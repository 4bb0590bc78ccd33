#!/usr/bin/env python3
"""Measures `imgcheck lint .` in a repository of 5,000 files.

    cargo build --profile dist
    python3 benches/lint.py

The repository holds the cases of testdata/lint/cases, each in a directory of its own, and for the rest Python modules, which imgcheck
only passes by. The table tells the time, and the time of the processor.
"""
import argparse
import os
import resource
import shutil
import statistics
import tempfile

from compare import REPOSITORY
from measure import Command, run

MODULE = "import torch\n\n\ndef train(model):\n    return model\n"


def main():
    options = arguments()
    cases = os.path.join(REPOSITORY, "testdata", "lint", "cases")
    chosen = sorted(os.listdir(cases))[:: max(1, len(os.listdir(cases)) // options.cases)][: options.cases]
    with tempfile.TemporaryDirectory() as repository:
        for name in chosen:
            shutil.copytree(os.path.join(cases, name), os.path.join(repository, name), ignore=shutil.ignore_patterns("expected"))
        read = count(repository)
        fill(repository, options.files - read)
        os.chdir(repository)
        command = Command([os.path.abspath(options.imgcheck), "lint", ".", "--no-config", "--format", "json"])
        run(command)
        times = [timed(command) for _ in range(options.runs)]
    wall, processor = (statistics.median(column) for column in zip(*times))
    print(f"{options.files} files, {read} of them in {len(chosen)} cases, median of {options.runs}: {wall:.3f} s, processor {processor:.3f} s")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(REPOSITORY, "target")
    parser.add_argument("--imgcheck", type=os.path.abspath, default=os.path.join(target, "dist", "imgcheck"), help="the program")
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--cases", type=int, default=40, help="cases among the files")
    parser.add_argument("--runs", type=int, default=9)
    return parser.parse_args()


def count(directory):
    return sum(len(files) for _, _, files in os.walk(directory))


def fill(repository, missing):
    for number in range(missing):
        package = os.path.join(repository, "src", f"package{number // 50}")
        os.makedirs(package, exist_ok=True)
        with open(os.path.join(package, f"module{number % 50}.py"), "w", encoding="utf-8") as file:
            file.write(MODULE)


def timed(command):
    """Seconds on the clock and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = run(command).seconds
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
