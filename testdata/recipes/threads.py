#!/usr/bin/env python3
"""Rebuilds what people asked about in public threads as images, out of published wheels and Debian packages.

    python3 testdata/recipes/threads.py                       # all of them, into testdata/real/threads/
    python3 testdata/recipes/threads.py --only stub,nccl-older

What it needs: what `loader_images.py` needs, whose roots it starts from (they are made when they are missing); 10 GB for the
layers, most of it the one that holds PyTorch 2.8.0 and that most images share.

For every NAME of `thread_list.py` there are afterwards

* `NAME/`: an OCI layout, whose blobs are hard links into `store/` beside `threads/`;
* `NAME.txt`: what the program that the asker ran prints in the image, where that needs no GPU.

`testdata/threads/threads.csv` says which thread an image is of, and what imgcheck must say.
"""

import argparse
import os
import platform
import subprocess
import time

import loader_images
import rootfs
from loader_images import IMAGES
from observe import PATH, run_plainly
from oci_layout import Store, add_changes
from parts import Parts
from archive import add_tree
from thread_list import BASES, CATALOGUE, THREADS

CASES = {**THREADS, **CATALOGUE}
IMAGES.update({name: base for name, base in BASES.items() if not callable(base)})


def main():
    options = arguments()
    store, parts = Store(os.path.join(os.path.dirname(options.out), "store")), Parts(os.path.join(options.roots, "parts"))
    os.makedirs(parts.directory, exist_ok=True)
    for name in options.names:
        started = time.monotonic()
        if os.path.exists(os.path.join(options.out, name, "index.json")) and not options.force:
            print(f"{name}: already there", flush=True)
            continue
        make(name, store, parts, options)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


def arguments():
    real = os.path.dirname(loader_images.default_directory())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(real, "threads"), type=os.path.abspath)
    parser.add_argument("--only", default=",".join(CASES), help=f"names with commas: {', '.join(CASES)}")
    parser.add_argument("--force", action="store_true", help="make images again that are there already")
    options = parser.parse_args()
    options.names, options.roots = options.only.split(","), os.path.join(os.path.dirname(options.out), "loader")
    for name in options.names:
        if name not in CASES:
            parser.error(f"no image is called {name!r}")
    if platform.machine() != "x86_64" or os.geteuid() != 0:
        parser.error("this needs an x86-64 machine and root")
    return options


def make(name, store, parts, options):
    case = CASES[name]
    root, steps = base_root(case.base, options.roots), base_steps(case.base, store, options.roots)
    environment = environment_of(case)
    if case.apply:
        changed = os.path.join(options.out, name + ".root")
        rootfs.copy_tree(root, changed)
        case.apply(changed, parts)
        steps.append(store.layer(name, shell(case.step), lambda tar: add_changes(tar, changed, root), options.force))
        show(case, name, changed, environment, options)
        subprocess.run(["rm", "-rf", changed], check=True)
    else:
        show(case, name, root, environment, options)
    steps += [f"ENV {variable}={value}" for variable, value in environment.items()]
    config = {"Env": [f"{variable}={value}" for variable, value in environment.items()], "Cmd": ["python3"]}
    steps.append('CMD ["python3"]')
    store.image(os.path.join(options.out, name), case.reference, steps, config, case.architecture)


def environment_of(case):
    own = {"PATH": PATH, "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    return {variable: value for variable, value in {**own, **case.environment}.items() if value is not None}


def shell(step):
    """The build step as BuildKit records it."""
    return f"RUN /bin/sh -c {step.removeprefix('RUN ')} # buildkit" if step.startswith("RUN ") else f"{step} # buildkit"


def base_root(base, roots):
    """The root of a base, which is made if it is missing."""
    root = os.path.join(roots, base, "root")
    if base in IMAGES:
        loader_images.prepare(base, roots)
    else:
        os.makedirs(os.path.dirname(root), exist_ok=True)
        BASES[base](root)
    return root


def base_steps(base, store, roots):
    """The layers of a base."""
    if base in IMAGES:
        return [store.layer(*layer) for layer in loader_images.layers(base, roots)]
    root = os.path.join(roots, base, "root")
    return [store.layer(base, f"/bin/sh -c #(nop) ADD {base} in / ", lambda tar: add_tree(tar, root))]


def show(case, name, root, environment, options):
    """Records the output of the program."""
    program = case.program or (IMAGES[case.base].program if case.base in BASES and case.base in IMAGES else None)
    if program is None:
        return
    printed = run_plainly(root, ["python3", "-c", program], environment)
    with open(os.path.join(options.out, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(f"{printed['stdout']}{printed['stderr']}exit {printed['exit']}\n")
    print(f"{name}: exit {printed['exit']}: {printed['error'] or printed['stdout'].strip()[-200:]}", flush=True)


if __name__ == "__main__":
    main()
