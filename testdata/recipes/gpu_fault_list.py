"""The single faults that gpu_faults.py makes: what happens to which file, or which variable is set, and which operations may fail."""

import dataclasses
import pathlib
import shutil

TORCH = ["import", "numpy", "matmul", "lstm", "nccl", "profiler", "triton"]
COMPILES = ["import", "matmul", "nvrtc", "triton", "jax", "cupy"]
PLUGIN = ["import", "nccl"]


@dataclasses.dataclass
class Fault:
    """One fault: files that are moved away, cut or replaced by `donor`, files in a directory of their own, or variables."""

    name: str
    group: str
    operations: list = None  # all, without a list
    paths: list = ()
    how: str = "without"
    donor: pathlib.Path = None
    files: dict = dataclasses.field(default_factory=dict)  # what is written below `{files}`; None is a library without a function
    environment: dict = dataclasses.field(default_factory=dict)  # `{files}` and `{environment}` are directories
    directory: str = ""  # where the program starts


# Patterns of files below site-packages.
LIBRARIES = [
    "nvidia/cudnn/lib/libcudnn.so.*", "nvidia/cudnn/lib/libcudnn_graph.so.*", "nvidia/cudnn/lib/libcudnn_ops.so.*",
    "nvidia/cudnn/lib/libcudnn_adv.so.*", "nvidia/cudnn/lib/libcudnn_cnn.so.*", "nvidia/cudnn/lib/libcudnn_heuristic.so.*",
    "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.*", "nvidia/cudnn/lib/libcudnn_engines_runtime_compiled.so.*",
    "nvidia/*/lib/libnvrtc.so.*", "nvidia/*/lib/libnvrtc-builtins.so.*", "nvidia/*/lib/libnvJitLink.so.*", "nvidia/*/lib/libcublasLt.so.*",
    "nvidia/*/lib/libcufft.so.*", "nvidia/*/lib/libcurand.so.*", "nvidia/*/lib/libcusolver.so.*", "nvidia/*/lib/libcusparse.so.*",
    "nvidia/*/lib/libcusparseLt.so.*", "nvidia/*/lib/libcudart.so.*", "nvidia/*/lib/libcupti.so.*", "nvidia/*/lib/libcufile.so.*",
    "nvidia/*/lib/libnccl.so.*", "nvidia/*/lib/libnvshmem_host.so.*", "torch/lib/libtorch_cuda_linalg.so",
]
MODULES = [
    "typing_extensions.py", "sympy", "mpmath", "jinja2", "markupsafe", "filelock", "networkx", "fsspec", "numpy", "setuptools", "triton", "torchgen", "functorch",
    "torch/version.py", "torch/_inductor", "torch/_C.cpython-*.so", "torch/distributed", "torch/bin", "numpy/_core/_multiarray_umath.cpython-*.so",
    "numpy.libs/libscipy_openblas64_*.so", "sympy/printing", "mpmath/libmp", "triton/backends/nvidia", "triton/_C/libtriton.so",
]
PACKAGES = ["jaxlib", "jax_cuda*_plugin", "jax_plugins", "ml_dtypes", "scipy", "cupy_backends", "cuda/pathfinder"]
TOOLS = [
    "triton/backends/nvidia/bin/ptxas", "triton/backends/nvidia/bin/ptxas-blackwell", "triton/backends/nvidia/lib/libdevice.10.bc",
    "triton/backends/nvidia/include/cuda.h", "triton/backends/nvidia/driver.c", "nvidia/*/bin/ptxas", "nvidia/*/nvvm/libdevice/libdevice.10.bc",
    "nvidia/*/include/cuda_fp16.h", "nvidia/*/include/cccl", "cupy/_core/include/cupy/complex.cuh",
]
# Commands, and files of the system. Names in one tuple are one tool: Triton takes clang if there is no gcc.
COMMANDS = [("gcc",), ("gcc", "clang", "cc"), ("g++",), ("ld",), ("as",), ("nvcc",), ("ptxas",), ("ninja",), ("ldconfig",)]
SYSTEM = [
    "/usr/include/stdlib.h", "/usr/lib/x86_64-linux-gnu/crti.o", "/usr/lib/gcc/x86_64-linux-gnu/*/crtbeginS.o", "/usr/lib*/gcc/x86_64-linux-gnu/*/cc1",
    "/usr/lib/x86_64-linux-gnu/libc.so", "/usr/local/cuda/include/cuda_fp16.h", "/usr/local/cuda/include", "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
]
SHADOWS = {
    "torch/__init__.py": "", "numpy/__init__.py": "", "sympy/__init__.py": "", "triton/__init__.py": "", "typing_extensions.py": "", "jinja2.py": "",
    "random.py": "", "queue.py": "", "logging.py": "", "types.py": "", "nvidia/__init__.py": "", "jax/__init__.py": "", "cupy/__init__.py": "",
}
REGULAR = {"file": ""}
FILE = "{files}/file"
SETTINGS = [
    ("CC", "gcc-nowhere", COMPILES), ("PATH", "{environment}/bin", COMPILES), ("TORCH_LOGS", "nosuch", TORCH), ("TRITON_CACHE_DIR", FILE, COMPILES),
    ("TORCHINDUCTOR_CACHE_DIR", FILE, COMPILES), ("TORCHINDUCTOR_CACHE_DIR", FILE + "/below", COMPILES), ("CUPY_CACHE_DIR", FILE, ["cupy"]),
    ("CUPY_GPU_MEMORY_LIMIT", "8GB", ["cupy"]), ("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "yes", ["cupy"]), ("XLA_FLAGS", "--xla_gpu_nosuch=1", ["jax"]),
    ("JAX_PLATFORMS", "tpu", ["jax"]), ("JAX_PLATFORMS", "rocm,cuda", ["jax"]), ("JAX_PLATFORM_NAME", "cude", ["jax"]), ("TRITON_PTXAS_PATH", FILE, COMPILES),
    ("CUDA_PATH", "{files}", COMPILES), ("CUDA_HOME", "{files}", COMPILES), ("PYTHONHOME", "{files}", TORCH), ("LD_PRELOAD", "libnowhere.so.1", TORCH),
    ("NCCL_NET", "nowhere", PLUGIN), ("NCCL_NET_PLUGIN", "nowhere", PLUGIN), ("NCCL_TUNER_PLUGIN", "nowhere", PLUGIN), ("NCCL_PROFILER_PLUGIN", "nowhere", PLUGIN),
]
NETWORK = {"NCCL_DEBUG": "INFO", "LD_LIBRARY_PATH": "{files}"}
# A network plugin that is a text, one without its function, and the name that asks for each.
PLUGINS = [
    ("libnccl-net.so", "text", {}), ("libnccl-net.so", None, {}), ("libnccl-net-mine.so", "text", {"NCCL_NET_PLUGIN": "mine"}),
    ("libnccl-net-mine.so", None, {"NCCL_NET_PLUGIN": "mine"}), ("libnccl-net-mine.so", None, {"NCCL_NET_PLUGIN": "mine", "NCCL_NET": "mine"}),
    ("libnccl-tuner-mine.so", None, {"NCCL_TUNER_PLUGIN": "mine"}), ("libnccl-profiler-mine.so", "text", {"NCCL_PROFILER_PLUGIN": "mine"}),
]


def faults(site, headers, donors):
    """All faults of an environment whose packages are in `site` and Python's headers in `headers`; a pattern without a file gives none."""
    yield from below(site, "library", LIBRARIES, None)
    yield from (Fault(f"cut {it.name}", "library", paths=[it], how="cut") for it in sorted(site.glob("nvidia/*/lib/libcublas.so.*")))
    for name, donor in donors:
        yield from (Fault(f"replaced {it.name}", "library", paths=[it], how="replaced", donor=donor) for it in sorted(site.glob(f"nvidia/*/lib/{name}")))
    yield from below(site, "module", MODULES, TORCH)
    yield from below(site, "module", PACKAGES, ["jax", "cupy"])
    for file, text in SHADOWS.items():
        name = file.split("/")[0]
        yield Fault(f"{name} in PYTHONPATH", "path", TORCH + ["jax", "cupy"], files={file: text}, environment={"PYTHONPATH": "{files}"})
    yield Fault("torch in the working directory", "path", TORCH, files={"torch/__init__.py": ""}, directory="{files}")
    yield from below(site, "tool", TOOLS, COMPILES)
    yield from system_faults(headers)
    for variable, value, operations in SETTINGS:
        files = REGULAR if "{files}" in value else {}
        yield Fault(f"{variable}={value}", "setting", operations, files=files, environment={variable: value})
    for file, text, variables in PLUGINS:
        kind = "text" if text else "empty library"
        yield Fault(f"{file} is {kind} {variables}", "plugin", PLUGIN, files={file: text}, environment={**NETWORK, **variables})


def below(site, group, patterns, operations):
    """A fault for each file that a pattern matches."""
    for pattern in patterns:
        for path in sorted(site.glob(pattern)):
            yield Fault(f"without {path.relative_to(site)}", group, operations, paths=[path])


def system_faults(headers):
    """Tools of the system that are moved away, all paths of one tool at once."""
    for names in COMMANDS:
        paths = [path for path in (shutil.which(name, path="/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/usr/sbin:/sbin") for name in names) if path]
        if paths:
            yield Fault(f"without {' and '.join(names)}", "tool", COMPILES, paths=[pathlib.Path(it) for it in paths])
    for path in [headers / "Python.h", *(path for pattern in SYSTEM for path in sorted(pathlib.Path("/").glob(pattern.lstrip("/"))))]:
        if path.exists():
            yield Fault(f"without {path}", "tool", COMPILES, paths=[path])
