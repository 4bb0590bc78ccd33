#!/usr/bin/env python3
"""Measures `imgcheck attest` and `imgcheck verify` on loopback: time, bytes that a registry sends, beside a check that reads
the layers, and what the facts of a second image on the same base add.

    cargo build --profile dist
    python3 benches/attest.py --imgcheck target/dist/imgcheck [--image oci:testdata/real/torch-2.8.0-oci]

Needs docker-registry, skopeo and openssl, and as much room on the disk as the image. Each time is the median of the runs.
"""

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import os
import socket
import statistics
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.request

import services

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAMPLE = "docker-archive:" + os.path.join(
    REPOSITORY, "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imgcheck", default=os.path.join(REPOSITORY, "target/dist/imgcheck"))
    parser.add_argument("--image", default=SAMPLE, help="as skopeo names it")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        registry = stack.enter_context(services.registry(os.path.join(home, "registry")))
        counter = stack.enter_context(Counter(registry))
        subprocess.run(
            ["skopeo", "copy", "-q", "--dest-tls-verify=false", options.image, f"docker://{registry}/team/image:1"], check=True
        )
        measure(options, home, f"{counter.address}/team/image:1", counter)


def measure(options, home, reference, counter):
    key, public = os.path.join(home, "key.pem"), os.path.join(home, "key.pub")
    curve = "ec_paramgen_curve:P-256"
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", curve, "-out", key], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    image, cache = f"docker://{reference}", os.path.join(home, "cache")

    def run(name, *arguments, runs=options.runs):
        times, received, sent = [], [], []
        for _ in range(runs):
            before, before_sent, start = counter.received, counter.sent, time.monotonic()
            command = [options.imgcheck, *arguments, "--no-progress", "--no-config"]
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            if result.returncode not in (0, 1):
                raise SystemExit(f"{name}: {result.stderr}")
            times.append(time.monotonic() - start)
            received.append(counter.received - before)
            sent.append(counter.sent - before_sent)
        bytes_moved = " ".join(f"{statistics.median(it) / 1e6:10.2f} MB {how}" for it, how in ((received, "received"), (sent, "sent")))
        print(f"{name:44} {statistics.median(times):7.2f} s {bytes_moved}", flush=True)
        return result.stdout

    run("check, layers read", "check", image, "--no-cache", runs=1)
    print(run("attest, layers read", "attest", reference, "--key", key, "--cache-dir", cache, runs=1), end="")
    run("attest, facts cached", "attest", reference, "--key", key, "--cache-dir", cache)
    run("verify", "verify", reference, "--key", public, "--no-cache")
    run("check --facts-from registry", "check", image, "--facts-from", "registry", "--facts-key", public, "--no-cache")
    run("verify, facts cached", "verify", reference, "--key", public, "--cache-dir", cache)
    second = push_second(counter.address)
    print(run("attest, second image on the same base", "attest", second, "--key", key, "--cache-dir", cache, runs=1), end="")


def push_second(host):
    """Pushes an image with one small layer more; its reference."""
    repository = f"http://{host}/v2/team/image"

    def ask(url, method="GET", data=None, **headers):
        request = urllib.request.Request(url, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request) as response:
            return response.read(), response.headers

    def push(data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        location = ask(f"{repository}/blobs/uploads/", "POST", b"")[1]["Location"]
        separator = "&" if "?" in location else "?"
        ask(f"{location}{separator}digest={digest}", "PUT", data, **{"Content-Type": "application/octet-stream"})
        return {"digest": digest, "size": len(data)}

    accepted = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.loads(ask(f"{repository}/manifests/1", Accept=accepted)[0])
    config = json.loads(ask(f"{repository}/blobs/{manifest['config']['digest']}")[0])
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for number in range(200):
            script = f"print({number})\n".encode()
            entry = tarfile.TarInfo(f"srv/train/part{number}.py")
            entry.size = len(script)
            tar.addfile(entry, io.BytesIO(script))
    config["rootfs"]["diff_ids"].append("sha256:" + hashlib.sha256(archive.getvalue()).hexdigest())
    layer = {"mediaType": manifest["layers"][-1]["mediaType"], **push(gzip.compress(archive.getvalue()))}
    manifest["layers"].append(layer)
    manifest["config"].update(push(json.dumps(config).encode()))
    ask(f"{repository}/manifests/2", "PUT", json.dumps(manifest).encode(), **{"Content-Type": manifest["mediaType"]})
    return f"{host}/team/image:2"


class Counter:
    """A port in front of the registry that counts what the registry sends and gets."""

    def __init__(self, registry):
        self.registry = registry
        self.received = self.sent = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        host, port = self.registry.rsplit(":", 1)
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((host, int(port)))
                threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self.copy, args=(server, client, True), daemon=True).start()

    def copy(self, source, target, counts):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                if counts:
                    self.received += len(data)
                else:
                    self.sent += len(data)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
