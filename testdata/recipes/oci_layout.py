"""Writes OCI image layouts that share their blobs: an image that adds a small layer to another one costs that layer only.

The layers are compressed by gzip, or by igzip where it is installed, which takes a tenth of the time. Every image is a layout of
its own, whose blobs are hard links into a common store.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

from archive import OCI_CONFIG, OCI_LAYER, OCI_MANIFEST, HashingWriter, add_path, compact

CREATED = "2025-08-06T00:00:00Z"


@dataclasses.dataclass(frozen=True)
class Layer:
    """A stored layer and the build step that made it. `diff_id` is the SHA-256 of the tar file, `digest` and `size` are the blob's."""

    digest: str
    size: int
    diff_id: str
    created_by: str


class Store:
    """A directory of blobs by their SHA-256, and of layers by the names that recipes give them."""

    def __init__(self, directory):
        self.blobs, self.layers = os.path.join(directory, "blobs"), os.path.join(directory, "layers")
        os.makedirs(self.blobs, exist_ok=True)
        os.makedirs(self.layers, exist_ok=True)

    def layer(self, name, created_by, fill, force=False):
        """The layer of this name; `fill(tar)` writes it if it is not there yet."""
        note = os.path.join(self.layers, name + ".json")
        if force or not os.path.exists(note):
            written = self._write(fill)
            with open(note, "w", encoding="utf-8") as file:
                json.dump(written, file)
        with open(note, encoding="utf-8") as file:
            return Layer(created_by=created_by, **json.load(file))

    def _write(self, fill):
        with tempfile.NamedTemporaryFile(dir=self.blobs, prefix=".writing-") as file:
            command = [shutil.which("igzip") or "gzip", "-1", "-n", "-c"]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file) as compressor:
                writer = HashingWriter(compressor.stdin)
                with tarfile.open(fileobj=writer, mode="w|", format=tarfile.PAX_FORMAT, copybufsize=1 << 20) as tar:
                    fill(tar)
            if compressor.returncode:
                sys.exit(f"{command[0]} failed with exit code {compressor.returncode}")
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.chmod(file.name, 0o644)
            with contextlib.suppress(FileExistsError):
                os.link(file.name, os.path.join(self.blobs, digest))
            return {"digest": digest, "size": os.path.getsize(file.name), "diff_id": writer.sha256.hexdigest()}

    def image(self, directory, reference, steps, config, architecture="amd64"):
        """Writes the layout of one image. `steps` are layers and, for steps that make none (ENV, CMD …), their texts."""
        layers = [step for step in steps if isinstance(step, Layer)]
        history = [
            {"created": CREATED, "created_by": step.created_by}
            if isinstance(step, Layer) else {"created": CREATED, "created_by": step, "empty_layer": True}
            for step in steps
        ]
        target = os.path.join(directory, "blobs", "sha256")
        os.makedirs(target, exist_ok=True)
        for layer in layers:
            with contextlib.suppress(FileExistsError):
                os.link(os.path.join(self.blobs, layer.digest), os.path.join(target, layer.digest))
        config = put(target, OCI_CONFIG, {
            "architecture": architecture, "os": "linux", "created": CREATED, "config": config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.diff_id}" for layer in layers]}, "history": history,
        })
        described = [{"mediaType": f"{OCI_LAYER}+gzip", "digest": f"sha256:{layer.digest}", "size": layer.size} for layer in layers]
        manifest = put(target, OCI_MANIFEST, {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": described})
        manifest["annotations"] = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference.rsplit(":", 1)[-1]}
        write(os.path.join(directory, "oci-layout"), b'{"imageLayoutVersion":"1.0.0"}')
        write(os.path.join(directory, "index.json"), compact({"schemaVersion": 2, "manifests": [manifest]}))


def put(directory, media_type, value):
    """Stores a JSON document as a blob; returns its descriptor."""
    data = compact(value)
    digest = hashlib.sha256(data).hexdigest()
    write(os.path.join(directory, digest), data)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def add_changes(tar, root, below):
    """Adds what a build step that turned `below` into `root` would store: new and changed files, and whiteouts."""
    first_names = {}
    for path in sorted(changed(root, below)):
        add_path(tar, os.path.join(root, path), path, first_names)
    for path in sorted(removed(root, below)):
        tar.addfile(tarfile.TarInfo(os.path.join(os.path.dirname(path), ".wh." + os.path.basename(path))))


def changed(root, below):
    """Paths, relative to the root, of entries that are not in `below` as they are, and of the directories above them."""
    found = set()
    for path in entries(root):
        if not same(os.path.join(root, path), os.path.join(below, path)):
            while path and path not in found:
                found.add(path)
                path = os.path.dirname(path)
    return found


def removed(root, below):
    """Paths of entries of `below` that are gone; of a directory that is gone, only its own."""
    gone = [path for path in entries(below) if not os.path.lexists(os.path.join(root, path))]
    return [path for path in gone if os.path.lexists(os.path.join(root, os.path.dirname(path)))]


def entries(root):
    for directory, directories, files in os.walk(root):
        for name in directories + files:
            yield os.path.relpath(os.path.join(directory, name), root)


def same(one, other):
    """Whether two paths hold the same: one inode, or the same kind of file with the same size and time of change."""
    try:
        a, b = os.lstat(one), os.lstat(other)
    except FileNotFoundError:
        return False
    if stat.S_IFMT(a.st_mode) != stat.S_IFMT(b.st_mode):
        return False
    if stat.S_ISLNK(a.st_mode):
        return os.readlink(one) == os.readlink(other)
    return stat.S_ISDIR(a.st_mode) or os.path.samestat(a, b) or (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)
