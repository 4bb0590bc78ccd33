#!/usr/bin/env python3
"""Installs the stacks of stack_list.py from published wheels, runs Python in them, and compares with what imgcheck reports.

    python3 testdata/recipes/stacks.py --imgcheck target/debug/imgcheck --quick     # what CI runs: small wheels
    python3 testdata/recipes/stacks.py --imgcheck target/release/imgcheck | tee testdata/stacks.log

Each root is a copy of the Debian root, or of the root of PyTorch 2.8.0, of loader_images.py, with hard links, in which the files of the wheels
replace others. A stack fails if Python says something else than the list, or if imgcheck reports other rules (errors and warnings), or if it says of a
container with the program that an import fails which does not, or the other way round for a missing library. Needs root (chroot) and pip. Wheels stay in OUT/wheels, roots are removed.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import loader_images
import rootfs
from stack_list import STACKS

SITE = "usr/local/lib/python3.11/dist-packages"
PATH = "PATH=/usr/local/bin:/usr/bin:/bin"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imgcheck", required=True, type=os.path.abspath)
    parser.add_argument("--out", type=os.path.abspath, default=os.path.join(os.path.dirname(loader_images.default_directory()), "stacks"))
    parser.add_argument("--quick", action="store_true", help="only those with small wheels")
    parser.add_argument("--only", default="", help="only those whose name contains this")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    stacks = [stack for stack in STACKS if (stack.quick or not options.quick) and options.only in stack.name]
    fetch({pin for stack in stacks for pin in stack.wheels.split()}, wheels(options))
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        wrong = [line for lines in pool.map(lambda stack: judge(stack, options), stacks) for line in lines]
    alarms = sum("ALARM" in line for line in wrong)
    print(f"{len(stacks)} stacks: {alarms} false alarms, {len(wrong) - alarms} other differences; known misses:")
    print("".join(f"  {stack.name}: {stack.miss}\n" for stack in stacks if stack.miss) or "  none\n", end="")
    sys.exit(bool(wrong))


def wheels(options):
    return os.path.join(options.out, "wheels")


def wheel(pin, directory):
    """The file of a pinned distribution; none if it is not there yet."""
    name, version = pin.split("==")
    found = (path for path in glob.glob(os.path.join(directory, "*.whl")) if os.path.basename(path).split("-")[1] == version)
    return next((path for path in found if rootfs.distribution(path) == name.lower().replace("-", "_")), None)


def fetch(pins, directory):
    """Downloads what is not there yet: one call of pip for as many as have different names."""
    left = sorted(pin for pin in pins if not wheel(pin, directory))
    while left:
        batch = {pin.split("==")[0]: pin for pin in left}
        rootfs.pip_download(batch.values(), directory, "3.11", dependencies=False)
        left = [pin for pin in left if pin not in batch.values()]


def judge(stack, options):
    """What differs from the list."""
    base = loader_images.default_directory()
    base = os.path.join(base, stack.base, "root") if stack.base else os.path.join(base, "base", "bookworm")
    with tempfile.TemporaryDirectory(dir=options.out, prefix=".root-") as work:
        root = os.path.join(work, "root")
        rootfs.copy_tree(base, root)
        for pin in stack.wheels.split():
            install(wheel(pin, wheels(options)), root)
        says, rules = run_python(root, stack.program), run_imgcheck(options.imgcheck, root)
        fails = run_preflight(options.imgcheck, root, stack.program)
    shown = " ".join(sorted(rules)) or "nothing"
    print(f"{stack.name}\n  python: {says or 'works'}\n  imgcheck: {shown}", flush=True)
    wrong = []
    if not (says.startswith(stack.says) if stack.says else says == ""):
        wrong.append(f"python says {says!r}, and not {stack.says!r}")
    wrong += [f"FALSE ALARM: {rule}" for rule in rules - set(stack.rules)]
    wrong += [f"no finding: {rule}" for rule in set(stack.rules) - rules]
    if fails and not says:
        wrong.append("FALSE ALARM: a container with this program")
    if not fails and says.startswith("ImportError: lib") and "cannot open shared object file" in says:
        wrong.append("no finding: a container with this program")
    for line in wrong:
        print(f"  WRONG in {stack.name}: {line}", flush=True)
    return wrong


def install(path, root):
    """Unpacks a wheel as pip does: the files of a later one replace those of an earlier one."""
    site = os.path.join(root, SITE)
    with zipfile.ZipFile(path) as archive:
        own = archive.namelist()
        name = rootfs.distribution(path)
        for old in glob.glob(os.path.join(site, "*.dist-info")):
            if rootfs.distribution(old) == name:
                subprocess.run(["rm", "-rf", old, *(os.path.join(site, it) for it in {name, f"{name}.libs"})], check=True)
        for member in own:
            target = os.path.join(site, member)
            if os.path.isfile(target):
                os.remove(target)  # a hard link of the base
            archive.extract(member, site)


def run_python(root, program):
    """The last line that it prints when it fails; empty if it succeeds."""
    # ONNX Runtime reads /sys.
    script = 'mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; exec chroot "$1" /usr/bin/env -i "$2" python3 -B -c "$3"'
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", root, PATH, program]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    lines = done.stderr.strip().splitlines()
    return (lines[-1] if lines else f"exit code {done.returncode}") if done.returncode else ""


def run_imgcheck(imgcheck, root):
    """The rules of its errors and warnings."""
    command = [imgcheck, "--no-config", "--no-cache", "--format", "json", f"dir:{root}"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    images = json.loads(done.stdout)["images"]
    findings = [finding for image in images for finding in image["findings"]]
    return {finding["rule"] for finding in findings if finding["severity"] in ("error", "warning")}


def run_preflight(imgcheck, root, program):
    """Whether it says that an import of a container with this program fails."""
    container = {"name": "c", "image": "stack", "command": ["python3", "-c", program]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    directory = os.path.dirname(root)
    for name, content in [("pod.json", pod), ("images.yaml", {"stack": f"dir:{root}"})]:
        with open(os.path.join(directory, name), "w") as file:
            json.dump(content, file)
    images, manifest = (os.path.join(directory, name) for name in ("images.yaml", "pod.json"))
    command = [imgcheck, "preflight", "--no-config", "--no-cache", "--format", "json", "--images", images, manifest]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    findings = json.loads(done.stdout)["workloads"][0]["containers"][0]["findings"]
    return any((it["rule"], it["severity"]) == ("python-import-fails", "error") for it in findings)


if __name__ == "__main__":
    main()
