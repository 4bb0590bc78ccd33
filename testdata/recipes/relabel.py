#!/usr/bin/env python3
"""Gives a docker archive another reference without copying its layers.

    python3 testdata/recipes/relabel.py testdata/real/torch-2.8.0.tar pytorch-cuda:v2.9

Only the last member, `manifest.json`, is written again, in place. For a single check the program's own
`--as REFERENCE` does the same without touching the file.
"""

import json
import sys
import tarfile

from archive import BLOCK, compact


def relabel(path, reference):
    with tarfile.open(path) as tar:
        last = tar.getmembers()[-1]
        if last.name != "manifest.json":
            sys.exit(f"{path}: manifest.json is not the last member, so it cannot be replaced in place")
        manifest = json.load(tar.extractfile(last))
    manifest[0]["RepoTags"] = [reference]
    data = compact(manifest)
    last.size = len(data)
    with open(path, "r+b") as file:
        file.seek(last.offset)
        file.write(last.tobuf(format=tarfile.GNU_FORMAT) + data + bytes(-len(data) % BLOCK + 2 * BLOCK))
        file.truncate()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    relabel(sys.argv[1], sys.argv[2])
