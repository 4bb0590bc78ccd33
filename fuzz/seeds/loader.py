#!/usr/bin/env python3
"""Seeds of the targets that read whole images: the loader's index and configuration, paths, processes, packages.

    fuzz/seeds/loader.py

The same seeds are made every time. The language of the descriptions is that of fuzz/src/described.rs.
"""

import struct

from common import write


def cache(entries, extension=b"", flags=2):
    """`ld.so.cache` in the new format. The strings of an entry come after all entries."""
    strings, table = b"", b""
    base = 48 + 24 * len(entries)
    for name, path, *rest in entries:
        key = base + len(strings)
        strings += name + b"\0"
        value = base + len(strings)
        strings += path + b"\0"
        kind, hwcap = (rest + [0x303, 0][len(rest):])[:2]
        table += struct.pack("<IIIIQ", kind, key, value, 0, hwcap)
    at = -(-(base + len(strings)) // 4) * 4
    head = b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", len(entries), len(strings), flags, at if extension else 0)
    body = head + table + strings
    return body + (bytes(at - len(body)) + extension if extension else b"")


def caches():
    plain = [(b"libz.so.1", b"/lib/libz.so.1"), (b"libc.so.10", b"/lib/libc.so.10"), (b"libc.so.6", b"/lib/libc.so.6"),
             (b"libc.so.6", b"/lib32/libc.so.6", 3)]
    new = cache(plain)
    old = b"ld.so-1.7.0\0" + struct.pack("<I", 1) + struct.pack("<III", 3, 0, 10) + b"libc.so.6\0/lib/libc.so.6\0"
    head = b"ld.so-1.7.0\0" + struct.pack("<I", 0)
    generator = b"ldconfig (GNU libc) stable release version 2.36"
    levels = [(b"libm.so.6", b"/lib/glibc-hwcaps/x86-64-v3/libm.so.6", 0x303, 1 << 62), (b"libm.so.6", b"/lib/libm.so.6")]
    start = len(cache(levels, b"x")) - 1
    names = b"x86-64-v3\0\0\0"
    parts = struct.pack("<IIII", 0, 0, start + 40, len(generator)) + struct.pack("<IIII", 1, 0, start + 100, 4)
    extension = struct.pack("<II", 0xEAA42174, 2) + parts
    extension += generator.ljust(48, b"\0") + names + struct.pack("<I", start + 88)
    write("ld_so_cache", "new", new)
    write("ld_so_cache", "empty", cache([]))
    write("ld_so_cache", "old", old)
    write("ld_so_cache", "compatible", head + new)
    write("ld_so_cache", "subdirectories", cache(levels, extension))
    write("ld_so_cache", "no-order", cache(list(reversed(plain))))
    write("ld_so_cache", "not-utf-8", cache([(b"lib\xff.so", b"/lib/\xc3\x28")]))
    write("ld_so_cache", "big-endian", cache(plain, flags=3))
    write("ld_so_cache", "cut", new[:-20])
    write("ld_so_cache", "too-many", new[:20] + b"\xff\xff\xff\xff" + new[24:])


LIBC = """elf lib64/ld-linux-x86-64.so.2 soname=ld-linux-x86-64.so.2 export=__tls_get_addr@@GLIBC_2.3
elf lib64/libc.so.6 soname=libc.so.6 needed=ld-linux-x86-64.so.2 export=puts@@GLIBC_2.2.5 library=glibc code=version:2.36
"""
PROGRAM = "elf usr/bin/server type=2 interpreter=/lib64/ld-linux-x86-64.so.2 needed=liba.so needed=libc.so.6"

CONFIGURATIONS = {
    "debian": """dir usr/lib/x86_64-linux-gnu
link lib usr/lib
elf usr/lib/x86_64-linux-gnu/libc.so.6 soname=libc.so.6
text etc/ld.so.conf
|include /etc/ld.so.conf.d/*.conf
text etc/ld.so.conf.d/cuda.conf
|# CUDA
|/usr/local/cuda/lib64
|/usr/local/cuda/targets/x86_64-linux/lib/
text etc/ld.so.conf.d/x.conf
|/usr/local/lib=libc6
elf usr/local/cuda-12.8/lib64/libcudart.so.12.8.90 soname=libcudart.so.12
link usr/local/cuda-12.8/lib64/libcudart.so.12 libcudart.so.12.8.90
link usr/local/cuda-12.8/lib64/libcudart.so libcudart.so.12
link usr/local/cuda cuda-12.8
cached libcudart.so.12 /usr/local/cuda/lib64/libcudart.so.12
cached libgone.so.1 /usr/local/lib/libgone.so.1
""",
    "subdirectories": """elf lib64/libc.so.6 soname=libc.so.6
elf lib64/glibc-hwcaps/x86-64-v3/libm.so.6 soname=libm.so.6
elf lib64/glibc-hwcaps/x86-64-v2/libm.so.6 soname=libm.so.6
elf lib64/tls/haswell/libn.so.1 soname=libn.so.1
elf lib64/libm.so.6 soname=libm.so.6
cached libm.so.6 /lib64/glibc-hwcaps/x86-64-v3/libm.so.6 flags=771 subdirectory=x86-64-v3
cached libm.so.6 /lib64/libm.so.6
""",
    "loops": """text etc/ld.so.conf
|include /etc/ld.so.conf
|include *.conf /etc/[a-z]*/?.conf
|hwcap 0 nosegneg
|/a
|/a/b/..
link a b
link b a
link etc/x.conf ld.so.conf
dir usr/lib
link usr/lib/libloop.so libloop.so
elf usr/lib/libx.so.1.2 soname=libx.so.1
hard usr/lib/liby.so usr/lib/libx.so.1.2
""",
}

PATHS = {
    "links": "dir usr/bin\nlink bin usr/bin\ntext usr/bin/sh\nlink a b\nlink b /bin/../bin/./sh\npath /a\npath bin/sh/\npath a/../b\npath //bin//\n",
    "loop": "link a b\nlink b a\nlink c c\nlink d .\nlink e ..\npath a\npath c/x\npath d/d/d/d/e/e\npath ../../e\n",
    "forty": "text end\n" + "".join(f"link l{n} l{n - 1}\n" for n in range(1, 42)) + "link l0 end\npath l39\npath l40\n",
    "through-a-file": "text f\nlink g f/..\ndevice h\npath f/.\npath f/..\npath f/x\npath h/\npath g\n",
    "long": "dir " + "d" * 255 + "\nlink m " + "d/" * 1500 + "\npath " + "d" * 255 + "\npath " + "x" * 256 + "\npath m\n",
    "layers": "dir a\ntext a/x\nlink b a\nlayer\ngone a/x\ntext b/y\nlayer\nopaque a\ntext a/z\npath b/z\npath a/x\n",
}

PROCESSES = {
    "plain": LIBC + PROGRAM + " import=puts@libc.so.6:GLIBC_2.2.5\nelf lib64/liba.so soname=liba.so.1 needed=libc.so.6\n",
    "missing": LIBC + PROGRAM + " needed=libgone.so runpath=$ORIGIN/../lib:/opt/lib\nopen libgone.so\n",
    "search": LIBC + PROGRAM + """ rpath=/opt/${LIB}:$ORIGIN
env LD_LIBRARY_PATH=/x:/y::
elf x/liba.so machine=183 soname=liba.so
elf y/liba.so soname=liba.so needed=/y/libb.so call=f import=g
elf y/libb.so soname=libb.so.2 export=f
open libb.so.2 global
open /y/libb.so
""",
    "cache": LIBC + PROGRAM + "\ncached liba.so /opt/a/liba.so\nelf opt/a/liba.so\ntext etc/ld.so.preload\n|/opt/a/liba.so libb.so\n",
    "versions": LIBC + PROGRAM + """
elf lib64/liba.so import=f@libv.so:V2 import=puts@libc.so.6:GLIBC_2.99 needed=libv.so
elf lib64/libv.so soname=libv.so export=f@@V2 export=f@V1
""",
    "cycle": LIBC + PROGRAM + "\nelf lib64/liba.so needed=libb.so stack=executable\nelf lib64/libb.so needed=liba.so import=none\nopen libb.so lazy\n",
    "interpreter": """elf lib64/ld-linux-x86-64.so.2 soname=libx.so needed=liby.so
elf lib64/liby.so import=none import=f@libz.so:V9
elf usr/bin/server interpreter=/lib64/ld-linux-x86-64.so.2
open libx.so
open libx.so global
open liby.so global
""",
    "musl": """elf lib/ld-musl-x86_64.so.1 soname=libc.musl-x86_64.so.1 export=puts
elf bin/busybox type=3 interpreter=/lib/ld-musl-x86_64.so.1 needed=libc.musl-x86_64.so.1 needed=liba.so import=puts
text etc/ld-musl-x86_64.path
|/lib:/opt
elf opt/liba.so call=nothing
open liba.so
""",
}

SITE = "usr/local/lib/python3.11/site-packages"
PYTHON = LIBC + f"""elf usr/local/bin/python3.11 type=2 interpreter=/lib64/ld-linux-x86-64.so.2 needed=libc.so.6 library=python string=version:3.11.13
link usr/local/bin/python python3.11
text etc/os-release
|ID=debian
|VERSION_ID="12"
|PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
env PATH=/usr/local/bin:/usr/bin
cmd python
"""

IMAGES = {
    "torch": PYTHON + f"""layer
text {SITE}/torch-2.8.0.dist-info/METADATA
|Metadata-Version: 2.1
|Name: torch
|Version: 2.8.0+cu128
|Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux" and platform_machine == "x86_64"
|Requires-Dist: triton==3.4.0; extra == 'x'
|
|A description.
text {SITE}/torch/version.py
|__version__ = '2.8.0+cu128'
|cuda: Optional[str] = '12.8'
|git_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'
elf {SITE}/torch/lib/libtorch_cuda.so rpath=$ORIGIN/../../nvidia/cudnn/lib needed=libcudnn.so.9 library=torch-cuda code=compiled-cuda:12.8 code=compiled-cudnn:9.10.2 sass=sm_90 ptx=compute_90:8.7
elf {SITE}/torch/lib/libtorch_python.so needed=libtorch_cuda.so library=torch-python string=version:2.8.0
elf {SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so needed=libtorch_python.so runpath=$ORIGIN/lib
elf {SITE}/nvidia/cudnn/lib/libcudnn.so.9 soname=libcudnn.so.9 library=cudnn:dispatcher code=version:9.10.2
text {SITE}/nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA
|Name: nvidia-cudnn-cu12
|Version: 9.1.0.70
reference registry.example/team/train:torch2.9-cuda12.8-cudnn9-py3.11
label org.opencontainers.image.version=2.9.0
env CUDA_VERSION=12.6.3
env NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=535,driver<536
env NVIDIA_DRIVER_CAPABILITIES=compute,utility
target pool a100 535.183.06
target new sm_120
""",
    "conda": PYTHON + """text opt/conda/conda-meta/pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0.json
|{"name": "pytorch", "version": "2.5.1", "build": "py3.11_cuda12.4_cudnn9.1.0_0",
| "files": ["lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", "lib/libx.so"]}
text opt/conda/conda-meta/python-3.11.9-h1.json
|{"name": "python", "version": "3.11.9"}
elf opt/conda/bin/python3.11 interpreter=/lib64/ld-linux-x86-64.so.2 rpath=$ORIGIN/../lib library=python string=version:3.11.9
entrypoint /opt/conda/bin/python3.11 -m server
reference pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
""",
    "debian": LIBC + """text var/lib/dpkg/status
|Package: libcudnn9-cuda-12
|Status: install ok installed
|Architecture: amd64
|Version: 9.10.2.21-1
|
|Package: cuda-cudart-12-8
|Status: install ok installed
|Version: 12.8.90-1
|Architecture: amd64
text var/lib/dpkg/info/libcudnn9-cuda-12.list
|/usr/lib/x86_64-linux-gnu/libcudnn.so.9
elf usr/lib/x86_64-linux-gnu/libcudnn.so.9 soname=libcudnn.so.9 library=cudnn:graph code=version:9.1.0
elf usr/local/cuda-12.8/targets/x86_64-linux/lib/libcudart.so.12 soname=libcudart.so.12 library=cuda-runtime code=version:12.8
text usr/local/cuda-12.8/version.json
|{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}, "cuda_cudart": {"version": "12.8.90"}}
text usr/include/x86_64-linux-gnu/cudnn_version_v9.h
|#define CUDNN_MAJOR 9
|#define CUDNN_MINOR 10
|#define CUDNN_PATCHLEVEL 2
elf usr/lib/x86_64-linux-gnu/libcuda.so.535.183.06 library=driver string=version:535.183.06
elf usr/local/cuda/compat/libcuda.so.1 library=driver string=version:570.26 string=compat-cuda:12.8
elf app/server interpreter=/lib64/ld-linux-x86-64.so.2 needed=libcudart.so.12 needed=libcudnn.so.9
text usr/local/bin/entrypoint.sh
|#!/bin/sh
|export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH
|exec "$@"
entrypoint /usr/local/bin/entrypoint.sh
cmd /app/server --port 80
""",
    "alpine": """elf lib/ld-musl-x86_64.so.1
text lib/apk/db/installed
|P:python3
|V:3.11.6-r0
|
|P:musl
|V:1.2.4-r2
text usr/lib/os-release
|ID=alpine
|VERSION_ID=3.18.4
elf usr/bin/python3.11 interpreter=/lib/ld-musl-x86_64.so.1
""",
    "virtual-environment": PYTHON + """text opt/venv/pyvenv.cfg
|home = /usr/local/bin
|include-system-site-packages = true
|version = 3.11.13
link opt/venv/bin/python /usr/local/bin/python3.11
text opt/venv/lib/python3.11/site-packages/jax-0.4.30.dist-info/METADATA
|Name: jax
|Version: 0.4.30
text opt/venv/lib/python3.11/site-packages/old.egg-info/PKG-INFO
|Name: old
|Version: 1
|Requires-Dist: torch (>=2.0,<3) ; python_version >= "3.8"
text root/.pyenv/version
|3.10.4
text usr/local/include/python3.11/patchlevel.h
|#define PY_VERSION "3.11.13"
env VIRTUAL_ENV=/opt/venv
entrypoint /opt/venv/bin/python
""",
}

if __name__ == "__main__":
    caches()
    for target, seeds in [("ld_so_conf", CONFIGURATIONS), ("path_resolution", PATHS), ("loader", PROCESSES), ("image_facts", IMAGES)]:
        for name, text in seeds.items():
            write(target, name, text)
