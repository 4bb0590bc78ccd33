#!/usr/bin/env python3
"""Makes real container images out of published Python wheels over a Debian root.

    python3 testdata/recipes/real_images.py                  # all of them, into testdata/real/
    python3 testdata/recipes/real_images.py --only small     # CUDA runtimes and cuDNN: seconds
    python3 testdata/recipes/real_images.py --only torch-2.8.0 --out /somewhere/with/space

What it needs: root (debootstrap and chroot), debootstrap, pip, skopeo; for torch about 20 GB of free disk. The layers hold
what `pip install` puts there, byte for byte; each torch image is entered with chroot and `import torch` is run in it, and
what it prints is kept beside the archive. IMGCHECK_REAL names another output directory; the tests read the same variable.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from archive import DockerArchive, add_tree
from rootfs import debian_root, drop_package_caches, run

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITE = "bookworm"
PYTHON = "3.11"
SITE = f"usr/local/lib/python{PYTHON}/dist-packages"
ENVIRONMENT = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "NVIDIA_VISIBLE_DEVICES=all",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
]
# Name, wheels, whether their dependencies come along, the honest tag, and the further forms it is stored in.
IMAGES = {
    "cuda-11.8": (["nvidia-cuda-runtime-cu11==11.8.89"], False, "local/cuda:11.8", ()),
    "cuda-12.1": (["nvidia-cuda-runtime-cu12==12.1.105"], False, "local/cuda:12.1", ()),
    "cuda-12.4": (["nvidia-cuda-runtime-cu12==12.4.127"], False, "local/cuda:12.4", ()),
    "cuda-12.8": (
        ["nvidia-cuda-runtime-cu12==12.8.90"], False, "local/cuda:12.8",
        ("blobs", "oci", "oci-zstd", "oci-tar", "root"),
    ),
    "cuda-13.0": (["nvidia-cuda-runtime==13.0.96"], False, "local/cuda:13.0", ()),
    "cudnn-8": (["nvidia-cudnn-cu12==8.9.7.29"], False, "local/cudnn:8.9", ()),
    "cudnn-9": (["nvidia-cudnn-cu12==9.10.2.21"], False, "local/cudnn:9.10", ()),
    "torch-2.8.0": (["torch==2.8.0", "numpy==2.2.6"], True, "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", ("oci",)),
}
GROUPS = {"small": [name for name in IMAGES if not name.startswith("torch")], "torch": ["torch-2.8.0"], "all": list(IMAGES)}


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out, prefix=".making-") as work:
        base = os.path.join(work, "base")
        base_root(base, options.root)
        for name in options.names:
            started = time.monotonic()
            make(name, base, work, options)
            print(f"{name}: made in {time.monotonic() - started:.0f} s", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.environ.get("IMGCHECK_REAL") or os.path.join(REPOSITORY, "testdata", "real"))
    parser.add_argument("--only", default="all", help=f"names or groups, with commas: {', '.join([*GROUPS, *IMAGES])}")
    parser.add_argument("--tag", help="store this reference instead of the honest one")
    parser.add_argument("--wheels", help="install from this directory of wheels instead of downloading them")
    parser.add_argument("--root", help="copy this Debian root (it must have python3) instead of running debootstrap")
    parser.add_argument("--force", action="store_true", help="make images again that are there already")
    options = parser.parse_args()
    options.names = []
    for word in options.only.split(","):
        if word not in GROUPS and word not in IMAGES:
            parser.error(f"no image or group is called {word!r}")
        options.names += [name for name in GROUPS.get(word, [word]) if name not in options.names]
    if platform.machine() != "x86_64":
        parser.error("the images are x86-64; run this on such a machine")
    if os.geteuid() != 0:
        parser.error("debootstrap and chroot need root")
    return options


def base_root(directory, given):
    """A Debian root with python3, without package caches."""
    if given:
        run("cp", "-a", given, directory)
        drop_package_caches(directory)
    else:
        debian_root(directory, SUITE, ["python3"])


def make(name, base, work, options):
    wheels, dependencies, tag, forms = IMAGES[name]
    target = os.path.join(options.out, name)
    if os.path.exists(target + ".tar") and not options.force:
        print(f"{name}: already there", flush=True)
        return
    root = os.path.join(work, name)
    run("cp", "-a", base, root)
    pip_install(wheels, dependencies, os.path.join(root, SITE), work, options.wheels)
    if name.startswith("torch"):
        record_import(root, target + "-import.txt")
    partial = os.path.join(work, "image.tar")
    write_archive(partial, "legacy", root, wheels, options.tag or tag)
    if "blobs" in forms:
        write_archive(target + "-blobs.tar", "blobs", root, wheels, options.tag or tag)
    if "root" in forms:
        shutil.rmtree(target + "-root", ignore_errors=True)
        os.rename(root, target + "-root")
    else:
        shutil.rmtree(root)
    for form in forms:
        if form.startswith("oci"):
            write_oci(form, partial, f"{target}-{form}" if form != "oci-tar" else f"{target}-oci.tar", options.tag or tag)
    os.rename(partial, target + ".tar")


def pip_install(wheels, dependencies, site, work, given):
    """Installs as `pip install` in the image would: for its Python and platform, whatever this machine's are."""
    wheel_directory = given or tempfile.mkdtemp(dir=work, prefix="wheels-")
    aim = [
        "--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp",
        *(f"--platform={tag}_x86_64" for tag in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014", "manylinux1")),
        *([] if dependencies else ["--no-deps"]),
    ]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--quiet"]
    if not given:
        run(*pip, "download", "--dest", wheel_directory, *aim, *wheels)
    run(
        *pip, "install", "--no-index", "--find-links", wheel_directory, "--no-compile", "--root-user-action=ignore",
        "--target", site, *aim, *wheels,
    )
    if not given:
        shutil.rmtree(wheel_directory)


def record_import(root, path):
    """What the image's own Python says when it imports torch."""
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


def write_archive(path, layout, root, wheels, tag):
    archive = DockerArchive(path, layout)
    with archive.layer(f"/bin/sh -c #(nop) ADD debian {SUITE} with python3 in / ") as tar:
        add_tree(tar, root, skip=lambda stored: stored.startswith(SITE + "/"))
    for variable in ENVIRONMENT:
        archive.step(f"ENV {variable}")
    with archive.layer(f"RUN /bin/sh -c pip install --no-compile {' '.join(wheels)} # buildkit") as tar:
        add_tree(tar, os.path.join(root, SITE), prefix=SITE)
    archive.step('CMD ["python3"]')
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
    run(
        "skopeo", "--insecure-policy", "copy", "--quiet", "--dest-compress-format", algorithm,
        f"docker-archive:{archive}", destination,
    )


if __name__ == "__main__":
    main()
