#!/usr/bin/env python3
"""Single faults in a Python environment on a machine with a GPU: what fails when PyTorch, JAX and CuPy work, and what imgcheck says.

    python3 -m venv /tmp/faults && /tmp/faults/bin/pip install torch     # an environment that may be damaged
    python3 testdata/recipes/gpu_faults.py /tmp/faults --imgcheck target/release/imgcheck --out faults.csv

Each fault is made in place (a file is moved away, replaced or cut, a variable is set), every operation that works without it runs in a
process of its own with empty caches, imgcheck judges the root directory with the command and variables of that process, and the fault is
undone. `--groups library,module` and `--part 1/3` choose some of them. The group `tool` moves compilers and headers of the system: run
it as root of a machine that nobody else uses. `--donor nvidia-cudnn-cu13==9.22.0.52=libcudnn_cnn.so.9` replaces a library by that of
another release. What an interrupted run left is put back by the next. docs/src/gpu-faults.md has the results of some machines.
"""

import argparse
import concurrent.futures
import contextlib
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

from gpu_fault_list import faults

GPU = "import torch; d = 'cuda'; r = lambda *n: torch.rand(*n, device=d)\n"
LINEAR = "a = r(64, 64); a = a @ a.T + 64 * torch.eye(64, device=d)\n"
OPERATIONS = {
    "import": "import torch; assert torch.cuda.is_available()",
    "numpy": GPU + "r(8).cpu().numpy().sum()",
    "matmul": GPU + "(r(256, 256) @ r(256, 256)).sum().item()",
    "cublaslt": GPU + "torch.nn.functional.gelu(torch.addmm(r(256), r(256, 256), r(256, 256))).sum().item()",
    "conv": GPU + "torch.nn.functional.conv2d(r(4, 8, 32, 32), r(8, 8, 3, 3)).sum().item()",
    "lstm": GPU + "torch.nn.LSTM(16, 32).to(d)(r(5, 3, 16))[0].sum().item()",
    "sdpa": GPU + "import torch.nn.attention as n\nq = r(2, 8, 128, 64).half()\n"
            "with n.sdpa_kernel(n.SDPBackend.CUDNN_ATTENTION): torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().item()",
    "fft": GPU + "torch.fft.fft(r(1024)).abs().sum().item()",
    "solve": GPU + LINEAR + "torch.linalg.solve(a, r(64, 1)).sum().item()",
    "eigh": GPU + LINEAR + "torch.linalg.eigh(a)[0].sum().item()",
    "sparse": GPU + "(r(64, 64).to_sparse_csr() @ r(64, 64)).sum().item()",
    "semi-structured": GPU + "w = torch.tensor([0, 0, 1, 1], device=d).half().tile((128, 32))\n"
                       "(torch.sparse.to_sparse_semi_structured(w) @ r(128, 128).half()).sum().item()",
    "nvrtc": GPU + "torch.special.bessel_j0(r(64)).sum().item()",
    "random": GPU + "torch.randn(64, device=d).sum().item()",
    "nccl": GPU + "import os, torch.distributed as t\nos.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='29517')\n"
            "t.init_process_group('nccl', rank=0, world_size=1); x = r(8); t.all_reduce(x); x.sum().item(); t.destroy_process_group()",
    "profiler": GPU + "with torch.profiler.profile() as p: r(64).sum().item()\np.key_averages()",
    "triton": GPU + "torch.compile(lambda x: torch.sin(x) + 1)(r(1024)).sum().item()",
    "jax": "import jax; x = jax.numpy.ones((64, 64)); (x @ jax.numpy.sin(x)).sum().block_until_ready(); assert jax.default_backend() == 'gpu'",
    "cupy": "import cupy; x = cupy.arange(64.0); float((cupy.ElementwiseKernel('T x', 'T y', 'y = x * 3', 'three')(x) + cupy.sin(x)).sum())",
}
# What a program imports, and an operation that shows that it is there.
PROGRAMS = {"torch": "import", "jax": "jax", "cupy": "cupy"}
CACHES = ["TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "PYTORCH_KERNEL_CACHE_PATH", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH"]
KEPT = ".kept-by-gpu-faults"


@contextlib.contextmanager
def broken(fault, directory, journal):
    """The fault is there within; everything is as it was afterwards."""
    try:
        journal.write_text("\n".join(map(str, fault.paths)))
        for path in fault.paths:
            kept = path.with_name(path.name + KEPT)
            path.rename(kept)
            if fault.how == "cut":
                path.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
            elif fault.how == "replaced":
                shutil.copy(fault.donor, path)
        for name, text in fault.files.items():
            written(directory / name, text)
        yield
    finally:
        put_back(journal)
        shutil.rmtree(directory, ignore_errors=True)


def put_back(journal):
    """What a fault, or an interrupted run, moved away."""
    for line in journal.read_text().splitlines() if journal.exists() else []:
        path = pathlib.Path(line)
        kept = path.with_name(path.name + KEPT)
        if os.path.lexists(kept):
            kept.replace(path)
    journal.unlink(missing_ok=True)


