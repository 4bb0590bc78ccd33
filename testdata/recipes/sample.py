#!/usr/bin/env python3
"""Makes the small sample images of testdata/sample/ out of the assembler files in testdata/recipes/sample/.

    python3 testdata/recipes/sample.py            # writes testdata/sample/*.tar
    python3 testdata/recipes/sample.py DIRECTORY  # or elsewhere

The images hold no byte of PyTorch or CUDA: the libraries are a few instructions of our own that carry their version the
way the real ones do. One image wears an honest label, the other claims PyTorch 2.9. Needs GNU as and ld for x86-64;
the same versions of both give the same bytes.
"""

import os
import subprocess
import sys
import tempfile

from archive import DockerArchive, add_bytes, add_parents

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "sample")
MTIME = 1754438400  # 2025-08-06, the day of PyTorch 2.8.0
SITE = "usr/local/lib/python3.11/site-packages"
NVIDIA = f"{SITE}/nvidia"
TORCH = f"{SITE}/torch"
TORCH_RPATH = ":".join(
    [*(f"$ORIGIN/../../nvidia/{part}/lib" for part in ("cublas", "cuda_nvrtc", "cuda_runtime", "cudnn", "nccl")), "$ORIGIN"]
)
CUDNN_RUNPATH = "$ORIGIN:$ORIGIN/../../cublas/lib"

# Path of the library: source, NEEDED (by path of the other library), search path and its kind, assembler symbols.
LIBRARIES = {
    "usr/local/lib/libpython3.11.so.1.0": ("libpython.S", [], None, None),
    f"{NVIDIA}/cuda_runtime/lib/libcudart.so.12": ("cudart.S", [], None, None),
    f"{NVIDIA}/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8": ("nvrtc_builtins.S", [], None, None),
    f"{NVIDIA}/cuda_nvrtc/lib/libnvrtc.so.12": ("nvrtc.S", [], "runpath:$ORIGIN:", None),
    f"{NVIDIA}/cublas/lib/libcublasLt.so.12": ("cublaslt.S", [], None, None),
    f"{NVIDIA}/cublas/lib/libcublas.so.12": ("cublas.S", [f"{NVIDIA}/cublas/lib/libcublasLt.so.12"], "runpath:$ORIGIN", None),
    f"{NVIDIA}/nccl/lib/libnccl.so.2": ("nccl.S", [], None, None),
    f"{NVIDIA}/cudnn/lib/libcudnn.so.9": ("cudnn.S", [], "runpath:$ORIGIN", None),
    f"{NVIDIA}/cudnn/lib/libcudnn_graph.so.9": ("cudnn_graph.S", [], f"runpath:{CUDNN_RUNPATH}", None),
    **{
        f"{NVIDIA}/cudnn/lib/libcudnn_{part}.so.9": (
            "cudnn_part.S", [f"{NVIDIA}/cudnn/lib/libcudnn_{needed}.so.9" for needed in needs], f"runpath:{CUDNN_RUNPATH}", part,
        )
        for part, needs in (("ops", ["graph"]), ("cnn", ["ops", "graph"]), ("adv", ["ops", "graph"]))
    },
    **{
        f"{NVIDIA}/cudnn/lib/libcudnn_{part}.so.9": (
            "cudnn_engines.S", [f"{NVIDIA}/cudnn/lib/libcudnn_graph.so.9"], f"runpath:{CUDNN_RUNPATH}", None,
        )
        for part in ("engines_precompiled", "engines_runtime_compiled", "heuristic")
    },
    f"{TORCH}/lib/libc10.so": ("c10.S", [], f"rpath:{TORCH_RPATH}", None),
    f"{TORCH}/lib/libc10_cuda.so": (
        "c10_cuda.S", [f"{TORCH}/lib/libc10.so", f"{NVIDIA}/cuda_runtime/lib/libcudart.so.12"], f"rpath:{TORCH_RPATH}", None,
    ),
    f"{TORCH}/lib/libtorch_cpu.so": ("torch_cpu.S", [f"{TORCH}/lib/libc10.so"], f"rpath:{TORCH_RPATH}", None),
    f"{TORCH}/lib/libtorch_cuda.so": (
        "torch_cuda.S",
        [
            f"{TORCH}/lib/libc10_cuda.so", f"{NVIDIA}/cuda_runtime/lib/libcudart.so.12", f"{NVIDIA}/nccl/lib/libnccl.so.2",
            f"{NVIDIA}/cublas/lib/libcublas.so.12", f"{NVIDIA}/cublas/lib/libcublasLt.so.12", f"{NVIDIA}/cudnn/lib/libcudnn.so.9",
            f"{TORCH}/lib/libc10.so", f"{TORCH}/lib/libtorch_cpu.so",
        ],
        f"rpath:{TORCH_RPATH}", None,
    ),
    f"{TORCH}/lib/libtorch_cuda_linalg.so": (
        "torch_cuda_linalg.S",
        [f"{TORCH}/lib/libtorch_cuda.so", f"{TORCH}/lib/libc10_cuda.so", f"{NVIDIA}/cublas/lib/libcublas.so.12"],
        f"rpath:{TORCH_RPATH}", None,
    ),
    f"{TORCH}/lib/libtorch_python.so": (
        "torch_python.S",
        [
            f"{TORCH}/lib/libtorch_cpu.so", f"{TORCH}/lib/libtorch_cuda.so", f"{TORCH}/lib/libc10_cuda.so",
            f"{NVIDIA}/cuda_runtime/lib/libcudart.so.12", f"{TORCH}/lib/libc10.so", f"{NVIDIA}/cudnn/lib/libcudnn.so.9",
        ],
        f"rpath:{TORCH_RPATH}", None,
    ),
    f"{TORCH}/_C.cpython-311-x86_64-linux-gnu.so": (
        "torch_extension.S", [f"{TORCH}/lib/libtorch_python.so"], f"rpath:{TORCH_RPATH}:$ORIGIN/lib", None,
    ),
}

