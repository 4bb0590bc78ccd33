"""Compares `imgcheck tree --python` with CPython: what each of many packages can do without.

    python_imports.py IMGCHECK DIRECTORY [PACKAGE...]

installs each package of python_packages.txt with what it requires, as published, over the Python of this Debian in DIRECTORY/root. Then it
takes away one thing at a time, runs the import in a chroot, asks imgcheck, and puts it back: each distribution that the package requires,
and some of the modules that the import loads. It prints every case in which they differ, and writes the counts of each program to
DIRECTORY/results.csv. What CPython says is kept in DIRECTORY/cpython.json for the next time. It must run as root, on Debian 12, with uv.
"""

import collections
import csv
import email.parser
import glob
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
SITE = "usr/local/lib/python3.11/dist-packages"
NEWEST = "2026-11-27"
FILES_OF_EACH = 2
LOADED = "import sys; __import__({!r}); print('\\n'.join(str(getattr(m, '__file__', None)) for m in list(sys.modules.values())))"
IN_ROOT = 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/python3 -B -W ignore -c "$1"'
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}


def packages():
    with open(os.path.join(HERE, "python_packages.txt")) as file:
        return [tuple(line.split()) for line in file if not line.startswith("#")]


def make_root(root):
    if os.path.isdir(os.path.join(root, "usr/lib/python3.11")):
        return
    for directory in ["usr/bin", "tmp", "proc", "dev", os.path.dirname(SITE)]:
        os.makedirs(os.path.join(root, directory), exist_ok=True)
    shutil.copy("/usr/bin/python3.11", os.path.join(root, "usr/bin/python3.11"))
    os.symlink("python3.11", os.path.join(root, "usr/bin/python3"))
    standard = os.path.join(root, "usr/lib/python3.11")
    shutil.copytree("/usr/lib/python3.11", standard, ignore=shutil.ignore_patterns("__pycache__", "test", "config-*"))
    libraries = glob.glob("/lib/x86_64-linux-gnu/lib[a-z]*.so.[0-9]*")
    system = "libc libm libpthread librt libdl libutil libresolv libz libexpat libssl libcrypto libffi libbz2 liblzma libsqlite3 libuuid"
    system = {*system.split(), "libgcc_s", "libstdc++", "libreadline", "libtinfo", "libncursesw", "libcrypt", "libgomp", "libnss_files"}
    for library in libraries:
        if os.path.basename(library).split(".so")[0] in system:
            copy_into(root, library)
    copy_into(root, "/lib64/ld-linux-x86-64.so.2")
    for name, minor in [("null", 3), ("zero", 5), ("urandom", 9)]:
        os.mknod(os.path.join(root, "dev", name), 0o666 | stat.S_IFCHR, os.makedev(1, minor))


def copy_into(root, path):
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(os.path.realpath(path), target)


def install(directory, package):
    """The directory with a package and what it requires; None if that cannot be installed."""
    target = os.path.join(directory, "stacks", package)
    if os.path.isdir(target):
        return target
    uv = shutil.which("uv") or os.path.join(sysconfig.get_path("scripts"), "uv")
    command = [uv, "pip", "install", "--quiet", "--target", target + ".new", "--cache-dir", os.path.join(directory, "cache")]
    command += ["--python", "/usr/bin/python3.11", "--only-binary", ":all:", "--exclude-newer", NEWEST, "--link-mode", "hardlink", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"not installed: {package}: {done.stderr}", flush=True)
        return None
    os.rename(target + ".new", target)
    return target


def normalized(name):
    return re.sub("[-_.]+", "-", name).lower()


def distributions(site):
    """The metadata of each distribution by its normalized name, and its files."""
    found = {}
    for directory in sorted(glob.glob(os.path.join(site, "*.dist-info"))):
        with open(os.path.join(directory, "METADATA"), encoding="utf-8") as file:
            metadata = email.parser.HeaderParser().parse(file)
        with open(os.path.join(directory, "RECORD"), newline="") as file:
            paths = [row[0] for row in csv.reader(file) if row]
        paths = [path for path in paths if not path.startswith("..") and os.path.lexists(os.path.join(site, path))]
        found[normalized(metadata["Name"])] = metadata, paths
    return found


def move(files, source, target):
    """Moves files. Directories that become empty go as well, as with `pip uninstall`."""
    for path in files:
        os.renames(os.path.join(source, path), os.path.join(target, path))


