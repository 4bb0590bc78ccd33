#!/usr/bin/env python3
"""Measures `imgcheck serve` on loopback: cached verdicts, new questions on known facts, a storm of unknown images.

    cargo build --profile dist --features gate,kube
    python3 benches/gate.py --imgcheck target/dist/imgcheck [--image docker-archive:testdata/real/torch-2.8.0.tar] \\
        [--large testdata/real/torch-2.8.0-oci]
    python3 benches/gate.py --imgcheck target/dist/imgcheck --kube testdata/real/kube --nodes 10000 --classes 50 --verdicts 100000

Needs docker-registry and skopeo. Requests are sent by this program over plain HTTP on connections that stay open, so its own time counts, too.

With --kube the server watches a real API server (`testdata/recipes/kube_apiserver.sh` builds it; needs etcd and openssl), in which nodes are
created with the labels that GPU feature discovery gives them. --verdicts fills the memory for verdicts with as many different ones: Pods
that differ in a variable of their environment, and select one class of nodes each. Then a node gets a new driver, time and again, and the
next question waits for a judgement on a class that is new.
"""

import argparse
import asyncio
import contextlib
import gzip
import hashlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

from gate_cluster import driver, free_address, labels, start_cluster

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAMPLE = "docker-archive:" + os.path.join(
    REPOSITORY, "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar"
)
TAG = "team/image:2.8.0-cuda12.8-cudnn9-runtime"


def main():
    options = arguments()
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        registry = stack.enter_context(start_registry(home))
        copy(options.image, f"{registry}/{TAG}")
        for number in range(options.storm_images):
            copy(changed(home, number), f"{registry}/storm/image:v{number}")
        if options.large:
            copy(f"oci:{options.large}", f"{registry}/large/one:1")
            copy(twin(home, options.large), f"{registry}/large/two:1")
        cluster = None
        if options.kube:
            cluster = stack.enter_context(start_cluster(home, options.kube))
            cluster.create_nodes(options.nodes, options.classes)
        server = stack.enter_context(start_server(options, home, cluster))
        wait_until_ready(server)
        asyncio.run(at_scale(server, registry, cluster, options) if options.verdicts else measure(server, registry, options))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imgcheck", default=os.path.join(REPOSITORY, "target/dist/imgcheck"))
    parser.add_argument("--image", default=SAMPLE, help="the image of the cached verdicts, as skopeo names it")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=int, default=200, help="requests a second for the latency of cached verdicts")
    parser.add_argument("--storm", type=int, default=500, help="Pods at once")
    parser.add_argument("--storm-images", type=int, default=100)
    parser.add_argument("--classes", type=int, default=1)
    parser.add_argument("--large", help="an OCI layout with gzip layers: cached verdicts are asked while it and a twin of it are read")
    parser.add_argument("--kube", help="the directory of kube-apiserver: the nodes are those of a real API server")
    parser.add_argument("--nodes", type=int, default=10_000, help="nodes of the API server")
    parser.add_argument("--verdicts", type=int, default=0, help="different verdicts in memory")
    parser.add_argument("--memory", default="256MB", help="what the server may keep in memory, as --memory of `imgcheck serve`")
    return parser.parse_args()


