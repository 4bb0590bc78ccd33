#!/usr/bin/env python3
"""Makes real container images out of published Python wheels over a Debian root.

    python3 testdata/recipes/real_images.py                  # all of them, into testdata/real/
    python3 testdata/recipes/real_images.py --only small     # CUDA runtimes and cuDNN: seconds
    python3 testdata/recipes/real_images.py --only torch-2.8.0 --out /somewhere/with/space

What it needs: root (debootstrap and chroot), debootstrap, pip, skopeo; for torch about 22 GB of free disk. The layers hold
what `pip install` puts there, byte for byte; the root of the torch image is the one of `loader_images.py`, which is made when it
is missing. It is entered with chroot, `import torch` is run in it, and what it prints is kept beside the archive. IMGCHECK_REAL
names another output directory; the tests read the same variable.
"""

import argparse
import os
import platform
import shutil
import subprocess
import tempfile
import time

import loader_images
import rootfs
from archive import DockerArchive
from oci_layout import Store

SUITE = "bookworm"
ENVIRONMENT = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "NVIDIA_VISIBLE_DEVICES=all",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
]
LAST_STEPS = [*(f"ENV {variable}" for variable in ENVIRONMENT), 'CMD ["python3"]']
# Name, wheel, the honest tag, and the further forms it is stored in.
SMALL = {
    "cuda-11.8": ("nvidia-cuda-runtime-cu11==11.8.89", "local/cuda:11.8", ()),
    "cuda-12.1": ("nvidia-cuda-runtime-cu12==12.1.105", "local/cuda:12.1", ()),
    "cuda-12.4": ("nvidia-cuda-runtime-cu12==12.4.127", "local/cuda:12.4", ()),
    "cuda-12.8": ("nvidia-cuda-runtime-cu12==12.8.90", "local/cuda:12.8", ("blobs", "oci", "oci-zstd", "oci-tar", "root")),
    "cuda-13.0": ("nvidia-cuda-runtime==13.0.96", "local/cuda:13.0", ()),
    "cudnn-8": ("nvidia-cudnn-cu12==8.9.7.29", "local/cudnn:8.9", ()),
}
TORCH, TORCH_TAG = "torch-2.8.0", "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"
GROUPS = {"small": list(SMALL), "torch": [TORCH], "all": [*SMALL, TORCH]}


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    options.roots = os.path.join(options.out, "loader")
    for name in options.names:
        started = time.monotonic()
        if os.path.exists(os.path.join(options.out, name + ".tar")) and not options.force:
            print(f"{name}: already there", flush=True)
            continue
        with tempfile.TemporaryDirectory(dir=options.out, prefix=".making-") as work:
            make_torch(work, options) if name == TORCH else make_small(name, work, options)
        print(f"{name}: made in {time.monotonic() - started:.0f} s", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.dirname(loader_images.default_directory()), type=os.path.abspath)
    parser.add_argument("--only", default="all", help=f"names or groups, with commas: {', '.join([*GROUPS, *GROUPS['all']])}")
    parser.add_argument("--force", action="store_true", help="make images again that are there already")
    options = parser.parse_args()
    options.names = []
    for word in options.only.split(","):
        if word not in GROUPS and word not in GROUPS["all"]:
            parser.error(f"no image or group is called {word!r}")
        options.names += [name for name in GROUPS.get(word, [word]) if name not in options.names]
    if platform.machine() != "x86_64":
        parser.error("the images are x86-64; run this on such a machine")
    if os.geteuid() != 0:
        parser.error("debootstrap and chroot need root")
    return options


def make_small(name, work, options):
    """A Debian with one wheel, in every form that an image is stored in."""
    wheel, tag, forms = SMALL[name]
    debian, root = loader_images.debian(SUITE, options.roots), os.path.join(work, "root")
    target, partial = os.path.join(options.out, name), os.path.join(work, "image.tar")
    rootfs.run("cp", "-a", debian, root)
    rootfs.pip_install(root, [wheel], rootfs.PYTHON_OF_SUITE[SUITE], dependencies=False)
    layers = [loader_images.debian_layer(SUITE, options.roots), loader_images.wheels_layer(name, [wheel], root, debian)]
    write_archive(partial, "legacy", layers, tag)
    if "blobs" in forms:
        write_archive(target + "-blobs.tar", "blobs", layers, tag)
    if "root" in forms:
        shutil.rmtree(target + "-root", ignore_errors=True)
        os.rename(root, target + "-root")
    for form in forms:
        if form.startswith("oci"):
            write_oci(form, partial, f"{target}-{form}" if form != "oci-tar" else f"{target}-oci.tar", tag)
    os.rename(partial, target + ".tar")


def make_torch(work, options):
    """PyTorch as an archive, and as a layout with compressed layers, which other images are built on."""
    loader_images.prepare(TORCH, options.roots)
    target, partial = os.path.join(options.out, TORCH), os.path.join(work, "image.tar")
    record_import(os.path.join(options.roots, TORCH, "root"), target + "-import.txt")
    layers = loader_images.layers(TORCH, options.roots)
    store = Store(os.path.join(options.out, "store"))
    steps = [*(store.layer(*layer) for layer in layers), *LAST_STEPS]
    store.image(target + "-oci", TORCH_TAG, steps, {"Env": ENVIRONMENT, "Cmd": ["python3"]})
    write_archive(partial, "legacy", layers, TORCH_TAG)
    os.rename(partial, target + ".tar")


def record_import(root, path):
    """The output of the image's own Python when it imports torch."""
    program = (
        "import torch; print(torch.__version__); print(torch.version.cuda);"
        " print(torch.backends.cudnn.version()); print(torch.cuda.nccl.version()); print(torch.__file__)"
    )
    printed = subprocess.run(
        ["chroot", root, "/usr/bin/python3", "-B", "-c", program], check=True, capture_output=True, text=True
    ).stdout
    print(printed, end="", flush=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(printed)


def write_archive(path, layout, layers, tag):
    archive = DockerArchive(path, layout)
    for _, created_by, fill in layers:
        with archive.layer(created_by) as tar:
            fill(tar)
    for step in LAST_STEPS:
        archive.step(step)
    archive.finish(tag, env=ENVIRONMENT)


def write_oci(form, archive, target, tag):
    """Has skopeo store the archive as an OCI layout: another program's idea of the format than ours."""
    reference = tag.rsplit(":", 1)[-1]
    if form == "oci-tar":
        if os.path.exists(target):
            os.remove(target)
        destination = f"oci-archive:{target}:{reference}"
    else:
        shutil.rmtree(target, ignore_errors=True)
        destination = f"oci:{target}:{reference}"
    algorithm = "zstd" if form == "oci-zstd" else "gzip"
    rootfs.run(
        "skopeo", "--insecure-policy", "copy", "--quiet", "--dest-compress-format", algorithm,
        f"docker-archive:{archive}", destination,
    )


if __name__ == "__main__":
    main()
