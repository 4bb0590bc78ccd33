#!/usr/bin/env python3
"""Breaks healthy roots as real images are broken, runs them, and records what the real programs print.

    python3 testdata/recipes/loader_faults.py                                # all of them
    python3 testdata/recipes/loader_faults.py --only cudart-12.1,cudart-12.4

What it needs: what `loader_images.py` needs, dpkg-deb and tar, and its roots below the same directory (they are made when
they are missing). A faulty root is a copy of hard links with the changed files replaced, so all of them together take about
3 GB; the parts that are put in place come from PyPI and Debian and are kept in `parts/`.

For every NAME there are afterwards `faults/NAME/root`, `faults/NAME/image.json` and `faults/NAME/observed.json` of the form
that `loader_images.py` writes, with `base`, `says` (what was done), `changed` (paths that differ from the healthy root) and,
where the program hides the loader's message, `hidden`: a second program that shows it. `stderr` and `error` are always what
was printed.
"""

import argparse
import os
import platform
import subprocess
import time

import loader_images
import rootfs
from fault_list import FAULTS
from loader_images import IMAGES
from observe import observe, run_plainly
from parts import Parts


def main():
    options = arguments()
    parts = Parts(os.path.join(options.out, "parts"))
    os.makedirs(parts.directory, exist_ok=True)
    for name in options.names:
        started, directory = time.monotonic(), os.path.join(options.out, "faults", name)
        if os.path.exists(os.path.join(directory, "observed.json")) and not options.force and not options.observe:
            print(f"{name}: already there", flush=True)
            continue
        fault = FAULTS[name]
        loader_images.prepare(fault.base, options.out)
        if options.force or not os.path.isdir(os.path.join(directory, "root")):
            make(fault, directory, parts, options)
        record(name, fault, directory, options)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=loader_images.default_directory(), type=os.path.abspath)
    parser.add_argument("--only", default=",".join(FAULTS), help=f"names with commas: {', '.join(FAULTS)}")
    parser.add_argument("--force", action="store_true", help="make roots again that are there already")
    parser.add_argument("--observe", action="store_true", help="run the programs again in roots that are there already")
    options = parser.parse_args()
    options.names = options.only.split(",")
    for name in options.names:
        if name not in FAULTS:
            parser.error(f"no fault is called {name!r}")
    if platform.machine() != "x86_64" or os.geteuid() != 0:
        parser.error("this needs an x86-64 machine and root")
    return options


def make(fault, directory, parts, options):
    partial = os.path.join(directory, "root-in-the-making")
    rootfs.copy_tree(os.path.join(options.out, fault.base, "root"), partial)
    fault.apply(partial, parts)
    subprocess.run(["rm", "-rf", os.path.join(directory, "root")], check=True)
    os.rename(partial, os.path.join(directory, "root"))


def record(name, fault, directory, options):
    image, root = IMAGES[fault.base], os.path.join(directory, "root")
    environment = {**loader_images.environment(image), **fault.environment}
    program = fault.program or image.program
    command = fault.command or ["python3", "-c", program]
    rootfs.write_config(os.path.join(directory, "image.json"), environment, None, command)
    observed = {
        "name": name, "base": fault.base, "says": fault.says,
        "changed": changed(root, os.path.join(options.out, fault.base, "root")),
        **loader_images.describe(root, image),
        **observe(root, command, environment, None if fault.command else program),
    }
    if fault.hidden:
        observed["hidden"] = run_plainly(root, ["python3", "-c", fault.hidden], environment)
    rootfs.write_json(os.path.join(directory, "observed.json"), observed)
    print(f"{name}: exit {observed['exit']}: {observed['error']}", flush=True)
    if fault.hidden:
        print(f"{name}: hidden: {observed['hidden']['error']}", flush=True)


def changed(root, healthy):
    """The paths that are not one file in both roots, Python's own directories for caches left out."""
    there, before = listing(root), listing(healthy)
    return sorted(path for path in there.keys() | before.keys() if there.get(path) != before.get(path))


def listing(root):
    """Device, inode and link text of every file by its path in the root."""
    found = {}
    for directory, directories, files in os.walk(root):
        for name in files + [name for name in directories if os.path.islink(os.path.join(directory, name))]:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, root)] = os.readlink(path) if os.path.islink(path) else os.stat(path).st_ino
    return found


if __name__ == "__main__":
    main()
