#!/usr/bin/env python3
"""Fetches the Helm chart of vLLM out of its source distribution on PyPI, for the test that renders and judges it.

    python3 testdata/recipes/charts.py         # into testdata/real/charts, or below IMGCHECK_REAL

It takes seconds and 10 MB. No other chart of the packages that imgcheck knows is published where pip looks.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request

import loader_images

PROJECT, FILE = "vllm", "vllm-0.9.2.tar.gz"
SHA256 = "6b0d855ea8ba18d76364c9b82ea94bfcaa9c9e724055438b5733e4716ed104e1"
CHART = "vllm-0.9.2/examples/online_serving/chart-helm"


def main():
    charts = os.path.join(os.path.dirname(loader_images.default_directory()), "charts")
    if os.path.exists(os.path.join(charts, CHART)):
        print("charts: already there")
        return
    with tarfile.open(fileobj=io.BytesIO(fetch())) as archive:
        members = [it for it in archive if it.name.startswith(CHART)]
        archive.extractall(charts, members)
    print(f"charts: {CHART}")


def fetch():
    """The source distribution. pip itself would build it to know what it needs."""
    page = f"{index()}/{PROJECT}/"
    request = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request) as answer:
        files = json.load(answer)["files"]
    address = next(it["url"] for it in files if it["filename"] == FILE)
    with urllib.request.urlopen(urllib.parse.urljoin(page, address)) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{FILE} is not the file that it was")
    return content


def index():
    """The package index that pip uses."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return (os.environ.get("PIP_INDEX_URL") or configured or "https://pypi.org/simple").rstrip("/")


if __name__ == "__main__":
    main()
