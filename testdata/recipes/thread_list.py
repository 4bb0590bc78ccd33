"""The images of `threads.py`: what people who asked in public had, rebuilt of published wheels and Debian packages."""

import dataclasses
import os
from collections.abc import Callable

import rootfs
from fault_changes import ldconfig, put, put_all, reinstall
from fault_list import FAULTS, LIBRARIES, SITE, TORCH
from foreign_root import add_wheel, foreign_root
from loader_images import IMAGES, Image

ONNX = "import onnxruntime as o; o.set_default_logger_severity(3); print(o.get_available_providers())"
NOTHING = "import sys; print(sys.version)"


@dataclasses.dataclass(frozen=True)
class Case:
    """One image: the base with one build step on it; `apply(root, parts)` does what the step does."""

    reference: str  # what the image is called
    says: str
    base: str = TORCH
    step: str = ""  # the line of the Dockerfile
    apply: Callable | None = None
    environment: dict = dataclasses.field(default_factory=dict)  # beside PATH and NVIDIA's two; None takes one of these away
    program: str | None = None  # Python source that shows the fault, where it can be shown without a GPU
    architecture: str = "amd64"


# Bases that no image of loader_images.py is. A base that is a function makes its root by itself.
BASES = {
    "torch-1.10.0": Image(("torch==1.10.0", "numpy==1.26.4"), "import importlib.metadata as m; print(m.version('torch'))", suite="bullseye"),
    "ctranslate2-4.5.0": Image(("ctranslate2==4.5.0", "numpy==1.26.4"), "import ctranslate2; print(ctranslate2.__version__)"),
    "onnxruntime-1.17.1": Image(("onnxruntime-gpu==1.17.1", "numpy==1.26.4"), ONNX),
    "trixie": Image(program=NOTHING, suite="trixie"),
    "debian-arm64": foreign_root,
}


def fault(name, reference, step, **more):
    """The fault of this name in fault_list.py as an image."""
    known = FAULTS[name]
    return Case(
        reference, known.says, known.base, step, known.apply, environment=known.environment,
        program=known.program or IMAGES[known.base].program, **more,
    )


def system_cudnn(root, parts):
    """From the system's cuDNN, only the libraries that the other one lacks; the rest is not searched there."""
    reinstall(root, "nvidia-cudnn-cu12==9.20.0.48")
    for part in ("engines_tensor_ir", "ext"):
        put_all(root, LIBRARIES, parts.wheel("nvidia-cudnn-cu12==9.23.0.39", f"nvidia/cudnn/lib/libcudnn_{part}.so.9", "manylinux_2_27_x86_64"))
    ldconfig(root)


def python_of_bookworm(root, parts):
    """Debian 12's Python 3.11 and the packages of an image built on it, on Debian 13, whose glibc is 2.41."""
    source = os.path.join(os.path.dirname(parts.directory), "ctranslate2-4.5.0", "root")
    for path in ("usr/bin/python3", "usr/bin/python3.13", "usr/lib/python3.13"):
        rootfs.run("rm", "-r", os.path.join(root, path))
    for path in ("usr/bin/python3", "usr/bin/python3.11", "usr/lib/python3.11", "usr/local/lib/python3.11"):
        rootfs.run("cp", "-a", os.path.join(source, path), os.path.join(root, path))


def toolkit_beside_wheels(root, parts):
    """Libraries of nvidia/cuda:12.8.1-runtime, which are the same files as in the wheels: cuBLAS and its dependencies."""
    target = "usr/local/cuda-12.8/targets/x86_64-linux/lib"
    os.makedirs(os.path.join(root, target))
    for wheel in ("cublas", "cuda_runtime", "nvjitlink"):
        rootfs.run("sh", "-c", 'cp "$1"/lib*.so.* "$2"', "sh", os.path.join(root, SITE, "nvidia", wheel, "lib"), os.path.join(root, target))
    os.symlink("cuda-12.8", os.path.join(root, "usr/local/cuda"))