def written(path, text):
    """A file with a text, or a library without a function."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or "")
    if text is None:
        subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", path], check=True)


class Machine:
    """An environment, and how its operations run and are judged."""

    def __init__(self, options):
        self.options = options
        self.python = options.environment.absolute() / "bin/python"
        self.journal = options.environment.absolute() / "moved-by-gpu-faults"
        self.works = list(OPERATIONS)
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    def run(self, name, environment, directory):
        """How an operation fails, empty if it does not, and what NCCL prints of its network."""
        with tempfile.TemporaryDirectory() as caches:
            own = {variable: os.path.join(caches, variable) for variable in CACHES}
            os.mkdir(own["PYTORCH_KERNEL_CACHE_PATH"])
            fixed = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
            environment = {**os.environ, **fixed, **own, **environment}
            try:
                command = [self.python, "-c", OPERATIONS[name]]
                run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=150, env=environment, cwd=directory)
            except subprocess.TimeoutExpired:
                return "HANGS", []
        network = re.findall(r"(?:NET/|TUNER/|PROFILER/|Using network).*", run.stdout + run.stderr)
        lines = [it for it in run.stderr.strip().splitlines() if it.strip()]
        last = max(lines, key=lambda it: "rror" in it.split(" ")[0], default="") if run.returncode > 0 else ""
        return (f"EXIT {run.returncode} {last[:160]}" if run.returncode else ""), network

    def fails(self, operations, environment=None, directory=None):
        """The operations that fail, how each does, and what NCCL prints of its network."""
        names = [name for name in self.works if operations is None or name in operations]
        runs = dict(zip(names, self.pool.map(lambda name: self.run(name, environment or {}, directory), names)))
        network = dict.fromkeys(line for _, lines in runs.values() for line in lines)
        return {name: failed for name, (failed, _) in runs.items() if failed}, list(network)

    def findings(self, operations, environment=None, directory=None):
        """What imgcheck says of the programs in a Pod with these variables."""
        programs = [name for name, shown in PROGRAMS.items() if shown in self.works and (operations is None or shown in operations)]
        variables = [{"name": name, "value": value} for name, value in (environment or {}).items()]
        containers = [
            {"name": name, "image": "machine:1", "env": variables, "command": [str(self.python), "-c", f"import {name}"],
             **({"workingDir": str(directory)} if directory else {})} for name in programs
        ]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "faults"}, "spec": {"containers": containers}}
        with tempfile.TemporaryDirectory() as inputs:
            manifest, images = pathlib.Path(inputs, "pod.json"), pathlib.Path(inputs, "images.yaml")
            manifest.write_text(json.dumps(pod))
            images.write_text(f"machine:1: dir:{self.options.root}\n")
            command = [self.options.imgcheck, "preflight", manifest, "--images", images, "-f", "json", "--no-config"]
            run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode not in (0, 1):
            return {("imgcheck", f"exit {run.returncode}", run.stderr.strip()[-200:])}
        return {(it["rule"], it["severity"], it["message"]) for it in objects(json.loads(run.stdout)) if {"rule", "severity", "message"} <= it.keys()}

    def judged(self, fault, directory):
        """What fails with a fault, what imgcheck says of it that it does not say without, and what NCCL prints."""
        def placed(text):
            return text.format(files=directory, environment=self.options.environment)
        environment = {name: placed(value) for name, value in fault.environment.items()}
        start = placed(fault.directory) or None
        with broken(fault, directory, self.journal):
            found = self.pool.submit(self.findings, fault.operations, environment, start)
            failed, network = self.fails(fault.operations, environment, start)
            return failed, found.result() - self.untouched, network if fault.group == "plugin" else []


def objects(value):
    """All objects of a JSON document."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from objects(inner)


def donated(requirement, directory):
    """A library of another release: `nvidia-cudnn-cu13==9.22.0.52=libcudnn_cnn.so.9`."""
    package, name = requirement.rsplit("=", 1)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", directory, package], check=True)
    with zipfile.ZipFile(next(pathlib.Path(directory).glob("*.whl"))) as wheel:
        member = next(it for it in wheel.namelist() if it.endswith("/" + name))
        return name, pathlib.Path(wheel.extract(member, directory))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=pathlib.Path)
    parser.add_argument("--imgcheck", default="imgcheck")
    parser.add_argument("--root", default="/", help="the root directory that imgcheck judges")
    parser.add_argument("--donor", action="append", default=[])
    parser.add_argument("--groups", default="library,module,path,tool,setting,plugin", help="the kinds of faults that are made")
    parser.add_argument("--part", default="1/1", help="2/3 makes every third fault, from the second")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="operations at the same time")
    parser.add_argument("--list", action="store_true", help="print the faults and make none")
    parser.add_argument("--out", default="/dev/stdout")
    return parser.parse_args()


def chosen(options, downloads):
    """The faults of this run."""
    code = "import sysconfig; it = sysconfig.get_paths(); print(it['purelib'], it['include'], sep='\\n')"
    paths = subprocess.run([options.environment / "bin/python", "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    donors = [donated(requirement, f"{downloads}/{number}") for number, requirement in enumerate(options.donor)]
    listed = faults(pathlib.Path(paths[0]), pathlib.Path(paths[1]), donors)
    part, parts = map(int, options.part.split("/"))
    return [it for it in listed if it.group in options.groups.split(",")][part - 1 :: parts]


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    machine = Machine(options)
    put_back(machine.journal)
    with tempfile.TemporaryDirectory() as downloads:
        some = chosen(options, downloads)
        if options.list:
            return print(*(f"{it.group}: {it.name}" for it in some), f"{len(some)} faults", sep="\n")
        with open(options.out, "w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["group", "fault", "failed", "imgcheck", "network"])
            failed, network = machine.fails(None)
            machine.works = [name for name in OPERATIONS if name not in failed]
            machine.untouched = machine.findings(None)
            table.writerow(["", "untouched", json.dumps(failed), json.dumps(sorted(machine.untouched)), json.dumps(network)])
            for fault in some:
                failed, found, network = machine.judged(fault, options.environment.absolute() / "files-of-gpu-faults")
                table.writerow([fault.group, fault.name, json.dumps(failed), json.dumps(sorted(found)), json.dumps(network)])
                out.flush()


if __name__ == "__main__":
    main()
