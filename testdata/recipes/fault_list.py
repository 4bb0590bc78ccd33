"""The faults of `loader_faults.py`: which root is broken, how, and which program shows it."""

import dataclasses
import os
from collections.abc import Callable

import loader_programs as programs
from fault_changes import (
    absent, executable_stack, hide_versions, ldconfig, put, put_all, reinstall, remove, site, truncate, write,
)

TORCH = "torch-2.8.0"
SITE = "usr/local/lib/python3.11/dist-packages"
CUDART = f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"
CUDNN = f"{SITE}/nvidia/cudnn/lib"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
TOOLKIT = "usr/local/cuda-12.8/targets/x86_64-linux/lib"
TORCH_ONLY = "import torch"
VISION = "import torch, torchvision"
USE_VISION = VISION + "; print(torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5))"
USE_CUDNN = programs.torch_first_use(TORCH_ONLY, "libcudnn.so.9", "libnvrtc.so.12")
USE_NVRTC = "import ctypes, torch\n" + programs.COMPILE_WITH_NVRTC.replace("NVRTC", "'libnvrtc.so.12'", 1)
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 728800\n"


@dataclasses.dataclass(frozen=True)
class Fault:
    """One deliberate fault; `apply(root, parts)` makes it."""

    says: str
    apply: Callable
    program: str | None = None  # Python source; None is the healthy image's own
    base: str = TORCH
    environment: dict = dataclasses.field(default_factory=dict)
    hidden: str | None = None
    command: list | None = None  # for programs that are not Python


def load(path):
    """A program that loads one file after torch: the loader's own message, which the package keeps to itself."""
    return f"import ctypes, torch; ctypes.CDLL('/{path}')"


def cudnn_part(part):
    def apply(root, parts):
        name = f"libcudnn_{part}.so.9"
        put(root, f"{CUDNN}/{name}", parts.wheel("nvidia-cudnn-cu12==9.1.0.70", "nvidia/cudnn/lib/*")[f"nvidia/cudnn/lib/{name}"])

    return Fault(
        f"libcudnn_{part}.so.9 of cuDNN 9.1.0 among the files of 9.10.2", apply, USE_CUDNN,
        hidden=load(f"{CUDNN}/libcudnn_{'ops' if part == 'graph' else part}.so.9"),  # the new ones need the new graph library
    )


def cudart(version, requirement, member="nvidia/cuda_runtime/lib/libcudart.so.12"):
    return Fault(
        f"libcudart of CUDA {version} as libcudart.so.12 under a torch of CUDA 12.8",
        lambda root, parts: put(root, CUDART, parts.wheel(requirement, member)[member]),
        TORCH_ONLY,
    )


def torchvision(version, *more, program=VISION):
    return Fault(
        f"torchvision {version} beside torch 2.8.0", lambda root, parts: reinstall(root, f"torchvision=={version}", *more), program,
        hidden=load(f"{SITE}/torchvision/_C.so"),
    )


def other_cudnn_directory(root, parts):
    put_all(root, "opt/cudnn-9.1/lib", parts.wheel("nvidia-cudnn-cu12==9.1.0.70", "nvidia/cudnn/lib/*"))


def foreign_cudart(path):
    def apply(root, parts):
        found = parts.wheel("nvidia-cuda-runtime-cu12==12.8.90", "nvidia/cuda_runtime/lib/libcudart.so.12", "manylinux2014_aarch64")
        put(root, path, next(iter(found.values())))

    return apply


def from_wheel(requirement, member, path):
    return lambda root, parts: put(root, path, parts.wheel(requirement, member)[member])


def stub_driver(root, parts):
    found = parts.debian("nvidia-cuda-dev", "bookworm", "non-free", "*/stubs/libcuda.so")
    put(root, "usr/local/cuda/lib64/stubs/libcuda.so", os.path.realpath(next(iter(found.values()))))
    link = absent(root, "usr/local/cuda/lib64/stubs/libcuda.so.1")
    os.symlink("libcuda.so", link)


def moved_without_ldconfig(root, parts):
    """CUPTI, which torch needs, lies in a directory that ld.so.conf.d names, but ldconfig was not run after that."""
    found = parts.wheel("nvidia-cuda-cupti-cu12==12.8.90", "nvidia/cuda_cupti/lib/libcupti.so.12")
    put(root, f"{TOOLKIT}/libcupti.so.12", next(iter(found.values())))
    remove(root, f"{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12")
    write(root, "etc/ld.so.conf.d/000_cuda.conf", f"/{TOOLKIT}\n".encode())


def in_cache(root, parts):
    moved_without_ldconfig(root, parts)
    ldconfig(root)


def removed_after_ldconfig(root, parts):
    in_cache(root, parts)
    remove(root, f"{TOOLKIT}/libcupti.so.12")


def old_libstdcxx(root, _):
    path = f"{LIBRARIES}/libstdc++.so.6"
    hide_versions(root, os.path.join(os.path.dirname(path), os.readlink(os.path.join(root, path))), "GLIBCXX_", (3, 4, 21))


