#!/usr/bin/env python3
"""Seeds of the targets that read descriptions of images: documents, answers of a registry, references, files of the cache.

    fuzz/seeds/images.py

The same seeds are made every time.
"""

import json

from common import write

HEX = "6cf9808ca8810fc6c3fd0451c2e7784fb224590d81f7db338e7eaf3c02a33d33"
# An archive without members, which is text.
EMPTY = "\0" * 1024
DIFF_ID = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def config(layers=1, **more):
    """A configuration as BuildKit writes it."""
    return json.dumps({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/bin", "CUDA_VERSION=12.8.1", "LD_LIBRARY_PATH=/usr/local/cuda/lib64"],
            "Entrypoint": ["/entrypoint.sh"],
            "Labels": {"org.opencontainers.image.version": "2.8.0", "com.nvidia.cuda.version": "12.8"},
        },
        "rootfs": {"type": "layers", "diff_ids": [DIFF_ID] * layers},
        "history": [
            {"created_by": "ENV A=B", "empty_layer": True},
            *[{"created_by": "RUN pip install torch"}] * layers,
        ],
    } | more)


def descriptor(number, kind, **more):
    """A descriptor of the file of this number; its size is no text, but stands for a number."""
    found = {"mediaType": kind, "digest": f"@digest{number}@", "size": f"@size{number}@"} | more
    return json.dumps(found).replace(f'"@size{number}@"', f"@size{number}@")


def files(*parts):
    """Files of an image by name, in one text."""
    return "\n".join(f"=== {name}\n{content}" for name, content in parts)


def manifest(config_at, *layers):
    """A manifest whose configuration and layers are the files of these numbers."""
    listed = ", ".join(descriptor(at, LAYER) for at in layers)
    return (f'{{"schemaVersion": 2, "mediaType": "{MANIFEST}", '
            f'"config": {descriptor(config_at, CONFIG)}, "layers": [{listed}]}}')


def index(*descriptors):
    """An index of these descriptors."""
    return f'{{"schemaVersion": 2, "mediaType": "{INDEX}", "manifests": [{", ".join(descriptors)}]}}'