PINS = {
    "nvidia-cublas-cu12": ("12.8.4.1", "nvidia/cublas"),
    "nvidia-cuda-nvrtc-cu12": ("12.8.93", "nvidia/cuda_nvrtc"),
    "nvidia-cuda-runtime-cu12": ("12.8.90", "nvidia/cuda_runtime"),
    "nvidia-cudnn-cu12": ("9.10.2.21", "nvidia/cudnn"),
    "nvidia-nccl-cu12": ("2.27.3", "nvidia/nccl"),
}


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(HERE), "sample")
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        files = [debian(), python(work), torch(work)]
    write(os.path.join(out, "pytorch-cuda-v2.9.tar"), "pytorch-cuda:v2.9", files)
    write(
        os.path.join(out, "pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar"),
        "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", files,
    )


def debian():
    """The few files by which a Debian root is known."""
    release = """PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
"""
    status = """Package: base-files
Essential: yes
Status: install ok installed
Priority: required
Section: admin
Architecture: amd64
Version: 12.4+deb12u11
Description: sample entry

"""
    return {
        "bin": "->usr/bin", "lib": "->usr/lib", "lib64": "->usr/lib64",
        "etc/debian_version": "12.11\n", "etc/os-release": "->../usr/lib/os-release",
        "usr/bin/sh": "#!sample\n", "usr/lib/os-release": release, "var/lib/dpkg/status": status,
    }


def python(work):
    """Python 3.11.13 under /usr/local, where the official Python images have it, with the DT_RUNPATH that they give it."""
    library = "usr/local/lib/libpython3.11.so.1.0"
    program = os.path.join(work, "python3.11")
    search = ["-rpath=$ORIGIN/../lib", "--enable-new-dtags"]
    link(work, "python.S", program, ["-pie", "--dynamic-linker=/lib64/ld-linux-x86-64.so.2", *search, build(work, library)])
    header = '#define PY_MAJOR_VERSION 3\n#define PY_MINOR_VERSION 11\n#define PY_MICRO_VERSION 13\n#define PY_VERSION "3.11.13"\n'
    return {
        "usr/local/bin/python": "->python3", "usr/local/bin/python3": "->python3.11", "usr/local/bin/python3.11": content(program),
        "usr/local/include/python3.11/patchlevel.h": header,
        library: content(build(work, library)),
        "usr/local/lib/python3.11/os.py": '"""Sample."""\n',
    }


