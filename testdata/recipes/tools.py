#!/usr/bin/env python3
"""What Triton compiles with: Debian roots with and without a compiler and headers, judged by imgcheck and tried by Triton itself.

    sudo python3 testdata/recipes/tools.py --imgcheck target/release/imgcheck

Triton's own function that compiles a launcher runs in each root; it needs no GPU. Both must name the same roots. Needs debootstrap.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from archive import DockerArchive, add_tree
from rootfs import debian_root

COMPILE = """
import os, subprocess, tempfile
from triton.runtime.build import _build
with tempfile.TemporaryDirectory() as directory:
    source = os.path.join(directory, "main.c")
    open(source, "w").write("#include <Python.h>\\nint main_(void) { return 0; }\\n")
    _build("main", source, directory, [], [], [])
if not os.environ.get("TRITON_LIBCUDA_PATH"):
    subprocess.check_output(["/sbin/ldconfig", "-p"])
"""
# A root: the packages that are added, the environment, and a command that changes it.
ROOTS = {
    "nothing": ([], {}, ""),
    "compiler without headers": (["gcc"], {}, ""),
    "compiler and C headers": (["gcc", "libc6-dev"], {}, ""),
    "all": (["gcc", "libpython3-dev"], {}, ""),
    "clang": (["clang", "libpython3-dev"], {}, "rm -f /usr/bin/gcc"),
    "no C headers": (["gcc", "libpython3-dev"], {}, "rm /usr/include/stdlib.h"),
    "no Python.h": (["gcc", "libpython3-dev"], {}, "rm /usr/include/python3.11/Python.h"),
    "CC that exists": (["gcc", "libpython3-dev"], {"CC": "gcc"}, ""),
    "CC that does not exist": (["gcc", "libpython3-dev"], {"CC": "gcc-15"}, ""),
    "CC with an option": (["gcc", "libpython3-dev"], {"CC": "gcc -m64"}, ""),
    "empty CC": (["gcc", "libpython3-dev"], {"CC": ""}, ""),
    "compiler outside of PATH": (["gcc", "libpython3-dev"], {"PATH": "/usr/local/bin"}, "ln -s /usr/bin/python3 /usr/local/bin/python3"),
    "compiler that cannot be executed": (["gcc", "libpython3-dev"], {}, "chmod 644 /usr/bin/x86_64-linux-gnu-gcc-12"),
    "no ldconfig": (["gcc", "libpython3-dev"], {}, "rm /sbin/ldconfig"),
    "no ldconfig, path of libcuda": (["gcc", "libpython3-dev"], {"TRITON_LIBCUDA_PATH": "/usr/lib"}, "rm /sbin/ldconfig"),
}
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


def run(*command, **options):
    """Runs a command that has to succeed."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


def base_root(directory, packages, triton):
    """A Debian root with Python, Triton and some packages, without what they only recommend."""
    root = os.path.join(directory, "-".join(["base", *packages]))
    site = os.path.join(root, "usr/lib/python3/dist-packages")
    if not os.path.isdir(root):
        debian_root(root, "bookworm", ["python3", *packages])
        run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, "--python-version", "3.11", "--only-binary", ":all:",
            f"triton=={triton}", stderr=subprocess.DEVNULL)
    return root


def says(imgcheck, root, environment):
    """The message of imgcheck about a missing tool; empty without one."""
    archive = root + ".tar"
    image = DockerArchive(archive)
    with image.layer("root") as tar:
        add_tree(tar, root)
    image.finish("tools:1", env=[f"{name}={value}" for name, value in environment.items()], cmd=("/usr/bin/python3", "-c", "import triton"))
    done = subprocess.run([imgcheck, "check", archive, "-f", "json", "--fail-on", "never"], capture_output=True, text=True, check=False)
    os.remove(archive)
    [image] = json.loads(done.stdout)["images"]
    return "; ".join(finding["message"] for finding in image["findings"] if finding["rule"] == "python-tool-missing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--imgcheck", default="target/release/imgcheck")
    parser.add_argument("--triton", default="3.4.0")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, (packages, variables, change) in ROOTS.items():
            root = os.path.join(directory, "root")
            run("rm", "-rf", root)
            run("cp", "-a", base_root(directory, packages, arguments.triton), root)
            if change:
                run("chroot", root, "sh", "-c", change)
            environment = {**ENVIRONMENT, **variables}
            done = subprocess.run([shutil.which("chroot"), root, "/usr/bin/python3", "-c", COMPILE], env=environment, capture_output=True, text=True)
            found = says(arguments.imgcheck, root, environment)
            is_same = bool(done.returncode) == bool(found)
            wrong += not is_same
            last = done.stderr.strip().splitlines()[-1:] if done.returncode else []
            print(f"{'same ' if is_same else 'WRONG'} {name}: Triton {''.join(last) or 'compiles'}\n      imgcheck: {found or 'silent'}")
    sys.exit(f"{wrong} roots differ" if wrong else 0)


if __name__ == "__main__":
    main()
