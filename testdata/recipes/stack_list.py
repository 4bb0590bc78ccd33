"""The stacks of stacks.py: what is installed, in this order and without what it requires, and what happens.

    Stack(wheels, program, says, rules)
    wheels   pins, from the package index, installed from left to right over Debian 12 with Python 3.11 and, if `base` is "torch-2.8.0", with
             PyTorch 2.8.0+cu128, torchvision 0.23.0 and torchaudio 2.8.0
    program  what Python runs
    says     what the last line of its error begins with; empty if it succeeds
    rules    the rules of which imgcheck must report an error or a warning, and no others
    quick    small wheels: run by CI
    miss     why imgcheck says nothing although the program fails, or what else is known to be wrong
"""

from dataclasses import dataclass

NUMPY = "numpy==2.2.6"
DATES = "python-dateutil==2.9.0.post0 pytz==2024.2 tzdata==2024.2 six==1.16.0"
PLOT = "contourpy==1.3.1 cycler==0.12.1 fonttools==4.55.0 kiwisolver==1.4.7 pillow==11.0.0 pyparsing==3.2.0 packaging==24.2"
ARRAY = "ImportError: numpy.core.multiarray failed to import"
DTYPE = "ValueError: numpy.dtype size changed, may indicate binary incompatibility"
TOO_NEW = "numpy-too-new"
MISSING = "load-missing-library"
PADDLE = (
    "paddlepaddle-gpu==2.6.2 astor==0.8.1 decorator==5.1.1 opt_einsum==3.3.0 httpx==0.27.2 anyio==4.6.2 idna==3.10 sniffio==1.3.1 httpcore==1.0.6"
    " h11==0.14.0 certifi==2024.8.30 protobuf==4.25.5 pillow==11.0.0"
)
TORCH_215 = (
    "torch==2.15.0 cuda-bindings==13.5.0 cuda-pathfinder==1.9.0 cuda-toolkit==13.2.2 filelock==4.2.11 fsspec==2026.9.0 jinja2==3.1.6 markupsafe==3.0.4"
    " mpmath==1.3.0 networkx==3.6.1 nvidia-cublas==13.4.1.3 nvidia-cuda-cccl==13.3.5.0.6 nvidia-cuda-cupti==13.2.86 nvidia-cuda-nvrtc==13.2.86"
    " nvidia-cuda-runtime==13.2.86 nvidia-cudnn-cu13==9.26.0.51 nvidia-cufft==12.2.0.57 nvidia-cufile==1.17.1.22 nvidia-cusolver==12.2.0.11"
    " nvidia-cusparse==12.7.10.12 nvidia-cusparselt-cu13==0.8.1 nvidia-nccl-cu13==2.30.7 nvidia-nvjitlink==13.5.37"
    " nvidia-nvshmem-cu13==3.7.2 nvidia-nvtx==13.2.86 sympy==1.14.0 triton==3.9.0 typing-extensions==4.16.0"
)
PARTNER = "torch-partner-version"


@dataclass(frozen=True)
class Stack:
    wheels: str
    program: str
    says: str = ""
    rules: tuple = ()
    quick: bool = False
    base: str = ""
    miss: str = ""

    @property
    def name(self):
        return " ".join([self.base, *self.wheels.split()]).strip()


def numpy_2(wheels, program, says, quick=True):
    """Compiled for NumPy 1, beside NumPy 2."""
    return Stack(f"{NUMPY} {wheels}", program, says, (TOO_NEW,), quick)


def works(wheels, program, quick=True):
    return Stack(wheels, program, quick=quick)


def partner(wheels, program, says="", rules=(PARTNER,), miss=""):
    """Over PyTorch 2.8.0."""
    return Stack(wheels, program, says, rules if says else (), base="torch-2.8.0", miss=miss)


