"""A package index on this machine, with wheels made of recorded members."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

INPUTS = Path(__file__).parent / "inputs"


def recorded(name: str) -> bytes:
    """A recorded input."""
    return (INPUTS / name).read_bytes()


def wheel(project: str, version: str, members: dict[str, bytes] | None = None) -> bytes:
    """A wheel with the recorded METADATA."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in (members or {}).items():
            archive.writestr(path, data)
        directory = f"{project.replace('-', '_')}-{version}.dist-info"
        archive.writestr(f"{directory}/WHEEL", "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_x86_64\n")
        archive.writestr(f"{directory}/METADATA", recorded(f"{project}-{version}.METADATA"))
    return stream.getvalue()


class Server:
    """`with Server() as server:` serves what was published before."""

    def __init__(self, html: bool = False, ranges: bool = True) -> None:
        self.html, self.ranges = html, ranges
        self.projects: dict[str, list[dict[str, Any]]] = {}
        self.data: dict[str, bytes] = {}
        self.sent = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/simple"

    def publish(self, filename: str, data: bytes = b"", **entry: Any) -> None:
        """Publishes a file; `entry` has more fields of PEP 691."""
        project = filename.split("-")[0].replace("_", "-").lower()
        self.data[f"/files/{filename}"] = data
        entry = {"filename": filename, "url": f"../../files/{filename}#sha256=00", "upload-time": "2026-10-28T15:21:05Z", **entry}
        self.projects.setdefault(project, []).append(entry)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answers one request."""
        status, kind, headers = 200, "application/octet-stream", {}
        data = self.data.get(request.path)
        if data is None:
            entries = self.projects.get(request.path.split("/")[2]) if request.path.startswith("/simple/") else None
            if entries is None:
                request.send_error(404)
                return
            kind = "text/html" if self.html else "application/vnd.pypi.simple.v1+json"
            data = page(entries).encode() if self.html else json.dumps({"files": entries}).encode()
        elif self.ranges and request.headers.get("Range"):
            first, last = map(int, request.headers["Range"].split("=")[1].split("-"))
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            status, data = 206, data[first : last + 1]
        self.sent += len(data)
        request.send_response(status)
        for name, value in {**headers, "Content-Type": kind, "Content-Length": str(len(data))}.items():
            request.send_header(name, value)
        request.end_headers()
        try:
            request.wfile.write(data)
        except ConnectionError:
            pass  # a client that needs ranges hangs up

    def __enter__(self) -> Server:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


def page(entries: list[dict[str, Any]]) -> str:
    """A page of PEP 503."""
    lines = []
    for entry in entries:
        yanked = ' data-yanked=""' if entry.get("yanked") else ""
        lines.append(f'<a href="{entry["url"]}"{yanked}>{entry["filename"]}</a><br>\n')
    return "<!DOCTYPE html><html><body>\n" + "".join(lines) + "</body></html>\n"


TORCH = {
    "torch/version.py": "torch-2.15.0.version.txt",
    "torch/__init__.py": "torch-2.15.0.init.txt",
    "torch/cuda/__init__.py": "torch-2.15.0.cuda.txt",
    "torch/lib/libtorch_global_deps.so": "torch-2.15.0.libtorch_global_deps.so",
}


def torch_wheel() -> bytes:
    """torch 2.15.0, with what is read of its large libraries."""
    members = {path: recorded(name) for path, name in TORCH.items()}
    members["torch/lib/libtorch_python.so"] = b"\x00sm_75 sm_80 sm_86 sm_90 sm_100 sm_120\x00sm_89\x00"
    members["torch/lib/libc10.so"] = b"\x00_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string\x00"
    return wheel("torch", "2.15.0", members)
