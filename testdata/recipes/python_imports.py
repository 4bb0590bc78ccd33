"""Compares `imgcheck tree --python` with CPython: what each of many packages can do without.

    python_imports.py IMGCHECK DIRECTORY

makes DIRECTORY/root, the Python of this Debian with published wheels, unless it is there. Then, for each package, it takes away one module at
a time of those that `import PACKAGE` loads, runs the import in a chroot, asks imgcheck, and puts the module back. It prints every case in
which they differ, and how many there are of each kind. It must run as root, on Debian 12.
"""

import collections
import glob
import json
import os
import random
import shutil
import subprocess
import sys

SITE = "usr/local/lib/python3.11/dist-packages"
WHEELS = """
    aiohttp==3.14.5 click==8.5.1 fastapi==0.165.0 filelock==4.3.1 flask==3.1.3 fsspec==2026.9.0 httpx==0.28.1 huggingface_hub==0.36.2 jinja2==3.1.6
    networkx==3.6.1 numpy==2.2.6 pydantic==2.14.4 pyyaml==6.0.4 requests==2.34.2 rich==15.0.0 starlette==1.10.0 sympy==1.14.0 tqdm==4.70.1
    transformers==4.46.3 typer==0.29.2 uvicorn==0.54.0
""".split()
PROGRAMS = """
    aiohttp click fastapi fastapi.testclient filelock flask fsspec httpx huggingface_hub jinja2 networkx numpy pydantic yaml requests rich.console
    starlette.applications starlette.testclient sympy tqdm transformers transformers.models.bert.modeling_bert transformers.modeling_utils
    transformers.tokenization_utils_base typer uvicorn.main numpy.testing pydantic.v1 huggingface_hub.hf_api fsspec.implementations.http
    urllib3 werkzeug anyio httpcore tokenizers safetensors.numpy safetensors.torch markdown_it
""".split()
FILES_OF_EACH = 4
LOADED = "import sys; __import__({!r}); print('\\n'.join(str(getattr(m, '__file__', None)) for m in list(sys.modules.values())))"


def make_root(root):
    if os.path.isdir(os.path.join(root, SITE)):
        return
    os.makedirs(os.path.join(root, "usr/bin"), exist_ok=True)
    os.makedirs(os.path.join(root, "tmp"), exist_ok=True)
    shutil.copy("/usr/bin/python3.11", os.path.join(root, "usr/bin/python3.11"))
    os.symlink("python3.11", os.path.join(root, "usr/bin/python3"))
    shutil.copytree("/usr/lib/python3.11", os.path.join(root, "usr/lib/python3.11"), ignore=shutil.ignore_patterns("__pycache__"))
    libraries = glob.glob("/lib/x86_64-linux-gnu/lib[a-z]*.so.[0-9]*")
    system = "libc libm libpthread librt libdl libutil libresolv libz libexpat libssl libcrypto libffi libbz2 liblzma libsqlite3 libuuid"
    system = {*system.split(), "libgcc_s", "libstdc++", "libreadline", "libtinfo", "libncursesw", "libcrypt"}
    for library in libraries:
        if os.path.basename(library).split(".so")[0] in system:
            copy_into(root, library)
    copy_into(root, "/lib64/ld-linux-x86-64.so.2")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", "--python-version", "3.11"]
    platforms = ["--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64"]
    subprocess.run([*command, *platforms, "--target", os.path.join(root, SITE), *WHEELS], check=True)


def copy_into(root, path):
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(os.path.realpath(path), target)


def run(root, code):
    command = ["chroot", root, "/usr/bin/python3", "-B", "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def loaded_files(root, program):
    """The files below the packages that an import executes, and the top-level modules that they are in."""
    shown = run(root, LOADED.format(program)).stdout.split("\n")
    files = sorted({path.lstrip("/") for path in shown if path.lstrip("/").startswith(SITE + "/")})
    tops = sorted({SITE + "/" + path[len(SITE) + 1 :].split("/")[0] for path in files})
    return files, tops


def asked(imgcheck, root, program):
    command = [imgcheck, "tree", root, "--python", program, "--format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    programs = json.loads(done.stdout)["images"][0]["programs"]
    return [failure for it in programs for failure in it["failures"]]


def compare(imgcheck, root, program, counts, case):
    done = run(root, f"import {program}")
    failures = asked(imgcheck, root, program)
    kind = (bool(failures), done.returncode != 0)
    counts[kind] += 1
    if kind[0] != kind[1]:
        last = done.stderr.strip().split("\n")[-1]
        print(f"{'false alarm' if failures else 'missed'}: {program} without {case}: {failures} / {last}", flush=True)
    elif failures:
        words = done.stderr.strip().split("\n")[-1].split("'")[1::2]
        same = any(word in failures[0] for word in words)
        counts["named" if same else "not named"] += 1


def main():
    imgcheck, directory = sys.argv[1:]
    root = os.path.join(directory, "root")
    make_root(root)
    chosen = random.Random(1)
    counts = collections.Counter()
    for program in PROGRAMS:
        compare(imgcheck, root, program, counts, "anything less")
        files, tops = loaded_files(root, program)
        own = SITE + "/" + program.split(".")[0]
        cases = [top for top in tops if top != own and top != own + ".py"]
        files = [path for path in files if path.endswith(".py") and path not in tops]
        cases += chosen.sample(files, min(FILES_OF_EACH, len(files)))
        for case in cases:
            path = os.path.join(root, case)
            aside = os.path.join(directory, "aside")
            os.rename(path, aside)
            try:
                compare(imgcheck, root, program, counts, case)
            finally:
                os.rename(aside, path)
    alarms, misses, right = counts[(True, False)], counts[(False, True)], counts[(True, True)]
    print(f"{sum(v for k, v in counts.items() if isinstance(k, tuple))} cases, {right + misses} fail in CPython")
    print(f"{right} of {right + alarms} failures of imgcheck are right, {right} of {right + misses} are found")
    print(f"{counts['named']} name the module or name of CPython's message, {counts['not named']} another")


if __name__ == "__main__":
    main()