def images():
    """Images by name."""
    layout = ("oci-layout", '{"imageLayoutVersion": "1.0.0"}')
    amd64 = {"platform": {"architecture": "amd64", "os": "linux"}}
    named = {"annotations": {"org.opencontainers.image.ref.name": "2.8.0", "io.containerd.image.name": "docker.io/a/b:1"}}
    unknown = {"platform": {"architecture": "unknown", "os": "unknown"},
               "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    docker = json.dumps([{"Config": "config.json", "RepoTags": ["a/b:1", "a/b:2"], "Layers": ["layer.tar"]}])
    return {
        "docker": files(("manifest.json", docker), ("config.json", config()), ("layer.tar", "")),
        "docker-by-digest": files(
            ("manifest.json", '[{"Config": "blobs/sha256/@hex1@", "RepoTags": null, "Layers": ["blobs/sha256/@hex2@"]}]'),
            ("blob", config()), ("blob", EMPTY)),
        "docker-two": files(
            ("manifest.json", json.dumps([
                {"Config": "a.json", "RepoTags": ["a"], "Layers": ["l"]}, {"Config": "b.json", "Layers": ["l", "l"]}])),
            ("a.json", config()), ("b.json", config(2, architecture="arm64", variant="v8")), ("l", "")),
        "docker-paths": files(
            ("manifest.json", '[{"Config": "../../etc/passwd", "Layers": ["/etc/passwd"]}]'), ("etc/passwd", "root")),
        "layout": files(
            layout, ("index.json", index(descriptor(2, MANIFEST, **named))), ("blob", manifest(3, 4)), ("blob", config()),
            ("blob", EMPTY)),
        "layout-index": files(
            layout, ("index.json", index(descriptor(2, INDEX))),
            ("blob", index(descriptor(3, MANIFEST, **amd64), descriptor(3, MANIFEST, **unknown))),
            ("blob", manifest(4, 5, 5)), ("blob", config(2)), ("blob", EMPTY)),
        "layout-nested": files(
            layout, ("index.json", index(descriptor(2, INDEX), descriptor(2, INDEX))),
            ("blob", index(descriptor(3, INDEX), descriptor(3, INDEX))), ("blob", index(descriptor(4, INDEX))),
            ("blob", index(descriptor(5, MANIFEST))), ("blob", manifest(6, 7)), ("blob", config()), ("blob", EMPTY)),
        "layout-artifact": files(
            layout, ("index.json", index(descriptor(2, MANIFEST))),
            ("blob", f'{{"config": {descriptor(3, "application/vnd.example+json")}, "layers": []}}'), ("blob", "{}")),
        "docker-with-layout": files(
            layout, ("manifest.json", docker), ("index.json", index(descriptor(3, MANIFEST, **named))),
            ("blob", manifest(4, 5)), ("blob", config()), ("blob", EMPTY), ("config.json", config()), ("layer.tar", "")),
        "digests": files(
            layout, ("index.json", index(
                json.dumps({"mediaType": MANIFEST, "digest": "sha256:../../../etc/passwd", "size": 1}),
                json.dumps({"mediaType": MANIFEST, "digest": "sha512:" + HEX * 2, "size": -1})))),
        "deep": files(("manifest.json", "[" * 300 + "]" * 300)),
    }


def checked():
    """Whole images by name: the files of a layer, and how it is run."""
    site = "usr/local/lib/python3.11/site-packages"
    wheel = lambda name, version, *more: (
        f"{site}/{name}-{version}.dist-info/METADATA",
        "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *more, ""]))
    torch = (f"{site}/torch/version.py", "__version__ = '2.8.0+cu128'\ncuda = '12.8'\ngit_version = 'a1cb3cc'\n")
    release = ("etc/os-release", 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\n')
    config = ("config", json.dumps({
        "RepoTags": ["pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"], "Entrypoint": ["/opt/entrypoint.sh"], "Cmd": ["python"],
        "Env": ["PATH=/usr/local/bin", "LD_LIBRARY_PATH=/usr/local/cuda/lib64:", "NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla"],
        "Labels": {"com.nvidia.cuda.version": "12.8", "org.opencontainers.image.version": "2.8.0"}}))
    status = ("var/lib/dpkg/status", "Package: libcudnn9-cuda-12\nStatus: install ok installed\nVersion: 9.10.2.21-1\n\n")
    return {
        "wheels": files(config, release, torch, wheel("torch", "2.8.0+cu128", "Requires-Dist: triton==3.4.0"),
                        wheel("triton", "3.3.0"), wheel("torchvision", "0.22.0", "Requires-Dist: torch (==2.7.0)")),
        "conda": files(
            config, ("opt/conda/conda-meta/pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0.json", json.dumps({
                "name": "pytorch", "version": "2.5.1", "build": "py3.11_cuda12.4_cudnn9.1.0_0", "depends": ["python >=3.11"]})),
            ("usr/local/cuda-12.4/version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}')),
        "debian": files(config, release, status, ("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n"),
                        ("etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64\n")),
        "shell": files(config, ("opt/entrypoint.sh", '#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nexec "$@"\n')),
        "venv": files(config, ("opt/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.9\n"), release),
        "escapes": files(
            ("config", json.dumps({"RepoTags": ["a\x1b[31m"], "Labels": {"com.nvidia.cuda.version": "12\x1b]0;x\x07"}})),
            ("etc/os-release", 'ID="\x1b[2J\u202e"\n')),
    }


def answer(status, body="", *headers):
    """One answer of a registry."""
    return ("answer", "\n".join([f"HTTP/1.1 {status} x", *headers, f"Content-Length: {len(body)}", "", body]))


def registries():
    """What registries answer, by name: the first request asks whether anybody is there."""
    here = answer(200, "{}")
    found = '{"schemaVersion": 2, "config": {}, "layers": []}'
    bearer = 'WWW-Authenticate: Bearer realm="http://127.0.0.1/token",service="registry",scope="repository:a:pull"'
    token = json.dumps({"token": "abc", "access_token": "def", "expires_in": 60})
    auths = json.dumps({"auths": {"127.0.0.1": {"auth": "dXNlcjpwYXNzd29yZA=="}}, "credHelpers": {}, "credsStore": ""})
    body = lambda text: f"HTTP/1.1 200 x\n\n{text}"
    return {
        "manifest": files(here, answer(200, found)),
        "absent": files(here, answer(404, '{"errors": [{"code": "MANIFEST_UNKNOWN"}]}'), answer(200, '{"tags": ["tagg", "2"]}')),
        "token": files(here, answer(401, "", bearer), answer(200, token), answer(200, found)),
        "basic": files(("config.json", auths), here, answer(401, "", 'WWW-Authenticate: Basic realm="x"'), answer(200, found)),
        "both": files(here, answer(401, "", f"{bearer}, Basic realm=x"), answer(200, token), answer(401, "", bearer)),
        "realms": files(here, answer(401, "", 'WWW-Authenticate: Bearer realm="file:///etc/passwd"')),
        "redirect": files(here, answer(307, "", "Location: http://example.com/v2/"), answer(200, found)),
        "redirects": files(here, *[answer(302, "", "Location: /v2/")] * 8),
        "busy": files(here, answer(429, "", "Retry-After: 1"), answer(503, "", "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT")),
        "short": files(here, ("answer", "HTTP/1.1 200 x\nContent-Length: 100\n\n{}")),
        "chunked": files(here, ("answer", "HTTP/1.1 200 x\nTransfer-Encoding: chunked\n\n2\n{}\n0\n\n")),
        "image": files(
            here, ("answer", body(manifest(4, 5))), ("answer", body(config())), ("answer", body(EMPTY)),
            ("blob", config()), ("blob", EMPTY)),
    }


REFERENCES = [
    "ubuntu", "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "nvcr.io/nvidia/pytorch:25.08-py3", "localhost:5000/x:1",
    f"docker.io/vllm/vllm-openai:v0.10.2@sha256:{HEX}", "[::1]:5000/a/b", "docker-archive:a.tar:x/y:1", "oci:dir:latest",
    "oci-archive:a.tar:", "dir:/no/such:dir", "docker://h/x:1", "containers-storage:x", "docker-daemon:x:1", "-", "./x.tar",
    "rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0", "a/b:${TAG}", "nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04",
    "runpod/pytorch:2.1.0-py3.10-cuda11.8.0-devel-ubuntu22.04", "dustynv/l4t-pytorch:r36.2.0", "ghcr.io/a__b/c-d--e.f",
    "2.8.0+cu128\n25.08\n2.8.0a0+34c6371d24.nv25.08\n2.8.0\n2.27.3-1+cuda12.9\n1", "tensorflow/tensorflow:2.20.0-gpu",
    "123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.7.1-gpu-py312-cu128-ubuntu22.04-ec2",
]


def varint(number):
    """As postcard writes a number."""
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def text(content):
    """As postcard writes a text."""
    return varint(len(content)) + content


def facts(*entries):
    """The facts of a layer as postcard writes them: path, kind, size and mode of each entry."""
    one = lambda path, kind, size=0, mode=0o644: text(path) + kind + varint(size) + varint(mode)
    return varint(len(entries)) + b"".join(one(*entry) for entry in entries)


def cached():
    """Files of the cache by name, without what is put around them."""
    no_elf = bytes([1, 3]) + bytes(40)
    return {
        "nothing": facts(),
        "kinds": facts(
            (b"usr", b"\0"), (b"usr/a", b"\1\0", 5), (b"usr/b", b"\2" + text(b"../usr/a")), (b"usr/c", b"\3" + text(b"usr/a")),
            (b"dev/null", b"\4"), (b"usr/gone", b"\5"), (b"opt", b"\6")),
        "contents": facts(
            (b"etc/os-release", b"\1\1" + text(b"ID=debian\n"), 10), (b"etc/ld.so.cache", b"\1\2" + text(b"\0\xff"), 2),
            (b"usr/lib/libc.so.6", b"\1\4" + text(b"truncated") + b"\0", 4)),
        "elf": facts((b"usr/lib/libc.so.6", no_elf, 1 << 63)),
        "many": varint(1 << 62),
    }


def main():
    for name, content in images().items():
        write("image_source", name, content)
    for name, content in checked().items():
        write("image_check", name, content)
    for name, content in registries().items():
        write("registry", name, content)
    for at, reference in enumerate(REFERENCES):
        write("references", f"{at:02}", reference)
    for name, content in cached().items():
        write("cache_entry", name, content)


if __name__ == "__main__":
    main()
