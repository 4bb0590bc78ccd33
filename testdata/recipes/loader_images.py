#!/usr/bin/env python3
"""Makes root filesystems with real GPU wheels and records what the real dynamic loader does in each of them.

    python3 testdata/recipes/loader_images.py                       # all of them, into testdata/real/loader/
    python3 testdata/recipes/loader_images.py --only torch-2.8.0    # one of them: 8 GB, two minutes
    python3 testdata/recipes/loader_images.py --only torch-2.8.0 --archive --docker

What it needs: x86-64 Linux, root (debootstrap, chroot, mount namespaces), debootstrap and pip; network for Debian packages
and PyPI; about 45 GB of free disk for all of them. What is there already is neither downloaded nor made again; `--force`
makes it again, `--observe` only runs the programs again.

For every NAME there are afterwards

* `NAME/root`: Debian with the wheels exactly as pip installs them;
* `NAME/image.json`: the image configuration (Env, Entrypoint, Cmd);
* `NAME/observed.json`: the program, its exit code and output, the objects that glibc mapped in link-map order, and every
  dlopen call; `first_use` holds the same for a program that also makes the libraries open what they open later;
* with `--archive`, `NAME.tar`: the same as a docker archive;
* with `--docker`, `NAME/docker.json`: what `docker run --network none` maps when it runs the same program in the root.

There is no GPU and no driver in these roots: `libcuda.so.1` comes from the host.
"""

import argparse
import dataclasses
import glob
import os
import platform
import re
import subprocess
import time

import loader_programs as programs
import rootfs
from archive import add_tree
from observe import PATH, observe
from oci_layout import add_changes

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GPU_PACKAGE = re.compile(
    r"^(torch|torchvision|torchaudio|triton|numpy|tensorflow|jax|jaxlib|jax[-_]cuda.*|nvidia[-_].*|cuda[-_].*|cupy.*"
    r"|onnxruntime.*|xformers|bitsandbytes|flash[-_]attn|vllm)$"
)
TORCH_ALL = "import torch, torchvision, torchaudio"


@dataclasses.dataclass(frozen=True)
class Image:
    """One root: its packages, its Debian release, and the programs that are run in it."""

    wheels: tuple = ()
    program: str = TORCH_ALL
    first_use: str | None = None
    suite: str = "bookworm"
    base: str | None = None  # another image whose root this one starts from
    seed: str | None = None  # another image that has many of the same wheels: they are linked instead of unpacked again
    virtual_environment: str | None = None
    environment: dict = dataclasses.field(default_factory=dict)
    dependencies: bool = True
    executables: tuple = ()  # programs below site-packages that are linked to the libraries; each is started without arguments


def torch(version, vision, audio, numpy="2.2.6", cudnn="libcudnn.so.9", nvrtc="libnvrtc.so.12", also=(), **more):
    wheels = [f"torch=={version}", f"torchvision=={vision}", *([f"torchaudio=={audio}"] if audio else []), f"numpy=={numpy}", *also]
    program = TORCH_ALL if audio else "import torch, torchvision"
    use = programs.torch_first_use(program, cudnn, nvrtc)
    return Image(tuple(wheels), program, use, executables=("torch/bin/torch_shm_manager",), **more)


