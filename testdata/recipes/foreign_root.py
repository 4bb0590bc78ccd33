"""A Debian root of another processor, unpacked only: nothing of it can be run here."""

import glob
import os
import subprocess
import sys
import tempfile
import zipfile

import rootfs

ARCHITECTURE, SUITE = "arm64", "bookworm"


def foreign_root(directory):
    """Debian with python3 for arm64. debootstrap unpacks the essential packages, dpkg-deb the rest."""
    if os.path.isdir(os.path.join(directory, "usr")):
        return
    partial = directory + ".partial"
    rootfs.run("rm", "-rf", partial)
    mirror = filter(None, [rootfs.system_mirror()])
    command = [
        "debootstrap", "--foreign", "--variant=minbase", f"--arch={ARCHITECTURE}", "--include=python3", SUITE, partial, *mirror,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for package in sorted(glob.glob(os.path.join(partial, "var/cache/apt/archives/*.deb"))):
        rootfs.run("dpkg-deb", "-x", package, partial)
        os.remove(package)
    rootfs.run("rm", "-rf", os.path.join(partial, "debootstrap"))
    rootfs.drop_package_caches(partial)
    os.rename(partial, directory)


def add_wheel(root, site, requirement, platform, python="3.11"):
    """Unpacks one wheel as pip does, for a platform whose Python cannot run here."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(root), prefix=".wheels-") as directory:
        rootfs.run(
            sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--quiet", "download", "--no-deps",
            "--only-binary=:all:", f"--platform={platform}", f"--python-version={python}", "--implementation=cp",
            "--dest", directory, requirement,
        )
        for path in glob.glob(os.path.join(directory, "*.whl")):
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(os.path.join(root, site))