def torch(work):
    """What `pip install torch==2.8.0` leaves, abridged."""
    files = {path: content(build(work, path)) for path in LIBRARIES if path.startswith(SITE)}
    files[f"{TORCH}/__init__.py"] = "from .version import __version__\nfrom . import _C\n"
    files[f"{TORCH}/version.py"] = (
        "from typing import Optional\n\n"
        "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n"
        "__version__ = '2.8.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\n"
        "git_version = '0000000000000000000000000000000000000000'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n"
    )
    for name, (version, _) in PINS.items():
        dist_info(files, name, version, "py3-none-manylinux_2_27_x86_64", [])
    marker = 'platform_system == "Linux" and platform_machine == "x86_64"'
    dist_info(
        files, "torch", "2.8.0", "cp311-cp311-manylinux_2_28_x86_64",
        [f"{name}=={version}; {marker}" for name, (version, _) in PINS.items()],
    )
    return files


def dist_info(files, name, version, tag, requirements):
    directory = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", "Summary: Sample of imgcheck, not the real package"]
    files[f"{directory}/METADATA"] = "\n".join([*lines, *(f"Requires-Dist: {text}" for text in requirements), ""])
    files[f"{directory}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: sample\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{directory}/INSTALLER"] = "pip\n"


def build(work, path):
    """Assembles and links one library; returns the file. Its dependencies are built first."""
    source, needed, search, symbol = LIBRARIES[path]
    target = os.path.join(work, os.path.basename(path))
    if os.path.exists(target):
        return target
    flags = ["-shared"]
    if not path.endswith("linux-gnu.so"):
        soname = os.path.basename(path)
        flags += [f"-soname={soname}"]
        if NVIDIA in path and "-" not in soname:  # a version cannot have a hyphen in ld's scripts
            script = os.path.join(work, soname + ".map")
            with open(script, "w", encoding="ascii") as file:
                file.write(f"{soname} {{ global: cu*; nccl*; nvrtc*; local: *; }};\n")
            flags.append(f"--version-script={script}")
    if search:
        kind, directories = search.split(":", 1)
        flags += [f"-rpath={directories}", "--disable-new-dtags" if kind == "rpath" else "--enable-new-dtags"]
    link(work, source, target, [*flags, *(build(work, other) for other in needed)], symbol)
    return target


def link(work, source, target, flags, symbol=None):
    compiled = target + ".o"
    symbols = ["--defsym", f"{symbol}=1"] if symbol else []
    subprocess.run(["as", "--64", "-I", SOURCES, *symbols, "-o", compiled, os.path.join(SOURCES, source)], check=True)
    layout = ["-s", "--hash-style=gnu", "--no-as-needed", "--build-id=sha1", "-z", "noseparate-code", "-z", "norelro", "-z", "max-page-size=4096"]
    # The search list of ld itself: other libraries are named by path, but ld also looks up what those need.
    subprocess.run(["ld", *layout, f"-rpath-link={work}", "-o", target, compiled, *flags], check=True)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, tag, layers):
    steps = [
        "/bin/sh -c #(nop) ADD rootfs.tar in / ",
        "RUN /bin/sh -c make install # Python 3.11.13",
        "RUN /bin/sh -c pip install --no-cache-dir torch==2.8.0 # buildkit",
    ]
    environment = [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8", "PYTHON_VERSION=3.11.13", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ]
    archive = DockerArchive(path, mtime=MTIME)
    known = set()
    for step, files in zip(steps, layers):
        with archive.layer(step) as tar:
            for stored in sorted(files):
                add_parents(tar, stored, known, MTIME)
                add_file(tar, stored, files[stored])
        if step is steps[0]:
            for variable in environment:
                archive.step(f"ENV {variable}")
    archive.step('CMD ["python3"]')
    archive.finish(tag, env=environment, labels={"org.opencontainers.image.title": "imgcheck sample"})


def add_file(tar, stored, data):
    """Text and bytes become files, `->target` a symbolic link."""
    if isinstance(data, str) and data.startswith("->"):
        info = tar.tarinfo(stored)
        info.type, info.linkname, info.mode, info.mtime = b"2", data[2:], 0o777, MTIME
        tar.addfile(info)
    else:
        executable = "/bin/" in stored
        add_bytes(tar, stored, data.encode() if isinstance(data, str) else data, 0o755 if executable else 0o644, MTIME)


if __name__ == "__main__":
    main()
