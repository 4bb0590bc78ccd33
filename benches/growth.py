#!/usr/bin/env python3
"""Measures how the time and memory of imgcheck grow with the number of layers and of entries.

Images are made on the fly: OCI layouts whose files are spread evenly over the layers, once with gzip layers and once
with layers that are not compressed. Two tables say how long each takes, and the exponent of the growth: the slope
between the first and the last measurement on logarithmic scales. 1 is linear growth, 0 none.
"""
import argparse
import gzip
import hashlib
import json
import math
import os
import statistics
import sys
import tempfile

from compare import BLOCK, REPOSITORY, compact, store
from measure import Command, run

CONTENT = b"x" * 100
PLAIN, GZIP = "plain", "gzip"


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        for compression in (PLAIN, GZIP):
            runs = {}
            for entries in options.entries:
                for layers in options.layers:
                    with tempfile.TemporaryDirectory(dir=work) as layout:
                        write_image(layout, entries, layers, compression)
                        command = Command([options.imgcheck, layout, "--no-cache", "--format", "json"])
                        runs[entries, layers] = [run(command) for _ in range(options.runs)]
                    if any(one.code not in (0, 1) for one in runs[entries, layers]):
                        sys.exit(f"imgcheck could not check {entries} entries in {layers} layers ({compression})")
            print(table(compression, runs, options), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(REPOSITORY, "target")
    parser.add_argument("--imgcheck", default=os.path.join(target, "dist", "imgcheck"), help="the program")
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--runs", type=int, default=3, help="runs of each, of which the median counts")
    parser.add_argument("--work", help="directory for the images, which take 2 GB")
    return parser.parse_args()


def write_image(layout, entries, layers, compression):
    os.makedirs(os.path.join(layout, "blobs", "sha256"))
    described = [write_layer(layout, layer, entries // layers, compression) for layer in range(layers)]
    config = store(layout, compact({
        "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [diff_id for diff_id, _ in described]},
    }))
    kind = "application/vnd.oci.image.layer.v1.tar" + ("+gzip" if compression == GZIP else "")
    manifest = store(layout, compact({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config},
        "layers": [{"mediaType": kind, **blob} for _, blob in described],
    }))
    index = {"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", **manifest}]}
    for name, document in (("oci-layout", {"imageLayoutVersion": "1.0.0"}), ("index.json", index)):
        with open(os.path.join(layout, name), "w", encoding="utf-8") as file:
            json.dump(document, file)


def write_layer(layout, layer, entries, compression):
    """Returns the diff ID of a layer and the descriptor fields of the blob."""
    diff_id, path = hashlib.sha256(), os.path.join(layout, "layer")
    with open(path, "wb") as file:
        stored = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) if compression == GZIP else file
        for start in range(0, entries, 1000):
            members = b"".join(member(layer, number) for number in range(start, min(entries, start + 1000)))
            diff_id.update(members)
            stored.write(members)
        end = bytes(2 * BLOCK)
        diff_id.update(end)
        stored.write(end)
        if stored is not file:
            stored.close()
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = os.path.getsize(path)
    os.rename(path, os.path.join(layout, "blobs", "sha256", digest))
    return f"sha256:{diff_id.hexdigest()}", {"digest": f"sha256:{digest}", "size": size}


def member(layer, number):
    """A regular file as ustar writes it. There are a hundred of them in a directory, as in real images."""
    name = f"usr/lib/python3/dist-packages/layer{layer}/{number // 100}/module{number}.py".encode()
    fields = [(name, 100), (b"0000644\0", 8), (b"0000000\0", 8), (b"0000000\0", 8), (b"%011o\0" % len(CONTENT), 12),
              (b"00000000000\0", 12), (b"        ", 8), (b"0", 1), (b"", 100), (b"ustar\x0000", 8)]
    header = b"".join(value.ljust(length, b"\0") for value, length in fields).ljust(BLOCK, b"\0")
    header = header[:148] + b"%06o\0 " % sum(header) + header[156:]
    return header + CONTENT.ljust(BLOCK, b"\0")


def table(compression, runs, options):
    peak = max(one.peak for some in runs.values() for one in some) / 1e6
    lines = [
        f"\n{compression} layers; largest peak memory {peak:.0f} MB\n",
        "| entries | " + " | ".join(f"{layers} layer{'s' * (layers > 1)}" for layers in options.layers) + " | exponent of layers |",
        "|---:|" + "---:|" * (len(options.layers) + 1),
    ]
    seconds = {key: statistics.median(one.seconds for one in some) for key, some in runs.items()}
    for entries in options.entries:
        row = [seconds[entries, layers] for layers in options.layers]
        lines.append(f"| {entries:,} | " + " | ".join(f"{one:.3f} s" for one in row) + f" | {exponent(options.layers, row)} |")
    columns = ([seconds[entries, layers] for entries in options.entries] for layers in options.layers)
    lines.append("| exponent of entries | " + " | ".join(exponent(options.entries, column) for column in columns) + " | |")
    return "\n".join(lines)


def exponent(sizes, seconds):
    if len(sizes) < 2:
        return "–"
    return f"{math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0]):.2f}"


if __name__ == "__main__":
    main()
