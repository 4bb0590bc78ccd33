#!/usr/bin/env python3
"""Seeds of the targets that read ELF files: real ones that the linker makes, a library for each recipe, and fat binaries.

    fuzz/seeds/elf.py

Needs gcc and binutils for x86-64. The ELF files depend on its release; all else is the same every time.
"""

import json
import pathlib
import struct
import subprocess
import tempfile

from common import write

FAT_BINARIES = pathlib.Path(__file__).resolve().parents[2] / "testdata/fatbin"

# How a file streams by: the logarithm of the bytes that come at a time, that of the KiB that are kept, a hole in steps of 4 KiB.
# Twenty more are the default reading, forty more the deep one.
AT_ONCE = struct.pack("<BBH", 20, 39, 0)
IN_PIECES = struct.pack("<BBH", 8, 48, 320)
SAMPLED = struct.pack("<BBH", 20, 19, 0)

X86_64, AARCH64 = b"\0", b"\1"
FUNCTION, OBJECT, IMPORT, CALL, DATA, SECTION, SONAME, NEEDED = range(8)


def compiled(source, *options, script=""):
    """What gcc makes of a source, without the debugging and comment sections that nobody reads."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "x.c").write_text(source)
        (directory / "x.map").write_text(script)
        command = ["gcc", "-Os", "-s", "-nostdlib", "-fno-asynchronous-unwind-tables", "-fno-ident",
                   "-Wl,-z,noseparate-code,-z,max-page-size=4096,--build-id=sha1", *options]
        if script:
            command.append(f"-Wl,--version-script={directory}/x.map")
        subprocess.run([*command, "-o", directory / "x", directory / "x.c"], check=True)
        return (directory / "x").read_bytes()


def debug_only(shared_object):
    """Its segments are not in the file; the first claims to end behind all offsets, and a wrapper of GPU code points into it."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "x").write_bytes(shared_object)
        (directory / "wrapper").write_bytes(struct.pack("<IIQQ", 0x466243B1, 1, 64, 0))
        subprocess.run(["objcopy", "--only-keep-debug", directory / "x"], check=True)
        subprocess.run(["objcopy", f"--add-section=.nvFatBinSegment={directory}/wrapper", directory / "x"], check=True)
        content = bytearray((directory / "x").read_bytes())
    struct.pack_into("<QQQQQ", content, 64 + 8, (1 << 64) - 16, 0, 0, 1 << 62, 1 << 62)
    return bytes(content)


def files():
    shared = ["-shared", "-fPIC"]
    exports = "int a(void) { return 1; } int b(void) { return a(); } int data = 7;"
    imports = "extern int f(void); extern int g; int h(void) { return f() + g; }"
    start = "void _start(void) { for (;;); }"
    versions = "V1 { global: a; local: *; }; V2 { global: b; data; } V1;"
    made = {
        "exports": compiled(exports, *shared, "-Wl,-soname,libx.so.1"),
        "versions": compiled(exports, *shared, script=versions),
        "sysv-hash": compiled(exports, *shared, "-Wl,--hash-style=sysv"),
        "imports": compiled(imports, *shared, "-Wl,-rpath,$ORIGIN/../lib:/opt/lib"),
        "runpath": compiled(imports, *shared, "-Wl,-rpath,$ORIGIN,--enable-new-dtags,-z,now"),
        "program": compiled(start, "-pie", "-fPIE", "-Wl,-dynamic-linker,/lib64/ld-linux-x86-64.so.2"),
        "static": compiled(start, "-static"),
        "executable-stack": compiled(exports, *shared, "-Wl,-z,execstack,-z,relro"),
    }
    made["debug-only"] = debug_only(made["exports"])
    made["no-sections"] = made["exports"][:40] + bytes(8) + made["exports"][48:58] + bytes(6) + made["exports"][64:]
    made["big-endian"] = made["exports"][:5] + b"\2" + made["exports"][6:]
    made["truncated"] = made["exports"][:600]
    for name, content in made.items():
        # What is behind 8 KiB is the tail of large pages. GPU code is sampled by the wrappers that the one file has.
        way = SAMPLED if name == "debug-only" else AT_ONCE
        write("elf_file", name, (way + content)[:8 << 10])
    write("elf_file", "exports-with-a-hole", (IN_PIECES + made["exports"])[:8 << 10])


def record(kind, name="", content=b""):
    name = name.encode()
    return struct.pack("<BBH", kind, len(name), len(content)) + name + content


def words(*words):
    return struct.pack(f"<{len(words)}I", *words)


def library(name, *records, machine=X86_64):
    write("elf_library", name, AT_ONCE + machine + b"".join(records))
    write("elf_library", name + "-streamed", IN_PIECES + machine + b"".join(records))


def functions(*names, body=b"\xc3"):
    return b"".join(record(FUNCTION, name, body) for name in names)


