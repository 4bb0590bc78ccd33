#!/usr/bin/env python3
"""Single faults in a PyTorch environment on a machine with a GPU: what fails when sixteen operations run, and what imgcheck says.

    python3 -m venv /tmp/faults && /tmp/faults/bin/pip install torch     # an environment that may be damaged
    python3 testdata/recipes/gpu_faults.py /tmp/faults --imgcheck target/release/imgcheck --out faults.csv

Each fault is made in place (a file is moved away, replaced or cut), every operation runs in a process of its own, imgcheck judges the
root directory with the environment, and the fault is undone. `--donor nvidia-cudnn-cu13==9.22.0.52=libcudnn_cnn.so.9` replaces a library
by that of another release. Nothing else on the machine is touched. docs/src/gpu-faults.md has the results of one machine.
"""

import argparse
import contextlib
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

GPU = "import torch; d = 'cuda'; r = lambda *n: torch.rand(*n, device=d)\n"
LINEAR = "a = r(64, 64); a = a @ a.T + 64 * torch.eye(64, device=d)\n"
OPERATIONS = {
    "import": "import torch; assert torch.cuda.is_available()",
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
}
# A pattern of the file below site-packages, and what happens to it.
FAULTS = [(pattern, "without") for pattern in (
    "nvidia/cudnn/lib/libcudnn.so.*", "nvidia/cudnn/lib/libcudnn_graph.so.*", "nvidia/cudnn/lib/libcudnn_ops.so.*",
    "nvidia/cudnn/lib/libcudnn_adv.so.*", "nvidia/cudnn/lib/libcudnn_cnn.so.*", "nvidia/cudnn/lib/libcudnn_heuristic.so.*",
    "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.*", "nvidia/cudnn/lib/libcudnn_engines_runtime_compiled.so.*",
    "nvidia/*/lib/libnvrtc.so.*", "nvidia/*/lib/libnvrtc-builtins.so.*", "nvidia/*/lib/libnvJitLink.so.*", "nvidia/*/lib/libcublasLt.so.*",
    "nvidia/*/lib/libcufft.so.*", "nvidia/*/lib/libcurand.so.*", "nvidia/*/lib/libcusolver.so.*", "nvidia/*/lib/libcusparse.so.*",
    "nvidia/*/lib/libcusparseLt.so.*", "nvidia/*/lib/libcudart.so.*", "nvidia/*/lib/libcupti.so.*", "nvidia/*/lib/libcufile.so.*",
    "nvidia/*/lib/libnccl.so.*", "nvidia/*/lib/libnvshmem_host.so.*", "torch/lib/libtorch_cuda_linalg.so",
)] + [("nvidia/*/lib/libcublas.so.*", "cut")]


@contextlib.contextmanager
def broken(file, how, donor=None):
    """The file is damaged within, and as it was afterwards."""
    kept = file.with_name(file.name + ".kept")
    file.rename(kept)
    try:
        if how == "cut":
            file.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
        elif how == "replaced":
            shutil.copy(donor, file)
        yield
    finally:
        kept.replace(file)


def fails(python, environment):
    """The operations that fail, each with the last line that Python prints."""
    failed = {}
    for name, program in OPERATIONS.items():
        run = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=600, env=environment)
        if run.returncode:
            lines = run.stderr.strip().splitlines()
            failed[name] = f"EXIT {run.returncode}" if run.returncode < 0 or not lines else lines[-1][:160]
    return failed


def findings(imgcheck, root):
    """The errors and warnings of imgcheck about a root directory."""
    run = subprocess.run([imgcheck, "check", f"dir:{root}", "-f", "json", "--no-config"], capture_output=True, text=True)
    found = json.loads(run.stdout)["images"][0]["findings"]
    return sorted({f"{it['rule']} ({it['severity']})" for it in found if it["severity"] != "note"})


def donated(requirement, directory):
    """A library of another release: `nvidia-cudnn-cu13==9.22.0.52=libcudnn_cnn.so.9`."""
    package, name = requirement.rsplit("=", 1)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", directory, package], check=True)
    with zipfile.ZipFile(next(pathlib.Path(directory).glob("*.whl"))) as wheel:
        member = next(it for it in wheel.namelist() if it.endswith("/" + name))
        return name, pathlib.Path(wheel.extract(member, directory))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=pathlib.Path)
    parser.add_argument("--imgcheck", default="imgcheck")
    parser.add_argument("--root", default="/", help="the root directory that imgcheck judges")
    parser.add_argument("--donor", action="append", default=[])
    parser.add_argument("--out", default="/dev/stdout")
    options = parser.parse_args()
    python = options.environment / "bin/python"
    site = next(options.environment.glob("lib/python3*/site-packages"))
    with tempfile.TemporaryDirectory() as downloads, open(options.out, "w", newline="") as out:
        faults = [(file, how, None) for pattern, how in FAULTS for file in sorted(site.glob(pattern))]
        for number, requirement in enumerate(options.donor):
            name, donor = donated(requirement, f"{downloads}/{number}")
            faults += [(file, "replaced", donor) for file in sorted(site.glob(f"nvidia/*/lib/{name}"))]
        table = csv.writer(out)
        table.writerow(["fault", "failed", "imgcheck"])
        table.writerow(["untouched", fails(python, os.environ), findings(options.imgcheck, options.root)])
        for file, how, donor in faults:
            with broken(file, how, donor):
                table.writerow([f"{how} {file.name}", fails(python, os.environ), findings(options.imgcheck, options.root)])
            out.flush()


if __name__ == "__main__":
    main()