STACKS = [
    # NumPy 1 and 2.
    works(NUMPY, "import numpy"),
    works("numpy==1.26.4", "import numpy"),
    numpy_2(f"pandas==2.0.3 {DATES}", "import pandas", DTYPE),
    works(f"{NUMPY} pandas==2.2.2 {DATES}", "import pandas"),
    works(f"numpy==1.26.4 pandas==2.0.3 {DATES}", "import pandas"),
    numpy_2("h5py==3.10.0", "import h5py", DTYPE),
    works(f"{NUMPY} h5py==3.11.0", "import h5py"),
    numpy_2(f"matplotlib==3.8.3 {PLOT} {DATES}", "import matplotlib.transforms", ARRAY),
    works(f"{NUMPY} matplotlib==3.8.4 {PLOT} {DATES}", "import matplotlib.transforms"),
    numpy_2("shapely==2.0.3", "import shapely", ARRAY),
    works(f"{NUMPY} shapely==2.0.4", "import shapely"),
    numpy_2("numexpr==2.9.0", "import numexpr", ARRAY),
    works(f"{NUMPY} numexpr==2.10.0", "import numexpr"),
    numpy_2("pywavelets==1.5.0", "import pywt", DTYPE),
    works(f"{NUMPY} pywavelets==1.6.0", "import pywt"),
    numpy_2("bottleneck==1.3.8", "import bottleneck", ARRAY),
    works(f"{NUMPY} bottleneck==1.4.0", "import bottleneck"),
    numpy_2("soxr==0.3.7", "import soxr", ARRAY, quick=False),
    works(f"{NUMPY} soxr==0.4.0 typing-extensions==4.12.2", "import soxr", quick=False),
    numpy_2("pycocotools==2.0.7", "import pycocotools.mask", DTYPE, quick=False),
    works(f"{NUMPY} pycocotools==2.0.8", "import pycocotools.mask", quick=False),
    numpy_2("ml-dtypes==0.3.2", "import ml_dtypes", "ImportError: numpy.core.umath failed to import"),
    works(f"{NUMPY} ml-dtypes==0.4.0", "import ml_dtypes"),
    numpy_2("onnxruntime==1.18.1", "import onnxruntime", "ImportError"),
    works(f"{NUMPY} onnxruntime==1.19.0", "import onnxruntime"),
    numpy_2("netCDF4==1.6.5 cftime==1.6.4.post1 certifi==2024.8.30", "import netCDF4", DTYPE, quick=False),
    works(f"{NUMPY} netCDF4==1.7.2 cftime==1.6.4.post1 certifi==2024.8.30", "import netCDF4", quick=False),
    numpy_2("scipy==1.12.0", "import scipy.sparse", ARRAY, quick=False),
    works(f"{NUMPY} scipy==1.13.1", "import scipy.sparse, scipy.linalg", quick=False),
    numpy_2("pyarrow==15.0.2", "import pyarrow", ARRAY, quick=False),
    works(f"{NUMPY} pyarrow==16.0.0", "import pyarrow", quick=False),
    numpy_2("faiss-cpu==1.8.0.post1 packaging==24.2", "import faiss", ARRAY, quick=False),
    works(f"{NUMPY} faiss-cpu==1.9.0 packaging==24.2", "import faiss", quick=False),
    numpy_2("opencv-python-headless==4.10.0.82", "import cv2", ARRAY, quick=False),
    works(f"{NUMPY} opencv-python-headless==4.10.0.84", "import cv2", quick=False),
    numpy_2("numba==0.59.1 llvmlite==0.42.0", "import numba", "ImportError: Numba needs NumPy 1.26 or less", quick=False),
    numpy_2("numba==0.60.0 llvmlite==0.43.0", "import numba", "ImportError: Numba needs NumPy 2.0 or less", quick=False),
    works("numpy==2.0.2 numba==0.60.0 llvmlite==0.43.0", "import numba", quick=False),
    numpy_2(
        "scikit-learn==1.4.1.post1 scipy==1.13.1 joblib==1.4.2 threadpoolctl==3.5.0", "import sklearn.utils.murmurhash", DTYPE, quick=False
    ),
    works(
        f"{NUMPY} scikit-learn==1.4.2 scipy==1.13.1 joblib==1.4.2 threadpoolctl==3.5.0", "import sklearn.utils.murmurhash", quick=False
    ),
    # Native modules and their libraries.
    works("cffi==1.17.1 pycparser==2.22 cryptography==43.0.3", "import cryptography.hazmat.bindings._rust"),
    works("pillow==11.0.0 lxml==5.3.0 PyYAML==6.0.2", "import PIL.Image, lxml.etree, yaml"),
    works("psutil==6.1.0 orjson==3.10.11 regex==2024.11.6 msgpack==1.1.0", "import psutil, orjson, regex, msgpack"),
    works("tokenizers==0.20.3 safetensors==0.4.5 sentencepiece==0.2.0", "import tokenizers, safetensors, sentencepiece"),
    works("grpcio==1.68.0 protobuf==5.28.3", "import grpc, google.protobuf"),
    works(f"soundfile==0.12.1 cffi==1.17.1 pycparser==2.22 {NUMPY}", "import soundfile"),
    Stack("pyodbc==5.2.0", "import pyodbc", "ImportError: libodbc.so.2", (MISSING,), quick=True),
    Stack(f"{NUMPY} lightgbm==4.5.0 scipy==1.13.1", "import lightgbm", "OSError: libgomp.so.1", (MISSING,)),
    Stack(f"{NUMPY} opencv-python==4.11.0.86", "import cv2", "ImportError: lib", (MISSING,)),
    works(f"{NUMPY} opencv-python-headless==4.11.0.86", "import cv2", quick=False),
    works(f"{NUMPY} xgboost==2.1.3 scipy==1.13.1 nvidia-nccl-cu12==2.23.4", "import xgboost", quick=False),
    # Distributions that contain the same files.
    works("cuda-bindings==12.9.0", "from cuda.bindings import driver, nvrtc, nvvm"),
    Stack(
        "cuda-bindings==12.9.0 cuda-python==12.6.2", "from cuda.bindings import driver, nvrtc, nvvm",
        "ImportError: cuda.bindings._internal.utils does not export expected C function", ("python-files-overwritten",), quick=True,
    ),
    Stack(
        f"{NUMPY} onnxruntime-gpu==1.22.0 onnxruntime==1.22.0 flatbuffers==24.3.25 protobuf==5.28.3",
        # Its libraries of CUDA are not installed either, which is of no consequence.
        "import onnxruntime as o; assert 'CUDAExecutionProvider' in o.get_available_providers()", "AssertionError",
        ("python-files-overwritten",),
    ),
    Stack(
        f"{NUMPY} opencv-python-headless==4.11.0.86 opencv-python==4.11.0.86", "import cv2", "ImportError: lib",
        ("python-files-overwritten",),
    ),
    # One cause, one finding: cuDNN and NCCL for CUDA 12 over those of a PyTorch for CUDA 13.
    Stack(
        f"{NUMPY} {TORCH_215} nvidia-cudnn-cu12==9.10.2.21", "import torch; torch.backends.cudnn.version()",
        "RuntimeError: cuDNN version incompatibility", ("cudnn-cuda-major",),
    ),
    Stack(f"{NUMPY} {TORCH_215} nvidia-nccl-cu12==2.27.3", "import torch", "ImportError: ", ("nccl-conflict",)),
    Stack(
        f"{NUMPY} {TORCH_215} nvidia-nvshmem-cu12==3.3.20", "import torch", "ImportError: ", ("load-undefined-symbol",),
    ),
    # A warning: the import works, whether the sparse kernels do was not tried on a GPU.
    Stack(f"{NUMPY} {TORCH_215} nvidia-cusparselt-cu12==0.7.1", "import torch", "", ("python-files-overwritten",)),
    # CuPy and NVRTC.
    Stack(
        f"{NUMPY} cupy-cuda12x==13.6.0 fastrlock==0.8.3", "import cupy_backends.cuda.libs.nvrtc as n; n.getVersion()",
        "RuntimeError: CuPy failed to load libnvrtc.so.12", ("load-missing-dlopen",),
    ),
    Stack(
        f"{NUMPY} cupy-cuda12x==13.1.0 fastrlock==0.8.3", "import cupy", "AttributeError: module 'numpy' has no attribute 'AxisError'",
        (TOO_NEW, "load-missing-dlopen"),
    ),
    # It does not look into the wheels of NVIDIA, but finds what PyTorch has loaded.
    Stack(
        f"{NUMPY} cupy-cuda12x==13.6.0 fastrlock==0.8.3 nvidia-cuda-nvrtc-cu12==12.8.93",
        "import cupy, cupy_backends.cuda.libs.nvrtc as n; n.getVersion()",
        "RuntimeError: CuPy failed to load libnvrtc.so.12", ("load-missing-dlopen",),
    ),
    partner("cupy-cuda12x==13.6.0 fastrlock==0.8.3", "import torch, cupy, cupy_backends.cuda.libs.nvrtc as n; n.getVersion()"),
    # paddlepaddle-gpu has no libgomp. With it, its import works and its first use of a GPU does not: it opens libcublas.so and libcudnn.so.
    Stack(f"numpy==1.26.4 {PADDLE}", "import paddle", "ImportError: libgomp.so.1", (MISSING,)),
    # torchaudio compares CUDA's minor version with that of PyTorch.
    Stack(
        f"{NUMPY} torchaudio==2.11.0 {TORCH_215}", "import torchaudio",
        "RuntimeError: Detected that PyTorch and TorchAudio were compiled with different CUDA versions", ("torch-partner-cuda",),
    ),
    works(f"{NUMPY} {TORCH_215}", "import torch", quick=False),
    # Packages with an extension for each release of CUDA, PyTorch or FFmpeg. nixl imports the backend for the CUDA of PyTorch, and nixl_ep the
    # extension for its release: nixl_ep_cu12 and nixl_ep_cu13 have none for 2.8, which is a warning about what few programs import.
    works(f"{NUMPY} nixl-cu13==1.5.1", "import nixl_cu13", quick=False),
    works(f"{NUMPY} nixl==1.5.1 nixl-cu12==1.5.1 nixl-cu13==1.5.1", "import nixl", quick=False),
    partner(
        f"{NUMPY} nixl==1.5.1 nixl-cu13==1.5.1", "import torch, nixl", "ImportError: detected CUDA 12 but nixl-cu12 is not installed", (MISSING,)
    ),
    Stack(f"{NUMPY} nixl==1.5.1 nixl-cu12==1.5.1 nixl-cu13==1.5.1", "import torch, nixl", "", (MISSING,), base="torch-2.8.0"),
    partner(f"{NUMPY} mooncake-transfer-engine-cuda13==0.3.13.post1", "import torch, mooncake.engine", "ImportError: lib", (MISSING,)),
    Stack("mooncake-transfer-engine==0.3.13.post1", "import mooncake.engine", "ImportError: lib", (MISSING,)),
    Stack(
        f"{NUMPY} {TORCH_215} sgl-kernel==0.3.21", "import sgl_kernel", "- ModuleNotFoundError: No module named 'common_ops'", (MISSING,),
    ),
    # Partners of PyTorch 2.8.0+cu128.
    partner("", "import torch, torchvision, torchaudio"),
    *(
        partner(f"torchaudio=={release}", "import torchaudio", says, (MISSING,) if release == "2.1.2" else (PARTNER,))
        for release, says in [
            ("2.1.2", "OSError: libnvToolsExt.so.1"),
            ("2.4.1", "OSError: "),
            ("2.5.1", "OSError: "),
            ("2.6.0", "OSError: "),
            ("2.7.1", "OSError: "),
            ("2.8.0", ""),
            ("2.9.1", "OSError: "),
            ("2.10.0", "OSError: "),
            ("2.11.0", "OSError: libcudart.so.13"),
        ]
    ),
    *(
        partner(f"torchvision=={release}", "import torchvision.ops as o, torch; o.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)", says)
        for release, says in [
            ("0.17.2", "RuntimeError"),
            ("0.18.1", "RuntimeError"),
            ("0.19.1", "RuntimeError"),
            ("0.20.1", "RuntimeError"),
            ("0.21.0", "RuntimeError"),
            ("0.22.1", "RuntimeError"),
            ("0.23.0", ""),
            ("0.24.1", "RuntimeError"),
            ("0.25.0", "RuntimeError"),
        ]
    ),
    *(
        partner(f"numpy==1.26.4 {wheels}", program, says, rules)
        for wheels, program, says, rules in [
            ("torchtext==0.18.0 tqdm==4.67.0", "import torchtext", "OSError: ", ("torch-extension-abi",)),
            ("xformers==0.0.32.post1", "import xformers.ops", "", ()),
            # FFmpeg is missing in any of its four releases, and so is libpython3.11.so.1.0.
            ("torchcodec==0.7.0", "import torchcodec", "[end of libtorchcodec loading traceback]", (MISSING,)),
            ("tokenizers==0.20.3 safetensors==0.4.5", "import torch, safetensors.torch", "", ()),
            (f"pandas==2.2.2 {DATES}", "import torch, pandas", "", ()),
        ]
    ),
    partner(
        "numpy==1.26.4 bitsandbytes==0.45.0", "import bitsandbytes", "ModuleNotFoundError: No module named 'triton.ops'", (),
        "its Python code needs a module that Triton 3.4 no longer has; imgcheck reads no Python code",
    ),
    Stack(f"pandas==2.0.3 {DATES}", "import torch, pandas", DTYPE, (TOO_NEW,), base="torch-2.8.0"),
]