@contextlib.contextmanager
def start_registry(home):
    address = free_address()
    file = os.path.join(home, "registry.json")
    storage = {"filesystem": {"rootdirectory": os.path.join(home, "registry")}}
    with open(file, "w", encoding="utf-8") as output:
        json.dump({"version": 0.1, "log": {"level": "error"}, "http": {"addr": address}, "storage": storage}, output)
    process = subprocess.Popen(["docker-registry", "serve", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(address)
        yield address
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def start_server(options, home, cluster):
    address = free_address()
    names = range(0 if cluster else options.classes)
    nodes = [{"name": f"h100-{at}", "gpu": "h100", "driver": driver(at), "labels": labels(at, at)} for at in names]
    configuration = os.path.join(home, "imgcheck.json")
    with open(configuration, "w", encoding="utf-8") as output:
        gate = {"mode": "enforce", "internal-hosts": ["127.0.0.1"]}
        json.dump({"clusters": {} if cluster else {"prod": {"nodes": nodes}}, "gate": gate}, output)
    state, cache = os.path.join(home, "state"), os.path.join(home, "cache")
    command = [options.imgcheck, "serve", "--insecure-http", "--listen", address, "--config", configuration, "--log", "error"]
    command += ["--state", state, "--cache-dir", cache, "--drain", "0", "--memory", options.memory]
    command += ["--kubeconfig", cluster.kubeconfig] if cluster else []
    process = subprocess.Popen(command)
    try:
        wait_for(address)
        yield Server(address, process.pid)
    finally:
        process.kill()
        process.wait()


class Server:
    def __init__(self, address, process):
        self.address = address
        self.process = process

    def memory(self, line="VmHWM"):
        """The largest resident memory so far, in MB."""
        with open(f"/proc/{self.process}/status", encoding="utf-8") as status:
            found = next(it for it in status if it.startswith(line))
        return int(found.split()[1]) / 1000

    def memory_now(self):
        return self.memory("VmRSS")


async def at_scale(server, registry, cluster, options):
    """Fills the memory for verdicts, and measures then."""
    image = f"{registry}/{TAG}"
    print(f"memory with {options.nodes if cluster else options.classes} nodes: {server.memory():.0f} MB")
    await until_known(server, image)
    print(f"memory with the facts of one image: {server.memory():.0f} MB")
    known = lambda at: known_pod(image, at % options.verdicts, options.classes)
    start = time.monotonic()
    await send_all(server, with_progress(server, (known(at) for at in range(options.verdicts))))
    print(f"{options.verdicts} verdicts judged in {time.monotonic() - start:.0f} s")
    start = time.monotonic()
    await send_all(server, (known(at) for at in range(options.verdicts)))
    seconds = time.monotonic() - start
    print(f"the same {options.verdicts} questions again: {options.verdicts / seconds:.0f} a second")
    print(f"memory: {server.memory_now():.0f} MB, at most {server.memory():.0f} MB")
    scattered = lambda at: known(at * 7919)
    times = await at_rate(server, options.rate, options.seconds, scattered)
    print(f"cached verdict at {options.rate} requests a second: {percentiles(times)}")
    new = lambda at: review(image, f"new-{at}", env=[{"name": "NEW", "value": str(at)}])
    times = await at_rate(server, 20, options.seconds, new)
    print(f"new overlay, on all classes, at 20 requests a second: {percentiles(times)}")
    if cluster:
        await new_classes(server, cluster, image, options)
    print(f"memory at the end: {server.memory_now():.0f} MB, at most {server.memory():.0f} MB")


async def new_classes(server, cluster, image, options, changes=20):
    """Changes the driver of one node after the other. The first question that sees the new class is measured."""
    pod = review(image, "pod")
    times, pause = [], 0.05
    async with Connection(server) as connection:
        for change in range(changes):
            before = classes_of(await connection.post(pod))
            cluster.change_driver(change, driver(options.classes + change))
            while True:
                await asyncio.sleep(pause)
                begin = time.monotonic()
                answer = await connection.post(pod)
                elapsed = time.monotonic() - begin
                if classes_of(answer) != before:
                    break
            times.append(elapsed)
    print(f"the first question after a class is new: {percentiles(times)}")
    known = lambda at: known_pod(image, at, options.classes)
    times = await at_rate(server, options.rate, options.seconds, known)
    print(f"verdict that was known before, at {options.rate} requests a second: {percentiles(times)}")


def classes_of(answer):
    return answer["response"]["auditAnnotations"]["classes"]


def known_pod(image, at, classes):
    return review(image, f"known-{at}", env=[{"name": "SEED", "value": str(at)}], selector={"example.com/pool": f"pool-{at % classes}"})


def with_progress(server, bodies, step=5000):
    """Prints progress: 100,000 questions take minutes."""
    start = time.monotonic()
    for number, body in enumerate(bodies):
        if number and number % step == 0:
            print(f"  {number} after {time.monotonic() - start:.0f} s: {server.memory_now():.0f} MB")
        yield body


async def send_all(server, bodies, connections=8):
    """Asks each question until it is answered: what takes longer than a webhook may is found done by the next one."""

    async def send():
        async with Connection(server) as connection:
            for body in bodies:
                while (await connection.post(body))["response"]["auditAnnotations"]["verdict"] == "unknown":
                    pass

    await asyncio.gather(*(send() for _ in range(connections)))


async def measure(server, registry, options):
    image = f"{registry}/{TAG}"
    await until_known(server, image)
    print(f"memory with the facts of one image: {server.memory():.0f} MB")
    times = await at_rate(server, options.rate, options.seconds, lambda at: review(image, f"pod-{at}"))
    print(f"cached verdict at {options.rate} requests a second: {percentiles(times)}")
    rate = await sustained(server, options.seconds, review(image, "pod"))
    print(f"cached verdicts sustained: {rate:.0f} a second")
    new = lambda at: review(image, "pod", env=[{"name": "SEED", "value": str(at)}])
    times = await at_rate(server, 20, options.seconds, new)
    print(f"new overlay on known facts at 20 requests a second: {percentiles(times)}")
    await storm(server, registry, options)
    if options.large:
        await beside_large_images(server, registry, options, image)
    print(f"memory at the end: {server.memory():.0f} MB")


async def storm(server, registry, options):
    images = [f"{registry}/storm/image:v{at % options.storm_images}" for at in range(options.storm)]
    start = time.monotonic()

    async def one(at):
        async with Connection(server) as connection:
            begin = time.monotonic()
            await connection.post(review(images[at], f"storm-{at}"))
            return time.monotonic() - begin

    times = await asyncio.gather(*(one(at) for at in range(options.storm)))
    print(f"storm of {options.storm} Pods of {options.storm_images} unknown images: {percentiles(times)}")
    while await verdict(server, images[:options.storm_images]) != options.storm_images:
        await asyncio.sleep(0.2)
    print(f"all {options.storm_images} images judged after {time.monotonic() - start:.1f} s")


async def beside_large_images(server, registry, options, known):
    """Asks for known verdicts until two large images were read."""
    large = [f"{registry}/large/{name}:1" for name in ("one", "two")]
    start = time.monotonic()
    times = []
    while await verdict(server, large) != len(large):
        times += await at_rate(server, options.rate, 2, lambda at: review(known, f"pod-{at}"))
    seconds = time.monotonic() - start
    print(f"cached verdict at {options.rate} requests a second while two large images are read, {seconds:.0f} s: {percentiles(times)}")
    print(f"memory with two large images: {server.memory():.0f} MB")


async def verdict(server, images):
    """How many images are known."""
    async with Connection(server) as connection:
        answers = [await connection.post(review(image, "asked")) for image in images]
    return sum(answer["response"]["auditAnnotations"]["verdict"] != "unknown" for answer in answers)


async def until_known(server, image):
    while await verdict(server, [image]) != 1:
        await asyncio.sleep(0.1)


async def at_rate(server, rate, seconds, body):
    """Sends requests at fixed times, whether the last one was answered or not, and measures each from its time."""
    idle = asyncio.Queue()
    start = time.monotonic() + 0.1

    async def one(at):
        due = start + at / rate
        await asyncio.sleep(max(0, due - time.monotonic()))
        connection = idle.get_nowait() if not idle.empty() else await Connection(server).open()
        await connection.post(body(at))
        elapsed = time.monotonic() - due
        idle.put_nowait(connection)
        return elapsed

    times = await asyncio.gather(*(one(at) for at in range(int(rate * seconds))))
    while not idle.empty():
        await idle.get_nowait().close()
    return times


async def sustained(server, seconds, body, connections=8):
    end = time.monotonic() + seconds

    async def ask():
        count = 0
        async with Connection(server) as connection:
            encoded = connection.encode(body)
            while time.monotonic() < end:
                await connection.send(encoded)
                count += 1
        return count

    return sum(await asyncio.gather(*(ask() for _ in range(connections)))) / seconds


class Connection:
    def __init__(self, server):
        self.host, self.port = server.address.split(":")

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        return self

    async def close(self):
        self.writer.close()
        await self.writer.wait_closed()

    async def __aenter__(self):
        return await self.open()

    async def __aexit__(self, *_):
        await self.close()

    def encode(self, body):
        text = json.dumps(body).encode()
        head = f"POST /admission/validate?timeout=10s HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(text)}\r\n\r\n"
        return head.encode() + text

    async def send(self, encoded):
        self.writer.write(encoded)
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return await self.reader.readexactly(int(length.split(b":")[1]))

    async def post(self, body):
        return json.loads(await self.send(self.encode(body)))


def review(image, name, env=(), selector=None):
    container = {
        "name": "trainer",
        "image": image,
        "command": ["python", "-c", "import torch"],
        "env": list(env),
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    spec = {"containers": [container], "nodeSelector": selector or {}, "tolerations": tolerations}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": name,
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": "ml",
            "operation": "CREATE",
            "object": pod,
        },
    }


def percentiles(times):
    ordered = sorted(times)
    at = lambda part: ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000
    return f"p50 {statistics.median(times) * 1000:.1f} ms, p99 {at(0.99):.1f} ms, max {at(1):.1f} ms ({len(times)})"


def changed(home, number):
    """A small image that differs from the others, as an OCI layout."""
    directory = os.path.join(home, f"layout-{number}")
    root = os.path.join(home, f"root-{number}")
    os.makedirs(os.path.join(root, "etc"))
    with open(os.path.join(root, "etc/number"), "w", encoding="utf-8") as output:
        output.write(str(number))
    archive = shutil.make_archive(root, "tar", root)
    return layout(directory, archive)


def layout(directory, archive):
    blobs = os.path.join(directory, "blobs/sha256")
    os.makedirs(blobs)

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        with open(os.path.join(blobs, digest), "wb") as output:
            output.write(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    with open(archive, "rb") as file:
        content = file.read()
    diff_id = "sha256:" + hashlib.sha256(content).hexdigest()
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [diff_id]}, "config": {}}
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(json.dumps(config).encode(), "config.v1+json"),
        "layers": [blob(content, "layer.v1.tar")],
    }
    index = {"schemaVersion": 2, "manifests": [blob(json.dumps(manifest).encode(), "manifest.v1+json")]}
    with open(os.path.join(directory, "index.json"), "w", encoding="utf-8") as output:
        json.dump(index, output)
    with open(os.path.join(directory, "oci-layout"), "w", encoding="utf-8") as output:
        json.dump({"imageLayoutVersion": "1.0.0"}, output)
    return f"oci:{directory}"


