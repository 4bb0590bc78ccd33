#!/usr/bin/env python3
"""Seeds of the targets that read SquashFS and SIF files. Needs mksquashfs.

    fuzz/seeds/squashfs.py

The same seeds are made every time by one version of mksquashfs.
"""

import os
import pathlib
import struct
import subprocess
import tempfile

from common import write

COMPRESSIONS = {
    "gzip": ["-comp", "gzip"],
    "lzo": ["-comp", "lzo", "-noD"],
    "xz": ["-comp", "xz"],
    "lz4": ["-comp", "lz4"],
    "zstd": ["-comp", "zstd"],
    "plain": ["-noI", "-noD", "-noF", "-noX"],
    "blocks": ["-comp", "gzip", "-b", "4K", "-no-fragments"],
}
FILES = {
    "etc/rc": 'cd "/" && unset OLDPWD || exit 1\nexec "$@"\n',
    "etc/environment": "PATH=/usr/bin\nCUDA_VERSION=12.8.1\n",
    "etc/os-release": "ID=debian\n",
    "bin/elf": "\x7fELF" + "x" * 5000,
    ".singularity.d/runscript": "#!/bin/sh\nOCI_ENTRYPOINT='\"/entry.sh\"'\nOCI_CMD=''\n",
    ".singularity.d/labels.json": '{"org.opencontainers.image.version": "2.8.0"}',
    ".singularity.d/env/10-docker2singularity.sh": 'export A="${A:-"1"}"\nexport PATH="/opt:$PATH"\n',
    ".singularity.d/env/90-environment.sh": ". /opt/setvars.sh\n",
    ".singularity.d/env/99-base.sh": "\n",
}
DEFINITION = b"bootstrap: docker\nfrom: pytorch/pytorch:2.8.0\n"


def tree(root):
    """A root filesystem with every kind of file."""
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (root / "empty").mkdir()
    (root / "link").symlink_to("etc/rc")
    os.link(root / "etc/rc", root / "etc/again")
    os.mkfifo(root / "fifo")


def descriptor(number, kind, content, offset, extra=b""):
    """The descriptor of a data object (sylabs/sif, pkg/sif/sif.go)."""
    fields = struct.pack("<i?III", kind, True, number, 1, 0)
    fields += struct.pack("<7q", offset, len(content), len(content), 0, 0, 0, 0)
    return fields + bytes(128) + extra.ljust(384, b"\0")


def sif(image):
    """A file with a definition and an image."""
    start = 128 + 2 * 585
    header = b"#!/usr/bin/env run-singularity\n".ljust(32, b"\0") + b"SIF_MAGIC\x0001\x0002\0"
    header = header.ljust(80, b"\0") + struct.pack("<6q", 0, 2, 128, 2 * 585, start, 0)
    return (header + descriptor(1, 0x4001, DEFINITION, start)
            + descriptor(2, 0x4004, image, start + len(DEFINITION), struct.pack("<ii", 1, 2) + b"02\0")
            + DEFINITION + image)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        root, image = pathlib.Path(scratch, "root"), pathlib.Path(scratch, "image")
        root.mkdir()
        tree(root)
        for name, options in COMPRESSIONS.items():
            subprocess.run(
                ["mksquashfs", root, image, "-noappend", "-quiet", "-no-progress", "-all-root", "-nopad",
                 "-mkfs-time", "0", "-all-time", "0", *options], check=True)
            content = image.read_bytes()
            write("squashfs", name, content)
            if name in ("gzip", "zstd"):
                write("sif", name, sif(content))
    write("sif", "short", sif(b"hsqs"))


if __name__ == "__main__":
    main()