def note(owner, text):
    owner, text = owner.encode() + b"\0", text.encode()
    padded = owner + bytes(-len(owner) % 4) + text + bytes(-len(text) % 4)
    return words(len(owner), len(text), 1) + padded


def libraries():
    ret = b"\xc3"
    stub = record(DATA, "", b"You are running using the stub version of the library\0")
    constant = lambda value: b"\xb8" + words(value) + ret + b"\x66\x2e\x0f\x1f\x84" + bytes(5)
    stored = lambda value: b"\xc7\x07" + words(value) + b"\x31\xc0" + ret
    guarded = lambda value: b"\x48\x85\xff\x74\x0b" + stored(value)
    text = lambda *texts: record(DATA, "", b"\0" + b"\0".join(it.encode() for it in texts) + b"\0")

    library("torch-cuda",
            record(FUNCTION, "_ZN5torch4cuda4nccl7versionEv", b"\x48\xb8\x03\0\x1b\0\x02\0\0\0" + ret),
            record(DATA, "", b"".join(map(constant, [7, 92600, 1, 13000, 13020, 5, 92600, 13020]))),
            text("-gencode;arch=compute_90,code=sm_90;-gencode;arch=compute_90,code=[sm_90a,compute_90]"))
    library("torch-python", functions("initModule", "THPVariableClass"), text("2.8.0", "2.8"))
    library("torch-others", functions("_ZN2at13globalContextEv", "_ZN3c104cuda12device_countEv", "load_nvrtc"))
    library("driver-stub", record(FUNCTION, "cuInit", constant(34)), functions("cuDriverGetVersion"))
    compatible = json.dumps({"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550]})
    library("driver", functions("cuInit", "cuDriverGetVersion"), record(SONAME, "libcuda.so.1"),
            record(DATA, "", b"\x74\x08\xc7\x07" + words(12020) + b"\x31\xc0" + ret),
            text("nvidia-application-profiles-535.183.06-rc"),
            record(SECTION, ".note.cuda.fwd_compatibility", note("NVIDIA Corporation", compatible)))
    library("nvml", functions("nvmlInit_v2"), text("libnvidia-ml.so in GDK package is a stub library"))
    # A wrapper that calls the function behind it.
    library("cuda-runtime", record(FUNCTION, "cudaRuntimeGetVersion", b"\x48\x83\xec\x18\xe8\x07\0\0\0" + ret),
            record(DATA, "", guarded(12080)))
    getter = words(0xAA0003E1, 0xB40000A0, 0x52865F42, 0x52800000, 0xB9000022, 0xD65F03C0)
    library("cuda-runtime-aarch64",
            record(FUNCTION, "cudaRuntimeGetVersion", words(0x94000004, 0xD65F03C0, 0xD503201F, 0xD503201F)),
            record(DATA, "", getter), machine=AARCH64)
    library("cuda-runtime-static", functions("main"), record(DATA, "", guarded(12080) + b"\x90\x90" + guarded(12080)))
    library("cudnn-8", record(OBJECT, "cudnn_ops_infer_version", b"\x02\x09\x08\0"),
            record(SONAME, "libcudnn_ops_infer.so.8"),
            record(FUNCTION, "cudnnGetVersion", b"\xb8\x03\0\0\0\x85\xff" + constant(8902)),
            record(FUNCTION, "cudnnGetCudartVersion", constant(11080)),
            record(FUNCTION, "cudnnGetMaxDeviceVersion", constant(890)))
    library("cudnn-graph", record(OBJECT, "cudnn_graph_version", b"\x02\x0a\x09\0"),
            functions("cudnnGetVersion"), text("cudnnGraphVersionCheck"))
    push = b"\x6a\x02\x41\xb9\x0a\0\0\0\x41\xb8\x09\0\0\0\x48\x8d\x15\x0b\0\0\0\xe8" + bytes(4)
    library("cudnn-dispatcher", record(FUNCTION, "cudnnGetVersion", ret), record(DATA, "", push + bytes(6) + b"%s.%d.%d.%d\0"))
    arguments = words(0xD2800801, 0x52800025, 0x2A0503E6, 0x52800124, 0x94000010)
    library("cudnn-dispatcher-aarch64", functions("cudnnGetVersion", body=words(0xD65F03C0)),
            record(DATA, "", arguments), machine=AARCH64)
    check = b"\xb8\xea\x03\0\0\x90\x90\x81\xff\x7a\x63\x01\0" + ret
    library("cudnn-ops", record(SONAME, "libcudnn_ops.so.9"), functions("cudnnOpsVersionCheck"), record(DATA, "", check))
    modal = b"".join(b"\x48\xb8" + words(91002, number) for number in range(1, 4))
    library("cudnn-engines", record(SONAME, "libcudnn_engines_precompiled.so.9"),
            functions("dummyBackendEnginesPreCompiledSymbol"), record(DATA, "", modal))
    aligned = b"cudnnOpsVersionCheck\0\0\0\0" + b"\0\x0a\x09\0"
    library("cudnn-string", record(SONAME, "libcudnn_adv.so.9"), record(DATA, "", aligned))
    library("nccl", record(FUNCTION, "ncclGetVersion", guarded(22703)), text("NCCL version 2.27.3+cuda12.8"))
    pair = b"\xc7\x07" + words(12) + b"\xc7\x06" + words(8) + b"\x31\xc0" + ret
    library("nvrtc", record(FUNCTION, "nvrtcVersion", pair), text("Cuda compilation tools, release 12.8, V12.8.93"))
    library("nvrtc-builtins", record(SONAME, "libnvrtc-builtins.so.12.8"))
    library("nvjitlink", functions("nvJitLinkVersion"), text("Cuda compilation tools, release 12.8, V12.8.93"))
    library("cublaslt", record(FUNCTION, "cublasLtGetVersion", constant(120804)),
            record(FUNCTION, "cublasLtGetCudartVersion", constant(12080)))
    returned = words(0x528C6F40, 0x72A00020, 0xD65F03C0)
    library("cublaslt-aarch64", record(FUNCTION, "cublasLtGetVersion", returned), machine=AARCH64)
    library("cublas-stub", functions("cublasGetVersion_v2", "cublasCreate_v2"), stub)
    for name, getter in [("cufft", "cufftGetVersion"), ("curand", "curandGetVersion"), ("cusolver", "cusolverGetVersion"),
                         ("cusparse", "cusparseGetVersion"), ("cusparselt", "cusparseLtGetVersion")]:
        library(name, record(FUNCTION, getter, stored(11703)))
    library("cupti", record(FUNCTION, "cuptiGetVersion", b"\x41\xc7\x45\0" + words(28) + ret),
            record(SONAME, "libcupti.so.11.8"), text("Build cuda_12.8.r12.8/compiler"))
    library("others", functions("nvtxRangePushA", "nvtxMarkA", "cuFileDriverOpen", "cuFileHandleRegister"))
    library("python", functions("Py_GetVersion", "Py_BytesMain"), text("3.11.13", "3.2.0"))
    library("glibc", functions("gnu_get_libc_version@@GLIBC_2.1", "f@GLIBC_2.0"), record(SONAME, "libc.so.6"),
            text("GNU C Library (Debian GLIBC 2.36-9+deb12u10) stable release version 2.36.\n"))
    library("symbols", record(FUNCTION, "f@@V2", ret), record(FUNCTION, "f@V1", ret), record(IMPORT, "g@libc.so.6:GLIBC_2.34"),
            record(CALL, "h@libc.so.6:GLIBC_2.2.5"), record(IMPORT, "i"), record(NEEDED, "libc.so.6"))


def fat_binaries():
    for name in ["c1", "c3", "m_default", "m_size", "m_speed", "f_75", "f_90a"]:
        content = (FAT_BINARIES / f"{name}.fatbin").read_bytes()
        write("fat_binary", name, (AT_ONCE + content)[:4 << 10])
        write("fat_binary", name + "-sampled", (SAMPLED + content)[:4 << 10])
    small = (FAT_BINARIES / "m_size.fatbin").read_bytes()
    write("fat_binary", "streamed", IN_PIECES + small)
    write("fat_binary", "several", AT_ONCE + small + small)
    header = lambda length, size=16: struct.pack("<IHHQ", 0xBA55ED50, 1, size, length)
    entry = lambda kind, header, payload, arch: struct.pack(
        "<HHIQIIHHIIQQ", kind, 0x101, header, payload, 0, 64, 8, 7, arch, 0, 0x100000, 0)
    made = {
        "empty": header(0),
        "empty-and-again": header(0) * 8,
        "an-entry-without-payload": header(56) + entry(1, 56, 0, 90),
        "an-entry-longer-than-its-container": header(56) + entry(2, 64, 1 << 60, 90),
        "a-container-longer-than-its-file": header((1 << 64) - 1) + entry(2, 64, 8, 90),
        "a-header-without-room": header(56, 8) + entry(2, 56, 0, 1 << 31),
        "a-container-in-a-container": header(80) + entry(2, 56, 24, 90) + header(0) + bytes(8),
        "concatenated": header(256) + entry(0x100, 200, 0, 0)[:56] + bytes(8) + words(2, 0)
        + entry(2, 56, 0, 80)[:56] + bytes(8) + entry(1, 56, 0, 90)[:56] + bytes(72),
        "concatenated-without-end": header(256) + entry(0x100, 200, 0, 0)[:56] + bytes(8) + words(0xFFFFFFFF, 0) + bytes(200),
    }
    for name, content in made.items():
        write("fat_binary", name, AT_ONCE + content)


if __name__ == "__main__":
    files()
    libraries()
    fat_binaries()
