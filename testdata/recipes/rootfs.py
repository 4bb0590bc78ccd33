"""Root filesystems for the recipes: Debian roots, wheels installed by pip inside them, cheap copies, docker archives."""

import contextlib
import csv
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from archive import DockerArchive, add_tree

PIP = "pip==24.3.1"  # the last one that runs on Python 3.8 and newer
GLIBC_OF_PYTHON = {"3.9": 31, "3.11": 36, "3.13": 41}  # the minor release of glibc 2 in the Debian that has this Python
PYTHON_OF_SUITE = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13"}
SHARED_FROM_BYTES = 1 << 20


def debian_root(directory, suite, packages):
    """A Debian root with the packages, made by debootstrap unless it is there already."""
    if os.path.isdir(os.path.join(directory, "usr")):
        return
    partial = directory + ".partial"
    subprocess.run(["rm", "-rf", partial], check=True)
    mirror = filter(None, [system_mirror()])
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, partial, *mirror]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\ndebootstrap failed with exit code {done.returncode}")
    drop_package_caches(partial)
    os.rename(partial, directory)


def system_mirror():
    """The mirror that this machine's own apt uses for Debian, if it is a Debian machine."""
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))]:
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            text = file.read()
            found = re.search(r"^(?:URIs:|deb(?:\s+\[[^]]*\])?)\s+(\S+/debian/?)(?:\s|$)", text, re.MULTILINE)
            if found:
                return found.group(1)
    return None


def drop_package_caches(root):
    for pattern in ("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*", "var/log/*.log"):
        for path in glob.glob(os.path.join(root, pattern)):
            os.remove(path)


def copy_tree(source, target):
    """A copy whose files are hard links: costs no space, but a file must be replaced, never written into."""
    partial = target + ".partial"
    subprocess.run(["rm", "-rf", partial, target], check=True)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    run("cp", "-al", source, partial)
    os.rename(partial, target)


def pip_download(wheels, directory, python, dependencies=True):
    """Fetches wheels for the image's Python and platform, whatever this machine's are."""
    glibc = GLIBC_OF_PYTHON[python]
    platforms = [*(f"manylinux_2_{minor}" for minor in range(glibc, 4, -1)), "manylinux2014", "manylinux2010", "manylinux1"]
    run(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--quiet", "download",
        "--dest", directory, "--only-binary=:all:", f"--python-version={python}", "--implementation=cp",
        *(f"--platform={tag}_x86_64" for tag in platforms), *([] if dependencies else ["--no-deps"]), *wheels,
    )


def pip_install(root, wheels, python, interpreter="/usr/bin/python3", dependencies=True, site=None, seed=None):
    """Runs `pip install` in the root with the root's own Python; what it needs is downloaded first and removed afterwards.

    With `seed`, another root's site-packages, packages that pip would unpack are linked from there into `site` beforehand.
    """
    with tempfile.TemporaryDirectory(dir=os.path.dirname(root), prefix=".wheels-") as directory:
        pip_download([PIP], directory, python)
        pip_download(wheels, directory, python, dependencies)
        if seed:
            seed_packages(site, seed, {distribution(path) for path in glob.glob(os.path.join(directory, "*.whl"))})
        pip = os.path.basename(glob.glob(os.path.join(directory, "pip-*.whl"))[0])
        enter(
            root, directory, interpreter, f"/mnt/{pip}/pip", "install", "--quiet", "--no-index", "--find-links", "/mnt",
            "--no-compile", "--no-cache-dir", "--break-system-packages", "--root-user-action=ignore", "--no-warn-script-location",
            *([] if dependencies else ["--no-deps"]), *wheels,
        )


def enter(root, exchange, *command):
    """Runs a command in the root, writable, with /proc, /dev and the exchange directory on /mnt; the mounts end with it."""
    script = (
        'set -e; root=$1 exchange=$2; shift 2; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev";'
        ' mount --bind "$exchange" "$root/mnt"; exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin'
        ' PYTHONDONTWRITEBYTECODE=1 "$@"'
    )
    run("unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", script, "sh", root, exchange, *command)


def share_large_files(root, store):
    """Makes large files of wheels that several roots hold one file on disk, told by the SHA-256 in their RECORD.

    Within one root nothing is merged: to the loader one inode is one library.
    """
    os.makedirs(store, exist_ok=True)
    used = set()
    for record in sorted(glob.glob(os.path.join(root, "**", "*.dist-info", "RECORD"), recursive=True)):
        site = os.path.dirname(os.path.dirname(record))
        with open(record, encoding="utf-8", newline="") as file:
            for name, digest, size in csv.reader(file):
                if not digest.startswith("sha256=") or not size or int(size) < SHARED_FROM_BYTES or digest in used:
                    continue
                used.add(digest)
                link_to_store(os.path.join(site, name), os.path.join(store, digest.removeprefix("sha256=")))


def distribution(path):
    """The normalized name of the distribution that a wheel or a dist-info directory belongs to."""
    return os.path.basename(path).split("-")[0].lower().replace(".", "_")


def seed_packages(site, source, wanted):
    """Links wanted packages that fit every Python from another root's site-packages: pip finds them installed already.

    What is of the wrong release there, pip replaces.
    """
    for record in glob.glob(os.path.join(source, "*.dist-info", "RECORD")):
        if distribution(os.path.dirname(record)) not in wanted:
            continue
        with open(os.path.join(os.path.dirname(record), "WHEEL"), encoding="utf-8") as file:
            tags = [line for line in file if line.startswith("Tag:")]
        with open(record, encoding="utf-8", newline="") as file:
            names = [row[0] for row in csv.reader(file)]
        if not all("py3-none-" in tag for tag in tags) or any(name.startswith("..") for name in names):
            continue
        for name in names:
            target = os.path.join(site, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.lexists(target):
                os.link(os.path.join(source, name), target)


def link_to_store(path, stored):
    if not os.path.isfile(path) or os.path.islink(path):
        return
    if not os.path.exists(stored):
        os.link(path, stored)
    elif not os.path.samefile(path, stored) and os.path.getsize(path) == os.path.getsize(stored):
        os.link(stored, path + ".partial")
        os.rename(path + ".partial", path)


def drop_unused(store):
    """Removes files of the store that no root holds any more."""
    for entry in os.scandir(store):
        if entry.stat().st_nlink == 1:
            os.remove(entry.path)


def write_config(path, environment, entrypoint, cmd):
    """The image configuration beside a root, in the form of an OCI image configuration's `config` object."""
    config = {"Env": [f"{name}={value}" for name, value in environment.items()], "Entrypoint": entrypoint, "Cmd": cmd}
    write_json(path, {"architecture": "amd64", "os": "linux", "config": config})


def write_archive(path, root, config, tag, created_by):
    """The root as a docker archive of one layer, for `docker load` and for imgcheck."""
    archive = DockerArchive(path + ".partial")
    with archive.layer(created_by) as tar:
        add_tree(tar, root)
    archive.finish(tag, env=config["config"]["Env"], cmd=config["config"]["Cmd"], entrypoint=config["config"]["Entrypoint"])
    os.rename(path + ".partial", path)


def write_json(path, value):
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.rename(path + ".partial", path)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run(*command):
    subprocess.run(command, check=True)
