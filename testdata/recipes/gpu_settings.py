#!/usr/bin/env python3
"""Settings on a machine with a GPU: which operations of PyTorch, JAX and CuPy fail with each value of an environment variable.

    python3 testdata/recipes/gpu_settings.py --out testdata/gpu-settings.csv

Each operation runs in a process of its own, with an empty cache of Triton: a kernel that was compiled before hides a missing compiler.
docs/src/gpu-faults.md says what this showed on one machine.
"""

import argparse
import concurrent.futures
import csv
import os
import subprocess
import sys
import tempfile

CUDA = "import torch; x = torch.rand(256, 256, device='cuda')\n"
OPERATIONS = {
    "import": "import torch",
    "cuda": "import torch; torch.cuda.init()",
    "matmul": CUDA + "(x @ x).sum().item()",
    "pinned": CUDA + "torch.rand(8).pin_memory()",
    "nccl": CUDA + "import os, torch.distributed as t\nos.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT=os.environ['PORT'])\n"
            "t.init_process_group('nccl', rank=0, world_size=1); t.all_reduce(x); x.sum().item(); t.destroy_process_group()",
    "triton": CUDA + "torch.compile(lambda x: torch.sin(x) + 1)(x).sum().item()",
    "jax": "import jax; y = jax.numpy.ones(8).sum().block_until_ready(); print(jax.default_backend())",
    "cupy": "import cupy; print(float(cupy.ones(8).sum()))",
}
TORCH, COMPILE, NCCL = ["import", "cuda", "matmul", "pinned"], ["cuda", "triton"], ["cuda", "nccl"]
ALLOCATOR = [
    "", "True", "expandable_segment:True", "expandable_segments:True", "expandable_segments:true", "expandable_segments:1", "expandable_segments=True",
    "expandable_segments", "expandable_segments:", "expandable_segments :True", "max_split_size_mb:ten", "max_split_size_mb:10", "max_split_size_mb:20",
    "max_split_size_mb:21", "max_split_size_mb:128MB", "max_split_size_mb: 128", "max_split_size_mb:-1", "max_split_size_mb:128,", ",max_split_size_mb:128",
    "max_split_size_mb:128;expandable_segments:True", "max_split_size_mb:128,expandable_segments:True", "max_split_size_mb:12.5",
    "garbage_collection_threshold:0.8", "garbage_collection_threshold:1.5", "garbage_collection_threshold:0", "garbage_collection_threshold:x",
    "roundup_power2_divisions:8", "roundup_power2_divisions:3", "roundup_power2_divisions:[256:1,512:2,>:4]", "roundup_power2_divisions:[256:3]",
    "roundup_bypass_threshold_mb:64", "backend:native", "backend:cudaMallocAsync", "backend:foo", "release_lock_on_cudamalloc:True",
    "pinned_use_cuda_host_register:True", "pinned_use_cuda_host_register:yes", "pinned_num_register_threads:8", "pinned_num_register_threads:3",
    "pinned_num_register_threads:256", "pinned_use_background_threads:True", "pinned_reserve_segment_size_mb:64",
    "graph_capture_record_stream_reuse:True", "per_process_memory_fraction:0.5", "per_process_memory_fraction:2", "large_segment_size_mb:64",
    "throw_on_cudamalloc_oom:True", "use_hip:True", "Expandable_Segments:True",
]
SETTINGS = [("PYTORCH_ALLOC_CONF", it, TORCH) for it in ALLOCATOR] + [
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segment:True", TORCH), ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:ten", TORCH),
    *(("CUDA_DEVICE_ORDER", it, ["import", "cuda", "jax", "cupy"]) for it in ("PCI", "PCI_BUS_ID", "FASTEST_FIRST", "pci_bus_id", "fastest_first", "", " PCI_BUS_ID")),
    *(("CUDA_VISIBLE_DEVICES", it, ["cuda", "jax", "cupy"]) for it in ("GPU-00000000", "0,0", "0,1", "7", "a", "0,a", "1,0", "all", "MIG-1")),
    *(("CUDA_FORCE_PTX_JIT", it, ["cuda", "matmul", "jax", "cupy"]) for it in ("1", "0", "2", "true")),
    ("CUDA_DISABLE_PTX_JIT", "1", ["matmul", "triton", "jax"]),
    *(("CUDA_MODULE_LOADING", it, TORCH) for it in ("EAGER", "LAZY", "FOO")), *(("CUDA_DEVICE_MAX_CONNECTIONS", it, TORCH) for it in ("0", "33", "x")),
    ("CUDA_CACHE_PATH", "/nope", TORCH), ("CUDA_CACHE_DISABLE", "1", ["triton"]), ("CUDA_LAUNCH_BLOCKING", "1", TORCH), ("CUDA_LAUNCH_BLOCKING", "x", TORCH),
    ("CUBLAS_WORKSPACE_CONFIG", "foo", TORCH), ("CUBLAS_WORKSPACE_CONFIG", ":4096:8", TORCH), ("NVIDIA_TF32_OVERRIDE", "x", TORCH),
    *(("NCCL_NET", it, NCCL) for it in ("IB", "Socket", "Foo", "socket", "AWS Libfabric")),
    *(("NCCL_SOCKET_IFNAME", it, NCCL) for it in ("eth9", "lo", "^eth9", "=lo", "^lo", "")), ("NCCL_SOCKET_FAMILY", "AF_FOO", NCCL), ("NCCL_SOCKET_FAMILY", "AF_INET6", NCCL),
    ("NCCL_IB_HCA", "mlx9", NCCL), ("NCCL_IB_DISABLE", "1", NCCL), ("NCCL_IB_DISABLE", "x", NCCL), ("NCCL_DEBUG", "foo", NCCL), ("NCCL_PROTO", "foo", NCCL),
    ("NCCL_ALGO", "foo", NCCL), ("NCCL_CONF_FILE", "/nope", NCCL), ("NCCL_TOPO_FILE", "/nope", NCCL), ("NCCL_GRAPH_FILE", "/nope", NCCL),
    ("NCCL_COMM_ID", "foo", NCCL), ("NCCL_NVLS_ENABLE", "x", NCCL), ("NCCL_P2P_LEVEL", "FOO", NCCL), ("NCCL_MIN_NCHANNELS", "x", NCCL), ("NCCL_BUFFSIZE", "1", NCCL),
    ("NCCL_NET_PLUGIN", "none", NCCL), ("NCCL_PROFILER_PLUGIN", "nothere", NCCL), ("NCCL_LAUNCH_MODE", "FOO", NCCL), ("NCCL_CROSS_NIC", "9", NCCL),
    ("TORCH_DISTRIBUTED_DEBUG", "foo", NCCL), ("TORCH_DISTRIBUTED_DEBUG", "info", NCCL), ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "x", NCCL), ("TORCH_NCCL_BLOCKING_WAIT", "x", NCCL),
    ("TORCH_NCCL_ENABLE_MONITORING", "x", NCCL), ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "x", NCCL), ("TORCH_NCCL_TRACE_BUFFER_SIZE", "x", NCCL),
    ("NCCL_ASYNC_ERROR_HANDLING", "x", NCCL), ("NCCL_BLOCKING_WAIT", "x", NCCL), ("GLOO_SOCKET_IFNAME", "eth9", NCCL),
    *(("CC", it, COMPILE) for it in ("/nope/gcc", "nope", "gcc", "")), ("CXX", "/nope/g++", COMPILE), ("TRITON_CACHE_DIR", "/proc/x", COMPILE),
    ("TORCHINDUCTOR_CACHE_DIR", "/proc/x", COMPILE), ("TRITON_PTXAS_PATH", "/nope", COMPILE), ("TRITON_HOME", "/proc", COMPILE), ("TRITON_LIBCUDA_PATH", "/nope", COMPILE),
    ("TRITON_INTERPRET", "1", COMPILE), ("TRITON_DEFAULT_BACKEND", "foo", COMPILE), ("TRITON_OVERRIDE_ARCH", "foo", COMPILE), ("HOME", "/nonexistent", COMPILE),
    ("TMPDIR", "/nonexistent", COMPILE), ("TORCH_LOGS", "nosuch", COMPILE), ("TORCH_LOGS", "+dynamo", COMPILE), ("TORCHDYNAMO_DISABLE", "1", COMPILE),
    ("TORCH_COMPILE_DISABLE", "1", COMPILE), ("TORCHINDUCTOR_COMPILE_THREADS", "x", COMPILE), ("TORCHINDUCTOR_MAX_AUTOTUNE", "x", COMPILE),
    ("TORCHINDUCTOR_WORKER_START", "foo", COMPILE), ("TORCH_COMPILE_BACKEND", "foo", COMPILE), ("PYTORCH_NVML_BASED_CUDA_CHECK", "1", TORCH),
    ("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", "x", TORCH), ("TORCH_CPP_LOG_LEVEL", "foo", TORCH), ("TORCH_USE_RTLD_GLOBAL", "1", TORCH), ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "x", TORCH),
    ("TORCH_BLAS_PREFER_CUBLASLT", "x", TORCH), ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", TORCH), ("PYTORCH_KERNEL_CACHE_PATH", "/nope", TORCH), ("TORCH_DEVICE_BACKEND_AUTOLOAD", "x", TORCH),
    ("MKL_THREADING_LAYER", "FOO", TORCH), ("MKL_THREADING_LAYER", "TBB", TORCH), ("KMP_AFFINITY", "foo", TORCH), ("OMP_NUM_THREADS", "0", TORCH), ("MKL_NUM_THREADS", "x", TORCH),
    ("OMP_PROC_BIND", "foo", TORCH), ("PYTORCH_JIT", "0", TORCH), ("TORCH_SHOW_CPP_STACKTRACES", "x", TORCH), ("CUDA_PATH", "/nope", ["cupy"]), ("CUDA_HOME", "/nope", ["cupy"]),
    *(("XLA_FLAGS", it, ["jax"]) for it in ("--nosuch", "--xla_gpu_nosuch=1", "--xla_gpu_cuda_data_dir=/nope", "--xla_gpu_autotune_level=x", "--xla_gpu_autotune_level=4", "")),
    *(("JAX_PLATFORMS", it, ["jax"]) for it in ("gpu", "cuda", "cpu", "nosuch", "cuda,cpu", "rocm", "tpu", "")), ("JAX_PLATFORM_NAME", "nosuch", ["jax"]), ("JAX_PLATFORM_NAME", "gpu", ["jax"]),
    ("JAX_ENABLE_X64", "maybe", ["jax"]), ("JAX_ENABLE_X64", "1", ["jax"]), ("JAX_DEFAULT_MATMUL_PRECISION", "foo", ["jax"]), ("JAX_COMPILATION_CACHE_DIR", "/proc/x", ["jax"]),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "x", ["jax"]), ("XLA_PYTHON_CLIENT_MEM_FRACTION", "1.5", ["jax"]), ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".95", ["jax"]),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "foo", ["jax"]), ("XLA_PYTHON_CLIENT_PREALLOCATE", "maybe", ["jax"]), ("XLA_PYTHON_CLIENT_PREALLOCATE", "false", ["jax"]),
    ("JAX_CUDA_VISIBLE_DEVICES", "7", ["jax"]), ("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "x", ["jax"]), ("TF_CPP_MIN_LOG_LEVEL", "x", ["jax"]),
    ("CUPY_ACCELERATORS", "foo", ["cupy"]), ("CUPY_ACCELERATORS", "cub,cutensor", ["cupy"]), ("CUPY_CACHE_DIR", "/proc/x", ["cupy"]), ("CUPY_TF32", "x", ["cupy"]),
    ("CUPY_GPU_MEMORY_LIMIT", "x", ["cupy"]), ("CUPY_GPU_MEMORY_LIMIT", "200%", ["cupy"]), ("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "x", ["cupy"]),
]


def runs(number, variable, value, name):
    """What the operation prints last, and whether it fails."""
    with tempfile.TemporaryDirectory() as cache:
        caches = {"TRITON_CACHE_DIR": f"{cache}/triton", "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor", "PORT": str(20000 + number % 20000)}
        environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **caches, variable: value}
        try:
            run = subprocess.run([sys.executable, "-c", OPERATIONS[name]], capture_output=True, text=True, timeout=240, env=environment)
        except subprocess.TimeoutExpired:
            return "HANGS", ""
    lines = [it for it in (run.stderr if run.returncode else run.stdout).strip().splitlines() if it.strip()]
    shown = max(lines, key=lambda it: ("Error" in it or "rror:" in it, 1)) if lines and run.returncode else (lines or [""])[-1]
    return ("" if run.returncode == 0 else f"EXIT {run.returncode}"), shown.strip()[:200]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="/dev/stdout")
    parser.add_argument("--jobs", type=int, default=8, help="operations at the same time")
    options = parser.parse_args()
    rows = [("UNTOUCHED", "1", name) for name in OPERATIONS] + [(variable, value, name) for variable, value, names in SETTINGS for name in names]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["variable", "value", "operation", "exit", "prints"])
        for row, found in zip(rows, pool.map(lambda it: runs(it[0], *it[1]), enumerate(rows))):
            table.writerow([*row, *found])
            out.flush()


if __name__ == "__main__":
    main()
