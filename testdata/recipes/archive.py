"""Writes docker archives, one layer after the other, without a temporary copy of any layer.

Two layouts are known to be in use and both are written here:

* `legacy`: `manifest.json`, `<config>.json` and `<id>/layer.tar`, as `docker save` wrote them up to Docker 24;
* `blobs`: the same `manifest.json`, but pointing into an OCI image layout (`oci-layout`, `index.json`,
  `blobs/sha256/…`), as `docker save` writes them since Docker 25.
"""

import contextlib
import hashlib
import io
import json
import os
import stat
import tarfile

BLOCK = 512
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"


class HashingWriter:
    """Counts and hashes what passes through it."""

    def __init__(self, file):
        self.file, self.size, self.sha256 = file, 0, hashlib.sha256()

    def write(self, data):
        self.size += len(data)
        self.sha256.update(data)
        return self.file.write(data)


class DockerArchive:
    """A docker archive in the making; `created` and `mtime` are fixed by the caller to keep bytes reproducible."""

    def __init__(self, path, layout="legacy", created="2025-08-06T00:00:00Z", mtime=1754438400):
        assert layout in ("legacy", "blobs")
        self.file, self.layout, self.created, self.mtime = open(path, "wb"), layout, created, mtime
        self.layers, self.history = [], []

    @contextlib.contextmanager
    def layer(self, created_by):
        """Yields the tar file of a new layer; its header in the archive is written when its size and digest are known."""
        start = self.file.tell()
        self.file.write(bytes(BLOCK))
        writer = HashingWriter(self.file)
        with tarfile.open(fileobj=writer, mode="w|", format=tarfile.PAX_FORMAT, copybufsize=1 << 20) as tar:
            yield tar
        self._pad(writer.size)
        diff_id = writer.sha256.hexdigest()
        name = f"{self._legacy_id(diff_id)}/layer.tar" if self.layout == "legacy" else f"blobs/sha256/{diff_id}"
        end = self.file.tell()
        self.file.seek(start)
        self.file.write(self._header(name, writer.size))
        self.file.seek(end)
        self.layers.append((name, diff_id, writer.size))
        self.history.append({"created": self.created, "created_by": created_by})

    def step(self, created_by):
        """A build step that made no layer (ENV, CMD …)."""
        self.history.append({"created": self.created, "created_by": created_by, "empty_layer": True})

    def finish(self, tag, env=(), cmd=("python3",), labels=None, architecture="amd64", entrypoint=None):
        """Writes configuration and manifest and closes the file."""
        config = {
            "architecture": architecture,
            "os": "linux",
            "created": self.created,
            "config": {
                "Env": list(env), "Cmd": list(cmd), "Labels": labels or {},
                **({"Entrypoint": list(entrypoint)} if entrypoint else {}),
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}" for _, diff_id, _ in self.layers]},
            "history": self.history,
        }
        config_bytes = compact(config)
        config_id = hashlib.sha256(config_bytes).hexdigest()
        if self.layout == "legacy":
            config_name = f"{config_id}.json"
            self._member(config_name, config_bytes)
        else:
            config_name = f"blobs/sha256/{config_id}"
            self._member(config_name, config_bytes)
            self._oci_index(config_id, len(config_bytes), tag)
        manifest = [{"Config": config_name, "RepoTags": [tag], "Layers": [name for name, _, _ in self.layers]}]
        self._member("manifest.json", compact(manifest))
        self.file.write(bytes(2 * BLOCK))
        self.file.close()

    def _oci_index(self, config_id, config_size, tag):
        manifest = compact({
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {"mediaType": OCI_CONFIG, "digest": f"sha256:{config_id}", "size": config_size},
            "layers": [
                {"mediaType": OCI_LAYER, "digest": f"sha256:{diff_id}", "size": size}
                for _, diff_id, size in self.layers
            ],
        })
        digest = hashlib.sha256(manifest).hexdigest()
        self._member(f"blobs/sha256/{digest}", manifest)
        self._member("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        self._member("index.json", compact({
            "schemaVersion": 2,
            "manifests": [{
                "mediaType": OCI_MANIFEST,
                "digest": f"sha256:{digest}",
                "size": len(manifest),
                "annotations": {"io.containerd.image.name": tag, "org.opencontainers.image.ref.name": tag.rsplit(":", 1)[-1]},
            }],
        }))

    def _legacy_id(self, diff_id):
        parent = self.layers[-1][0] if self.layers else ""
        return hashlib.sha256(f"{parent} {diff_id}".encode()).hexdigest()

    def _member(self, name, data):
        self.file.write(self._header(name, len(data)))
        self.file.write(data)
        self._pad(len(data))

    def _header(self, name, size):
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = size, self.mtime, 0o644
        return info.tobuf(format=tarfile.GNU_FORMAT)

    def _pad(self, size):
        self.file.write(bytes(-size % BLOCK))


def compact(value):
    """JSON as the tools write it: no spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def add_tree(tar, root):
    """Adds everything below `root` to the layer, sorted, owned by root, with whole-second times."""
    first_names = {}
    for directory, directories, files in os.walk(root):
        directories.sort()
        for name in sorted(directories + files):
            path = os.path.join(directory, name)
            add_path(tar, path, os.path.relpath(path, root), first_names)


def add_path(tar, path, stored, first_names):
    """Adds one entry; a second name of one file becomes a hard link."""
    status = os.lstat(path)
    if stat.S_ISSOCK(status.st_mode):
        return
    info = tar.gettarinfo(path, stored)
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = int(info.mtime)
    if stat.S_ISREG(status.st_mode):
        first = first_names.setdefault((status.st_dev, status.st_ino), stored)
        info.type, info.linkname = (tarfile.REGTYPE, "") if first == stored else (tarfile.LNKTYPE, first)
        info.size = status.st_size if first == stored else 0
        if first == stored:
            with open(path, "rb") as content:
                tar.addfile(info, content)
            return
    tar.addfile(info)


def add_bytes(tar, stored, data, mode=0o644, mtime=1754438400):
    """Adds a file of given content, owned by root."""
    info = tarfile.TarInfo(stored)
    info.size, info.mode, info.mtime = len(data), mode, mtime
    tar.addfile(info, io.BytesIO(data))


def add_parents(tar, stored, known, mtime=1754438400):
    """Adds the directories above `stored` that `known` does not hold yet."""
    parts = stored.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        directory = "/".join(parts[:depth])
        if directory not in known:
            known.add(directory)
            info = tarfile.TarInfo(directory)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, mtime
            tar.addfile(info)
