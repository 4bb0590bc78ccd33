"""The programs that are run in the images of `loader_images.py`: what is imported, and what opens libraries afterwards."""

# Every cuDNN dispatcher answers these by asking the sublibrary, which it opens for that; a name of another major is skipped.
CUDNN_CHECKS = (
    "cudnnGraphVersionCheck", "cudnnOpsVersionCheck", "cudnnCnnVersionCheck", "cudnnAdvVersionCheck",
    "cudnnOpsInferVersionCheck", "cudnnOpsTrainVersionCheck", "cudnnCnnInferVersionCheck", "cudnnCnnTrainVersionCheck",
    "cudnnAdvInferVersionCheck", "cudnnAdvTrainVersionCheck",
)
CALL_CUDNN = f"""
cudnn = ctypes.CDLL(CUDNN)
for name in {CUDNN_CHECKS!r}:
    if hasattr(cudnn, name):
        print(name, getattr(cudnn, name)(), flush=True)
"""
COMPILE_WITH_NVRTC = """
nvrtc = ctypes.CDLL(NVRTC)
program = ctypes.c_void_p()
print("create", nvrtc.nvrtcCreateProgram(ctypes.byref(program), b"__global__ void f() {}", b"f.cu", 0, None, None))
print("compile", nvrtc.nvrtcCompileProgram(program, 0, None))
"""


def torch_first_use(imports, cudnn, nvrtc):
    """Imports, then asks cuDNN for its version, checks every sublibrary and compiles a kernel with NVRTC.

    `nvrtc` is a file name that import has loaded already, or a glob below site-packages.
    """
    name = repr(nvrtc) if "/" not in nvrtc else f"glob.glob(os.path.dirname(os.path.dirname(torch.__file__)) + '/' + {nvrtc!r})[0]"
    return (
        f"import ctypes, glob, os\n{imports}\nprint(torch.backends.cudnn.version(), flush=True)\n"
        + CALL_CUDNN.replace("CUDNN", repr(cudnn), 1)
        + COMPILE_WITH_NVRTC.replace("NVRTC", name, 1)
    )


# The smallest model there is: one Identity node from `x` to `y`, float[1], IR version 8, opset 17.
ONNX_IDENTITY = bytes.fromhex(
    "0808" "3a37" "0a100a0178120179" "22084964656e74697479" "120167"
    "5a0f0a0178120a0a08080112040a020801" "620f0a0179120a0a08080112040a020801" "4202" "1011"
)
ONNX_FIRST_USE = f"""import onnxruntime
onnxruntime.preload_dlls()
session = onnxruntime.InferenceSession(bytes.fromhex({ONNX_IDENTITY.hex()!r}), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
print(session.get_providers())
"""
TENSORFLOW_FIRST_USE = "import tensorflow\nprint(tensorflow.config.list_physical_devices('GPU'))\n"
JAX_FIRST_USE = "import jax\nprint(jax.devices())\nprint(jax.numpy.ones(3).sum())\n"