NVRTC_GLOB = "nvidia/cuda_nvrtc/lib/libnvrtc.so.*[0-9]"
IMAGES = {
    "torch-2.8.0": torch("2.8.0", "0.23.0", "2.8.0"),
    "torch-2.5.1": torch("2.5.1", "0.20.1", "2.5.1", nvrtc=NVRTC_GLOB),
    "torch-2.6.0": torch("2.6.0", "0.21.0", "2.6.0"),
    "torch-1.13.1": torch(
        "1.13.1", "0.14.1", "0.13.1", "1.26.4", "libcudnn.so.8", NVRTC_GLOB, suite="bullseye"
    ),
    "torch-2.15.0": torch("2.15.0", "0.29.2", None, "2.4.6", nvrtc="libnvrtc.so.13", suite="trixie"),
    "tensorflow-2.18.1": Image(("tensorflow[and-cuda]==2.18.1",), "import tensorflow", programs.TENSORFLOW_FIRST_USE),
    "jax-0.6.2": Image(("jax[cuda12]==0.6.2",), "import jax", programs.JAX_FIRST_USE, seed="torch-2.8.0"),
    "onnxruntime-1.23.2": Image(
        ("onnxruntime-gpu[cuda,cudnn]==1.23.2",), "import onnxruntime", programs.ONNX_FIRST_USE, seed="torch-2.8.0"
    ),
    "torch-2.1.2": torch(  # this release imports pkg_resources.packaging, which newer setuptools do not have
        "2.1.2", "0.16.2", "2.1.2", "1.26.4", "libcudnn.so.8", NVRTC_GLOB, also=("setuptools==69.5.1",)
    ),
    "torch-2.3.1": torch("2.3.1", "0.18.1", "2.3.1", "1.26.4", "libcudnn.so.8", NVRTC_GLOB, seed="torch-2.1.2"),
    "torch-2.8.0-venv": torch("2.8.0", "0.23.0", "2.8.0", virtual_environment="/opt/venv", seed="torch-2.8.0"),
    "torch-2.8.0-trixie": torch("2.8.0", "0.23.0", "2.8.0", suite="trixie", seed="torch-2.8.0"),
    "torch-2.8.0-bullseye": torch("2.8.0", "0.23.0", "2.8.0", "2.0.2", suite="bullseye", seed="torch-2.8.0"),
    "cupy-14.2.0": Image(("cupy-cuda12x==14.2.0",), "import torch, cupy", base="torch-2.8.0"),
    "cupy-13.6.0": Image(("cupy-cuda12x==13.6.0",), "import torch, cupy", base="torch-2.8.0"),
    "xformers-0.0.32": Image(
        ("xformers==0.0.32.post2", "bitsandbytes==0.48.2"), "import torch, xformers, xformers.ops, bitsandbytes, triton",
        base="torch-2.8.0",
    ),
    "torch-2.8.0-library-path": Image(
        program=TORCH_ALL, first_use=programs.torch_first_use(TORCH_ALL, "libcudnn.so.9", "libnvrtc.so.12"), base="torch-2.8.0",
        environment={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/lib/python3.11/dist-packages/nvidia/cudnn/lib"},
    ),
}


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    for name in options.names:
        started = time.monotonic()
        made = prepare(name, options.out, options.force)
        if made or options.observe or not os.path.exists(os.path.join(options.out, name, "observed.json")):
            record(name, options)
        if options.archive:
            archive(name, options)
        if options.docker:
            run_in_docker(name, options)
        print(f"{name}: {time.monotonic() - started:.0f} s, {gigabytes(options.out, name):.1f} GB", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=default_directory(), type=os.path.abspath)
    parser.add_argument("--only", default=",".join(IMAGES), help=f"names with commas: {', '.join(IMAGES)}")
    parser.add_argument("--force", action="store_true", help="make roots again that are there already")
    parser.add_argument("--observe", action="store_true", help="run the programs again in roots that are there already")
    parser.add_argument("--archive", action="store_true", help="also write NAME.tar, a docker archive")
    parser.add_argument("--docker", action="store_true", help="also run the program with docker run --network none")
    options = parser.parse_args()
    options.names = options.only.split(",")
    for name in options.names:
        if name not in IMAGES:
            parser.error(f"no image is called {name!r}")
    if platform.machine() != "x86_64":
        parser.error("the images are x86-64; run this on such a machine")
    if os.geteuid() != 0:
        parser.error("debootstrap and chroot need root")
    return options


def default_directory():
    return os.path.join(os.environ.get("IMGCHECK_REAL") or os.path.join(REPOSITORY, "testdata", "real"), "loader")


def prepare(name, out, force=False):
    """Makes the root and its configuration; false when it is there already."""
    image, root = IMAGES[name], os.path.join(out, name, "root")
    if os.path.isdir(root) and not force:
        return False
    partial = os.path.join(out, name, "root-in-the-making")
    if image.base:
        prepare(image.base, out)
        rootfs.copy_tree(os.path.join(out, image.base, "root"), partial)
    else:
        os.makedirs(os.path.dirname(partial), exist_ok=True)
        subprocess.run(["rm", "-rf", partial], check=True)
        subprocess.run(["cp", "-a", debian(image.suite, out), partial], check=True)
    if image.virtual_environment:
        rootfs.enter(partial, "/var/empty" if os.path.isdir("/var/empty") else "/tmp", "python3", "-m", "venv", "--without-pip", image.virtual_environment)
    if image.wheels:
        rootfs.pip_install(
            partial, image.wheels, rootfs.PYTHON_OF_SUITE[image.suite], interpreter(image), image.dependencies,
            os.path.join(partial, site_packages(image)), seed_directory(image, out),
        )
        rootfs.share_large_files(partial, os.path.join(out, "store"))
    subprocess.run(["rm", "-rf", root], check=True)
    os.rename(partial, root)
    rootfs.drop_unused(os.path.join(out, "store"))
    rootfs.write_config(
        os.path.join(out, name, "image.json"), environment(image), None, ["python3", "-c", image.program]
    )
    return True


def debian(suite, out):
    """The Debian root that images of this suite start from; it is made if it is missing."""
    root = os.path.join(out, "base", suite)
    os.makedirs(os.path.dirname(root), exist_ok=True)
    rootfs.debian_root(root, suite, ["python3", "python3-venv"])
    return root


def layers(name, out):
    """Debian, and what pip installed over it: name, build step and content of each layer, for `Store.layer`."""
    image, root = IMAGES[name], os.path.join(out, name, "root")
    found = [debian_layer(image.suite, out)]
    if image.wheels:
        found.append(wheels_layer(name, image.wheels, root, debian(image.suite, out)))
    return found


def debian_layer(suite, out):
    below = debian(suite, out)
    return f"debian-{suite}", f"/bin/sh -c #(nop) ADD debian {suite} with python3 in / ", lambda tar: add_tree(tar, below)


def wheels_layer(name, wheels, root, below):
    created_by = f"RUN /bin/sh -c pip install --no-compile {' '.join(wheels)} # buildkit"
    return name, created_by, lambda tar: add_changes(tar, root, below)


def seed_directory(image, out):
    """Where the seed has its packages, if it has been made."""
    seed = os.path.join(out, image.seed, "root", site_packages(IMAGES[image.seed])) if image.seed else ""
    return seed if os.path.isdir(seed) else None


def interpreter(image):
    return f"{image.virtual_environment}/bin/python3" if image.virtual_environment else "/usr/bin/python3"


def site_packages(image):
    python = f"python{rootfs.PYTHON_OF_SUITE[image.suite]}"
    return f"{image.virtual_environment[1:]}/lib/{python}/site-packages" if image.virtual_environment else f"usr/local/lib/{python}/dist-packages"


def environment(image):
    path = f"{image.virtual_environment}/bin:{PATH}" if image.virtual_environment else PATH
    return {
        "PATH": path, **image.environment, "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    }


def record(name, options):
    image, directory = IMAGES[name], os.path.join(options.out, name)
    root = os.path.join(directory, "root")
    observed = {"name": name, **describe(root, image), **run_program(root, image, image.program)}
    if image.executables:
        paths = [f"/{site_packages(image)}/{path}" for path in image.executables]
        observed["executables"] = [observe(root, [path], environment(image)) for path in paths]
    if image.first_use:
        observed["first_use"] = run_program(root, image, image.first_use)
        observed["varies"] = out_of_order(observed["objects"], observed["first_use"]["objects"])
    rootfs.write_json(os.path.join(directory, "observed.json"), observed)
    print(f"{name}: exit {observed['exit']}, {len(observed['objects'])} objects", flush=True)


def run_program(root, image, program):
    return observe(root, ["python3", "-c", program], environment(image), program)


def out_of_order(one, other):
    """Objects that two runs of the same import loaded in another order, as when Python iterates over a set of strings."""
    common = [path for path in one if path in set(other)]
    place = {path: other.index(path) for path in common}
    swapped = ((a, b) for i, a in enumerate(common) for b in common[i + 1 :] if place[a] > place[b])
    return sorted({path for pair in swapped for path in pair})


def describe(root, image):
    return {
        "suite": image.suite,
        "glibc": "".join(re.findall(r"(?<=-)[\d.]+(?=\.so$)|(?<=GLIBC )[\d.]+\d", glibc_banner(root))[:1]),
        "python": rootfs.PYTHON_OF_SUITE[image.suite],
        "packages": packages(root),
    }


def glibc_banner(root):
    """The version that the root's C library prints when it is run as a program."""
    library = glob.glob(os.path.join(root, "lib/x86_64-linux-gnu/libc.so.6"))[0]
    with open(library, "rb") as file:
        found = re.search(rb"GNU C Library \((?:[^)]*)\) stable release version ([\d.]+\d)", file.read())
    return f"GLIBC {found.group(1).decode()}"


def packages(root):
    found = {}
    for directory in glob.glob(os.path.join(root, "**", "*.dist-info"), recursive=True):
        name, _, version = os.path.basename(directory).removesuffix(".dist-info").partition("-")
        if GPU_PACKAGE.match(name.lower()):
            found[name.lower().replace("_", "-")] = version
    return dict(sorted(found.items()))


def archive(name, options):
    image, directory, path = IMAGES[name], os.path.join(options.out, name), os.path.join(options.out, name + ".tar")
    if os.path.exists(path) and not options.force:
        return
    config = rootfs.read_json(os.path.join(directory, "image.json"))
    created_by = f"RUN /bin/sh -c pip install --no-compile {' '.join(image.wheels)} # buildkit"
    rootfs.write_archive(path, os.path.join(directory, "root"), config, f"imgcheck-loader/{name.lower()}:latest", created_by)


def run_in_docker(name, options):
    """The same program under docker: exit code, output and the mapped files of the process."""
    directory, tag, image = os.path.join(options.out, name), f"imgcheck-loader/{name.lower()}:latest", IMAGES[name]
    changes = [f"--change=ENV {key}={value}" for key, value in environment(image).items()]
    packed = subprocess.Popen(["tar", "-C", os.path.join(directory, "root"), "-c", "."], stdout=subprocess.PIPE)
    subprocess.run(["docker", "import", *changes, "-", tag], stdin=packed.stdout, stdout=subprocess.DEVNULL, check=True)
    packed.stdout.close()
    packed.wait()
    command = ["docker", "run", "--rm", "--network", "none", tag, "python3", "-c", f"{image.program}; print(open('/proc/self/maps').read())"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    subprocess.run(["docker", "rmi", "--force", tag], check=True, stdout=subprocess.DEVNULL)
    mapped = {words[5] for line in done.stdout.splitlines() if len(words := line.split(None, 5)) == 6 and "r-xp" in words[1]}
    observed = set(rootfs.read_json(os.path.join(directory, "observed.json"))["objects"])
    mapped = {path for path in mapped if path.startswith("/")}
    rootfs.write_json(os.path.join(directory, "docker.json"), {
        "command": command, "exit": done.returncode, "stderr": done.stderr, "mapped": sorted(mapped),
        "only_in_docker": sorted(mapped - observed), "only_in_chroot": sorted(observed - mapped),
    })
    print(f"{name}: docker: exit {done.returncode}, {len(mapped)} mapped, {len(mapped ^ observed)} differ", flush=True)


def gigabytes(out, name):
    """Disk used by the root, files shared with other roots counted too."""
    done = subprocess.run(["du", "-s", "--block-size=1M", os.path.join(out, name)], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) / 1024


if __name__ == "__main__":
    main()