def driver_libraries(root, parts):
    """Driver libraries of Debian's packages where the loader looks, with the links that ldconfig makes."""
    for package, pattern in (("libcuda1", "*/libcuda.so.*"), ("libnvidia-ml1", "*/libnvidia-ml.so.*")):
        for path in parts.debian(package, "bookworm", "non-free", pattern).values():
            if not os.path.islink(path):
                put(root, f"{LIBRARIES}/{os.path.basename(path)}", path)
    ldconfig(root)


def cpu_wheel(root, parts):
    add_wheel(root, SITE, "torch==2.8.0", "manylinux_2_28_aarch64")


THREADS = {
    "cudnn-parts": fault(
        "cudnn-cnn-9.1.0", "registry.example/tts:1.0", "COPY --from=cudnn /usr/lib/x86_64-linux-gnu/libcudnn_cnn.so.9 /usr/local/lib/python3.11/dist-packages/nvidia/cudnn/lib/",
    ),
    "cudnn-library-path": fault(
        "cudnn-on-library-path", "registry.example/trainer:1.12", "COPY --from=cudnn /usr/lib/x86_64-linux-gnu/libcudnn* /opt/cudnn-9.1/lib/",
    ),
    "cudnn-of-system": Case(
        "registry.example/nnunet:1.0", "cuDNN 9.20 by pip, and the cuDNN 9.23 of the system, which has a library that 9.20 opens but does not contain",
        step="RUN pip install --no-deps nvidia-cudnn-cu12==9.20.0.48 && apt-get install -y libcudnn9-cuda-12=9.23.0.39-1", apply=system_cudnn,
    ),
    "nccl-older": Case(
        "registry.example/finetune:1.0", "NCCL 2.18.1 installed over the one that torch 2.8.0 pins",
        step="RUN pip install --no-deps nvidia-nccl-cu12==2.18.1", apply=lambda root, _: reinstall(root, "nvidia-nccl-cu12==2.18.1"),
        program="import torch",
    ),
    "nvjitlink-older": Case(
        "registry.example/notebook:12.8", "libnvJitLink of CUDA 12.1 under libcusparse of 12.8",
        step="RUN pip install --no-deps nvidia-nvjitlink-cu12==12.1.105",
        apply=lambda root, _: reinstall(root, "nvidia-nvjitlink-cu12==12.1.105"), program="import torch",
    ),
    "env-stale": Case(
        "registry.example/pytorch-nightly:20240302", "ENV PYTORCH_VERSION names a release that is not the installed one",
        environment={"PYTORCH_VERSION": "2.9.0"}, program="import os, torch; print(os.environ['PYTORCH_VERSION'], torch.__version__)",
    ),
    "env-of-base": Case(
        "registry.example/comfyui:1.0", "the variables of nvidia/cuda:12.1.1, the libraries of CUDA 12.8",
        environment={
            "CUDA_VERSION": "12.1.1", "NV_CUDA_CUDART_VERSION": "12.1.105-1",
            "NVIDIA_REQUIRE_CUDA": "cuda>=12.1 brand=tesla,driver>=470,driver<471 brand=tesla,driver>=525,driver<526",
        },
    ),
    "release-of-tag": Case("registry.example/pytorch:1.9.1-runtime", "a tag of 1.9.1 on PyTorch 1.10.0", base="torch-1.10.0"),
    "healthy": Case("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "PyTorch 2.8.0 as pip installs it"),
    "torchvision-other": fault("torchvision-0.20.1", "registry.example/detector:1.0", "RUN pip install --no-deps torchvision==0.20.1"),
    "vllm-other": Case(
        "registry.example/serving:1.0", "vLLM of torch 2.5 beside torch 2.8.0",
        step="RUN pip install --no-deps vllm==0.7.3", apply=lambda root, _: reinstall(root, "vllm==0.7.3"),
    ),
    "xformers-other": fault("xformers-0.0.29", "registry.example/diffusion:1.0", "RUN pip install --no-deps xformers==0.0.29.post3"),
    "nvrtc-builtins": fault("nvrtc-builtins-missing", "registry.example/compiler:1.0", "RUN rm /usr/local/lib/python3.11/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8"),
    "libstdcxx": fault("libstdcxx-3.4.21", "registry.example/solver:1.0", "COPY libstdc++.so.6 /usr/lib/x86_64-linux-gnu/"),
    "cupti-missing": fault("cupti-missing", "registry.example/slim:1.0", "RUN rm -r /usr/local/lib/python3.11/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.12"),
    "executable-stack": Case(
        "registry.example/whisper:1.0", "ctranslate2 4.5.0 on Debian 13", base="trixie", apply=python_of_bookworm,
        step="COPY --from=build /usr/bin/python3.11 /usr/lib/python3.11 /usr/local/lib/python3.11 /", program="import ctranslate2",
    ),
    "whisper-cudnn": Case("registry.example/faster-whisper:1.0", "ctranslate2 4.5.0 without cuBLAS and cuDNN", base="ctranslate2-4.5.0"),
    "onnxruntime-cpu": Case("registry.example/onnx:1.17", "onnxruntime-gpu 1.17.1 without CUDA 11", base="onnxruntime-1.17.1"),
    "cuda-twice": Case(
        "registry.example/notebooks:1.0", "the CUDA toolkit's libraries beside the wheels' own",
        step="COPY --from=nvidia/cuda:12.8.1-runtime-ubuntu22.04 /usr/local/cuda-12.8 /usr/local/cuda-12.8", apply=toolkit_beside_wheels,
    ),
    "stub": fault(
        "stub-driver-on-path", "registry.example/miner:1.0", "RUN ln -s libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so.1",
    ),
    "driver-in-image": Case(
        "registry.example/opencl:1.0", "driver libraries installed into the image",
        step="RUN apt-get install -y libcuda1 libnvidia-ml1", apply=driver_libraries,
    ),
    "cpu-build": Case(
        "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "the arm64 wheel of PyTorch, which is built for the CPU", base="debian-arm64",
        step="RUN pip install torch==2.8.0", apply=cpu_wheel, architecture="arm64",
    ),
    "l4t-glibc": Case("registry.example/l4t-pytorch:r35.4.1", "an image called one for Jetson, with glibc 2.31", base="torch-1.10.0"),
}

# Rules that no thread and no fault shows.
CATALOGUE = {
    "platform": dataclasses.replace(THREADS["cpu-build"], reference="registry.example/tools:1.0", says="arm64 files, amd64 in the configuration", architecture="amd64"),
    "cudnn-cuda-11": Case(
        "registry.example/translate:1.0", "the cuDNN 9.10.2 for CUDA 11 under a torch for CUDA 12",
        step="RUN pip install --no-deps nvidia-cudnn-cu11==9.10.2.21", apply=lambda root, _: reinstall(root, "nvidia-cudnn-cu11==9.10.2.21"),
    ),
    "cupti-12.1": Case(
        "registry.example/profiler:1.0", "CUPTI of CUDA 12.1 in place of the one of 12.8",
        step="RUN pip install --no-deps nvidia-cuda-cupti-cu12==12.1.105",
        apply=lambda root, _: reinstall(root, "nvidia-cuda-cupti-cu12==12.1.105"), program="import torch",
    ),
    "capability-typo": Case(
        "registry.example/trainer:1.1", "a word in NVIDIA_DRIVER_CAPABILITIES that means nothing",
        environment={"NVIDIA_DRIVER_CAPABILITIES": "compute,utilty"},
    ),
    "extensions": Case(
        "registry.example/quantized:1.0", "extensions that are built for PyTorch 2.8 and for fewer GPUs than it",
        step="RUN pip install xformers==0.0.32.post2 bitsandbytes==0.45.0",
        apply=lambda root, _: reinstall(root, "xformers==0.0.32.post2", "bitsandbytes==0.45.0"),
    ),
    "require-too-little": Case(
        "registry.example/trainer:1.3", "NVIDIA_REQUIRE_CUDA lets it start where its CUDA 12.8 cannot run",
        environment={"NVIDIA_REQUIRE_CUDA": "cuda>=11.0"},
    ),
    "devices-unset": Case(
        "registry.example/trainer:1.2", "PyTorch without the variables that ask for a GPU",
        environment={"NVIDIA_VISIBLE_DEVICES": None, "NVIDIA_DRIVER_CAPABILITIES": None},
    ),
    "onnxruntime": Case("registry.example/onnxruntime:1.23.2", "onnxruntime-gpu 1.17.1", base="onnxruntime-1.17.1"),
}