def twin(home, large):
    """The same image in other blobs: each layer ends with an empty member of gzip more."""
    directory = os.path.join(home, "twin")
    blobs = os.path.join(directory, "blobs/sha256")
    os.makedirs(blobs)

    def read(descriptor):
        with open(os.path.join(large, "blobs", descriptor["digest"].replace(":", "/")), "rb") as file:
            return file.read()

    def write(descriptor, content):
        digest = hashlib.sha256(content).hexdigest()
        with open(os.path.join(blobs, digest), "wb") as output:
            output.write(content)
        return {**descriptor, "digest": f"sha256:{digest}", "size": len(content)}

    with open(os.path.join(large, "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    manifest = json.loads(read(index["manifests"][0]))
    manifest["config"] = write(manifest["config"], read(manifest["config"]))
    manifest["layers"] = [write(layer, read(layer) + gzip.compress(b"")) for layer in manifest["layers"]]
    index["manifests"] = [write(index["manifests"][0], json.dumps(manifest).encode())]
    with open(os.path.join(directory, "index.json"), "w", encoding="utf-8") as output:
        json.dump(index, output)
    shutil.copy(os.path.join(large, "oci-layout"), directory)
    return f"oci:{directory}"


def copy(source, target):
    command = ["skopeo", "copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", source, f"docker://{target}"]
    subprocess.run(command, check=True)


def wait_until_ready(server):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://{server.address}/readyz", timeout=5).close()
            return
        time.sleep(0.1)
    raise SystemExit("the server is not ready")


def wait_for(address):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://{address}/livez", timeout=1).close()
            return
        with contextlib.suppress(OSError):
            host, port = address.split(":")
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        time.sleep(0.05)
    raise SystemExit(f"nothing answers at {address}")


if __name__ == "__main__":
    main()
