#!/usr/bin/env python3
"""Compares what imgcheck says about native modules of Python distributions with what dlopen says.

    python3 testdata/recipes/native_modules.py --imgcheck target/release/imgcheck --out /somewhere/with/space

Unpacks the newest wheel of each distribution of DISTRIBUTIONS, without what it requires, over one Debian root with Python 3.11 and
nothing else, opens each module in that root with `ctypes.CDLL`, and compares: a distribution of which imgcheck reports a missing library
must have one, and one whose modules all open must not be reported. Needs root (chroot), debootstrap and pip; about 10 GB of disk.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import zipfile

import rootfs

SITE = "usr/local/lib/python3.11/dist-packages"
# Among the most downloaded distributions with native code.
DISTRIBUTIONS = """
    numpy pandas scipy scikit-learn pyarrow cryptography cffi pydantic-core charset-normalizer pyyaml markupsafe aiohttp frozenlist multidict
    yarl propcache lxml pillow psutil grpcio protobuf sqlalchemy greenlet wrapt regex rpds-py orjson msgpack ujson tokenizers safetensors
    sentencepiece tiktoken matplotlib kiwisolver contourpy fonttools pynacl bcrypt uvloop httptools watchfiles websockets zstandard lz4 h5py
    numba llvmlite shapely fiona rasterio pyproj psycopg2-binary asyncpg pymongo duckdb polars statsmodels xgboost catboost onnx rapidfuzz
    spacy thinc blis gevent pyzmq debugpy pycryptodome soundfile av scikit-image opencv-python-headless pyodbc ray faiss-cpu tables netCDF4
    ml-dtypes jaxlib optree PyMuPDF vtk ortools pygame lmdb lightgbm open3d PySide6-Essentials PyQt5 torchcodec onnxruntime mediapipe
""".split()
ORACLE = """
import csv, ctypes, glob, os
for record in sorted(glob.glob("/SITE/*.dist-info/RECORD")):
    name = os.path.basename(os.path.dirname(record)).split("-")[0]
    if os.fork() == 0:
        for path in (row[0] for row in csv.reader(open(record)) if row and row[0].endswith(".so") and ".libs/" not in row[0]):
            try:
                ctypes.CDLL(os.path.join("/SITE", path))
            except OSError as error:
                if "cannot open shared object file" in str(error):
                    print(name.lower().replace("_", "-"), flush=True)
        os._exit(0)
    os.wait()
""".replace("SITE", SITE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imgcheck", required=True, type=os.path.abspath)
    parser.add_argument("--out", required=True, type=os.path.abspath)
    options = parser.parse_args()
    root, wheels = os.path.join(options.out, "root"), os.path.join(options.out, "wheels")
    rootfs.debian_root(root, "bookworm", ["python3"])
    os.makedirs(wheels, exist_ok=True)
    os.makedirs(os.path.join(root, SITE), exist_ok=True)
    for name in DISTRIBUTIONS:
        rootfs.pip_download([name], wheels, "3.11", dependencies=False)
    for path in sorted(glob.glob(os.path.join(wheels, "*.whl"))):
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(os.path.join(root, SITE))
    oracle = subprocess.run(["chroot", root, "python3", "-c", ORACLE], check=True, stdout=subprocess.PIPE, text=True)
    incomplete = set(oracle.stdout.split())
    report = subprocess.run(
        [options.imgcheck, "--no-config", "--no-cache", "--format", "json", f"dir:{root}"], check=False, stdout=subprocess.PIPE, text=True
    )
    missing = json.loads(report.stdout)["images"][0]["loader"]["missing"]
    reported = {fault["package"] for fault in missing if fault.get("without") == "module"}
    print(f"{len(DISTRIBUTIONS)} distributions; dlopen misses libraries of {sorted(incomplete)}")
    print(f"reported: {sorted(reported)}; alarms: {sorted(reported - incomplete)}; not reported: {sorted(incomplete - reported)}")
    sys.exit(bool(reported - incomplete))


if __name__ == "__main__":
    main()