class Comparison:
    def __init__(self, imgcheck, directory):
        self.imgcheck = imgcheck
        self.directory = directory
        self.root = os.path.join(directory, "root")
        self.site = os.path.join(self.root, SITE)
        self.answers = os.path.join(directory, "cpython.json")
        self.known = json.load(open(self.answers)) if os.path.exists(self.answers) else {}
        self.results = []

    def run(self, code):
        command = ["unshare", "--mount", "sh", "-c", IN_ROOT, self.root, code]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=120)

    def loaded_files(self, program):
        """The sources of packages that an import executes."""
        key = f"{program} loads"
        if key not in self.known:
            paths = [path.lstrip("/") for path in self.run(LOADED.format(program)).stdout.split("\n")]
            start = SITE + "/"
            self.known[key] = sorted({path[len(start) :] for path in paths if path.startswith(start) and path.endswith(".py")})
        return self.known[key]

    def python(self, program, case):
        """The last line that CPython prints; empty if the import succeeds."""
        key = f"{program} without {case}"
        if key not in self.known:
            done = self.run(f"import {program}")
            self.known[key] = (done.stderr.strip().split("\n")[-1] or "?") if done.returncode else ""
        return self.known[key]

    def asked(self, program):
        command = [self.imgcheck, "tree", self.root, "--python", program, "--format", "json", "--no-cache"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{program}: {done.stderr}")
        programs = json.loads(done.stdout)["images"][0]["programs"]
        return [failure for it in programs for failure in it["failures"]]

    def compare(self, program, case, counts):
        real = self.python(program, case)
        failures = self.asked(program)
        counts[bool(failures), bool(real)] += 1
        if bool(failures) != bool(real):
            print(f"{'false alarm' if failures else 'missed'}: {program} without {case}: {failures} / {real}", flush=True)
        elif failures:
            same = any(word in failures[0] for word in real.split("'")[1::2])
            counts["named" if same else "not named"] += 1
        return not real

    def vary(self, package, program, counts):
        installed = distributions(self.site)
        requires = installed[normalized(package)][0].get_all("Requires-Dist", [])
        required = {normalized(re.match("[A-Za-z0-9._-]+", text)[0]) for text in requires}
        others = {name: installed[name][1] for name in sorted(required) if name in installed and name != normalized(package)}
        # Without the program itself, nothing is left to import.
        files = [path for path in self.loaded_files(program) if path != program + ".py"]
        chosen = random.Random(program).sample(files, min(FILES_OF_EACH, len(files)))
        cases = [*others.items(), *((path, [path]) for path in chosen)]
        aside = os.path.join(self.directory, "aside")
        for case, files in cases:
            move(files, self.site, aside)
            try:
                self.compare(program, case, counts)
            finally:
                move(files, aside, self.site)

    def package(self, package, program):
        stack = install(self.directory, package)
        if stack is None:
            return
        shutil.rmtree(self.site, ignore_errors=True)
        subprocess.run(["cp", "-al", stack, self.site], check=True)
        counts = collections.Counter()
        if self.compare(program, "nothing", counts):
            self.vary(package, program, counts)
        version = distributions(self.site)[normalized(package)][0]["Version"]
        alarms, misses, right = counts[True, False], counts[False, True], counts[True, True]
        cases = sum(count for key, count in counts.items() if isinstance(key, tuple))
        self.results.append([package, version, program, cases, right + misses, right, alarms, counts["named"]])
        with open(self.answers, "w") as file:
            json.dump(self.known, file, indent=0)


def main():
    imgcheck, directory, *named = sys.argv[1:]
    comparison = Comparison(imgcheck, os.path.abspath(directory))
    make_root(comparison.root)
    for package, program in packages():
        if not named or package in named:
            comparison.package(package, program)
    columns = ["package", "version", "program", "cases", "fail in CPython", "found", "false alarms", "same words"]
    with open(os.path.join(directory, "results.csv"), "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *comparison.results])
    total = [sum(row[at] for row in comparison.results) for at in range(3, 8)]
    cases, failing, right, alarms, words = total
    names = len({row[0] for row in comparison.results})
    print(f"{len(comparison.results)} programs of {names} packages, {cases} cases, {failing} fail in CPython")
    print(f"{right} of {right + alarms} failures of imgcheck are right, {right} of {failing} are found")
    print(f"{words} name the module or name of CPython's message, {right - words} another")


if __name__ == "__main__":
    main()
