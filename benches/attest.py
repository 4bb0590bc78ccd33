#!/usr/bin/env python3
"""Measures `imgcheck attest` and `imgcheck verify` on loopback: time, and bytes that a registry sends, beside a check that reads the layers.

    cargo build --release
    python3 benches/attest.py --imgcheck target/release/imgcheck [--image oci:testdata/real/torch-2.8.0-oci]

Needs docker-registry, skopeo and openssl, and as much room on the disk as the image. Each time is the median of the runs.
"""

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time

import services

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAMPLE = "docker-archive:" + os.path.join(
    REPOSITORY, "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imgcheck", default=os.path.join(REPOSITORY, "target/release/imgcheck"))
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
        times, received = [], []
        for _ in range(runs):
            before, start = counter.received, time.monotonic()
            command = [options.imgcheck, *arguments, "--no-progress", "--no-config"]
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            if result.returncode not in (0, 1):
                raise SystemExit(f"{name}: {result.stderr}")
            times.append(time.monotonic() - start)
            received.append(counter.received - before)
        print(f"{name:44} {statistics.median(times):7.2f} s {statistics.median(received) / 1e6:10.2f} MB received", flush=True)
        return result.stdout

    run("check, layers read", "check", image, "--no-cache", runs=1)
    print(run("attest, layers read", "attest", reference, "--key", key, "--cache-dir", cache, runs=1), end="")
    run("attest, facts cached", "attest", reference, "--key", key, "--cache-dir", cache)
    run("verify", "verify", reference, "--key", public, "--no-cache")
    run("check --facts-from registry", "check", image, "--facts-from", "registry", "--facts-key", public, "--no-cache")
    run("verify, facts cached", "verify", reference, "--key", public, "--cache-dir", cache)


class Counter:
    """A port in front of the registry that counts what the registry sends."""

    def __init__(self, registry):
        self.registry = registry
        self.received = 0
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
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