def libstdcxx_of(suite, path):
    def apply(root, parts):
        found = parts.debian("libstdc++6", suite, "main", "*/libstdc++.so.6.*")
        put(root, path, next(p for name, p in found.items() if name.startswith("usr/lib/") and "gdb" not in name))

    return apply


FAULTS = {
    "cudnn-graph-9.1.0": cudnn_part("graph"),
    "cudnn-ops-9.1.0": cudnn_part("ops"),
    "cudnn-cnn-9.1.0": cudnn_part("cnn"),
    "cudnn-adv-9.1.0": cudnn_part("adv"),
    "cudnn-on-library-path": Fault(
        "a directory with cuDNN 9.1.0 on LD_LIBRARY_PATH, torch's own is 9.10.2", other_cudnn_directory, USE_CUDNN,
        environment={"LD_LIBRARY_PATH": "/opt/cudnn-9.1/lib"},
    ),
    "cudnn-ops-missing": Fault(
        "libcudnn_ops.so.9 is missing", lambda root, _: remove(root, f"{CUDNN}/libcudnn_ops.so.9"), USE_CUDNN,
    ),
    "cudnn-graph-missing": Fault(
        "libcudnn_graph.so.9 is missing", lambda root, _: remove(root, f"{CUDNN}/libcudnn_graph.so.9"), USE_CUDNN,
    ),
    "torchvision-0.22.1": torchvision("0.22.1"),
    "torchvision-0.20.1": torchvision("0.20.1"),
    "torchvision-0.15.2": torchvision(
        "0.15.2", "requests==2.32.3", "urllib3==2.2.3", "idna==3.10", "certifi==2024.8.30", "charset-normalizer==3.4.0",
        program=USE_VISION,  # this release only warns at import
    ),
    "torchaudio-2.6.0": Fault(
        "torchaudio 2.6.0 beside torch 2.8.0", lambda root, parts: reinstall(root, "torchaudio==2.6.0"), "import torch, torchaudio",
    ),
    "xformers-0.0.29": Fault(
        "xformers of torch 2.6 beside torch 2.8.0", lambda root, parts: reinstall(root, "xformers==0.0.29.post3"),
        "import torch, xformers.ops", hidden=load(f"{SITE}/xformers/_C.so"),
    ),
    "cudart-missing": Fault("libcudart.so.12 is missing", lambda root, _: remove(root, CUDART), TORCH_ONLY),
    "cudart-12.1": cudart("12.1", "nvidia-cuda-runtime-cu12==12.1.105"),
    "cudart-12.4": cudart("12.4", "nvidia-cuda-runtime-cu12==12.4.127"),
    "cudart-11.8": cudart(
        "11.8", "nvidia-cuda-runtime-cu11==11.8.89", "nvidia/cuda_runtime/lib/libcudart.so.11.0"
    ),
    "cudart-truncated": Fault("libcudart.so.12 is cut off after 40 bytes", lambda root, _: truncate(root, CUDART, 40), TORCH_ONLY),
    "cudart-half": Fault("the second half of libcudart.so.12 is missing", lambda root, _: truncate(root, CUDART, 0.5), TORCH_ONLY),
    "cudart-empty": Fault("libcudart.so.12 is empty", lambda root, _: write(root, CUDART, b""), TORCH_ONLY),
    "cudart-text": Fault("libcudart.so.12 is a Git LFS pointer", lambda root, _: write(root, CUDART, LFS_POINTER), TORCH_ONLY),
    "cudart-aarch64": Fault("libcudart.so.12 is the aarch64 build", foreign_cudart(CUDART), TORCH_ONLY),
    "cudart-aarch64-on-path": Fault(
        "the aarch64 libcudart.so.12 stands first on LD_LIBRARY_PATH: it is skipped and nothing happens",
        foreign_cudart("opt/aarch64/lib/libcudart.so.12"), TORCH_ONLY, environment={"LD_LIBRARY_PATH": "/opt/aarch64/lib"},
    ),
    "cupti-missing": Fault(
        "libcupti.so.12 is missing", lambda root, _: remove(root, f"{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12"), TORCH_ONLY,
    ),
    "cublaslt-truncated": Fault(
        "libcublasLt.so.12 is cut off in the middle", lambda root, _: truncate(root, f"{SITE}/nvidia/cublas/lib/libcublasLt.so.12", 1 << 20),
        TORCH_ONLY,
    ),
    "nvjitlink-12.1": Fault(
        "libnvJitLink.so.12 of CUDA 12.1 under libcusparse of 12.8",
        from_wheel("nvidia-nvjitlink-cu12==12.1.105", "nvidia/nvjitlink/lib/libnvJitLink.so.12", f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12"),
        TORCH_ONLY,
    ),
    "nccl-2.18.1": Fault(
        "NCCL 2.18.1 in place under torch 2.8.0",
        from_wheel("nvidia-nccl-cu12==2.18.1", "nvidia/nccl/lib/libnccl.so.2", f"{SITE}/nvidia/nccl/lib/libnccl.so.2"),
        TORCH_ONLY,
    ),
    "nvrtc-builtins-missing": Fault(
        "libnvrtc-builtins.so.12.8 is missing",
        lambda root, _: remove(root, f"{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8"),
        USE_NVRTC + "size = ctypes.c_size_t(); nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))\n"
        "log = ctypes.create_string_buffer(size.value); nvrtc.nvrtcGetProgramLog(program, log); print(log.value.decode())\n",
    ),
    "libz-missing": Fault(
        "libz.so.1, which cuDNN and Python need from the system, is missing",
        lambda root, _: remove(root, f"{LIBRARIES}/libz.so.1"), TORCH_ONLY,
    ),
    "libz-missing-cudnn": Fault(
        "libz.so.1 is missing; a program that does not need it itself opens cuDNN",
        lambda root, _: remove(root, f"{LIBRARIES}/libz.so.1"),
        command=[
            "perl", "-e", f'require DynaLoader; DynaLoader::dl_load_file("/{CUDNN}/libcudnn_graph.so.9", 0) or die DynaLoader::dl_error(), "\\n"',
        ],
    ),
    "libstdcxx-3.4.21": Fault("libstdc++ without the versions above GLIBCXX_3.4.21 (names changed)", old_libstdcxx, TORCH_ONLY),
    "libstdcxx-of-bullseye": Fault(
        "bullseye's libstdc++ in place of trixie's, and apt-get needs a newer one",
        lambda root, parts: libstdcxx_of("bullseye", f"{LIBRARIES}/{os.readlink(os.path.join(root, LIBRARIES, 'libstdc++.so.6'))}")(root, parts),
        base="torch-2.8.0-trixie", command=["apt-get", "--version"],
    ),
    "glibc-too-old": Fault(
        "trixie's libstdc++ on LD_LIBRARY_PATH in bullseye: it needs a newer glibc",
        libstdcxx_of("trixie", "opt/newer/libstdc++.so.6"), TORCH_ONLY, base="torch-1.13.1",
        environment={"LD_LIBRARY_PATH": "/opt/newer"},
    ),
    "executable-stack": Fault(
        "libcudart.so.12 asks for an executable stack under glibc 2.41",
        lambda root, _: executable_stack(root, f"{site(root)}/nvidia/cuda_runtime/lib/libcudart.so.12"), TORCH_ONLY,
        base="torch-2.8.0-trixie",
    ),
    "executable-stack-allowed": Fault(
        "libcudart.so.12 asks for an executable stack under glibc 2.36: it gets one",
        lambda root, _: executable_stack(root, CUDART), TORCH_ONLY,
    ),
    "stub-driver-on-path": Fault(
        "the toolkit's stub of libcuda.so.1 on LD_LIBRARY_PATH", stub_driver,
        "import torch; print(torch.cuda.is_available()); torch.zeros(1, device='cuda')",
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs"},
        hidden="import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))",
    ),
    "cache-stale": Fault(
        "ld.so.conf.d names a directory, but ldconfig was not run again", moved_without_ldconfig, TORCH_ONLY,
    ),
    "cache-fresh": Fault("the same after ldconfig: nothing is wrong", in_cache, TORCH_ONLY),
    "cache-dangling": Fault("ld.so.cache names a library that was removed", removed_after_ldconfig, TORCH_ONLY),
    "cache-missing": Fault(
        "ld.so.cache was removed; only the default directories are left",
        lambda root, parts: (in_cache(root, parts), remove(root, "etc/ld.so.cache")), TORCH_ONLY,
    ),
    "preload-missing": Fault(
        "LD_PRELOAD names a file that is not there: a warning only", lambda root, _: None, TORCH_ONLY,
        environment={"LD_PRELOAD": "/opt/nowhere/libjemalloc.so.2"},
    ),
    "preload-file-missing": Fault(
        "/etc/ld.so.preload names a file that is not there: a warning only",
        lambda root, _: write(root, "etc/ld.so.preload", b"/opt/nowhere/libjemalloc.so.2\n"), TORCH_ONLY,
    ),
    "onnxruntime-no-preload": Fault(
        "a session without preload_dlls(): the provider's libraries are not on any path", lambda root, _: None,
        programs.ONNX_FIRST_USE.replace("onnxruntime.preload_dlls()\n", ""), base="onnxruntime-1.23.2",
        hidden="import ctypes, onnxruntime, os\nfolder = os.path.join(os.path.dirname(onnxruntime.__file__), 'capi')\n"
        "ctypes.CDLL(folder + '/libonnxruntime_providers_cuda.so')",
    ),
    "cusparse-cu12-under-cu13": Fault(
        "the CUDA 12 wheel of cuSPARSE is left over beside a torch of CUDA 13: same SONAME",
        lambda root, parts: reinstall(root, "nvidia-cusparse-cu12==12.5.8.93", "nvidia-nvjitlink-cu12==12.8.93", python="3.13"),
        base="torch-2.15.0",
    ),
}
