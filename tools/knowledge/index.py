"""The package index that pip is configured with (PEP 503 and PEP 691), and HTTP."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPResponse
from urllib.parse import urldefrag, urljoin

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

DEFAULT = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
TIMEOUT = 120  # seconds
TRIES = 4


@dataclass(frozen=True)
class File:
    """One published file of a project."""

    name: str
    url: str
    version: Version
    tags: frozenset[str]
    """`cp312-cp312-manylinux_2_28_x86_64` …; empty for a source distribution."""
    uploaded: str = ""
    """The day, `2026-10-28`; empty where the index does not say."""
    metadata: bool = False
    """Whether METADATA is published beside the file (PEP 658)."""
    yanked: bool = False
    """Whether pip installs it only if its version is pinned with `==` (PEP 592)."""

    def runs_on_linux(self) -> bool:
        """Whether this is a wheel for Linux on x86-64."""
        platforms = {tag.rsplit("-", 1)[1] for tag in self.tags}
        return any(p == "any" or (p.startswith(("manylinux", "linux")) and p.endswith("x86_64")) for p in platforms)


class Index:
    """Reads projects, each once."""

    def __init__(self, url: str | None = None) -> None:
        self.url = (url or configured()).rstrip("/") + "/"
        self._projects: dict[str, list[File]] = {}

    def files(self, project: str, yanked: bool = False) -> list[File]:
        """The files of a project, without those that are yanked unless they are asked for; an unknown project has none."""
        name = canonicalize_name(project)
        if name not in self._projects:
            self._projects[name] = self._read(name)
        return [file for file in self._projects[name] if yanked or not file.yanked]

    def releases(self, project: str) -> dict[Version, list[File]]:
        """The wheels for Linux of each stable release, the oldest release first."""
        releases: dict[Version, list[File]] = {}
        for file in self.files(project):
            if file.runs_on_linux() and not file.version.is_prerelease:
                releases.setdefault(file.version, []).append(file)
        return {version: releases[version] for version in sorted(releases)}

    def _read(self, name: str) -> list[File]:
        url = f"{self.url}{name}/"
        try:
            with request(url, {"Accept": ACCEPT}) as response:
                is_json = "json" in response.headers.get_content_type()
                url, text = response.url, response.read().decode()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return []
            raise
        entries = json.loads(text)["files"] if is_json else links(text)
        files = [file_of(entry, url) for entry in entries]
        return [file for file in files if file is not None]


def file_of(entry: dict[str, object], page: str) -> File | None:
    """A file from its entry in the index; `None` for what is neither a wheel nor a source distribution."""
    name = str(entry["filename"])
    try:
        if name.endswith(".whl"):
            _, version, _, parsed = parse_wheel_filename(name)
            tags = frozenset(map(str, parsed))
        else:
            _, version = parse_sdist_filename(name)
            tags = frozenset()
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    url = urldefrag(urljoin(page, str(entry["url"]))).url
    metadata = bool(entry.get("core-metadata") or entry.get("dist-info-metadata"))
    return File(name, url, version, tags, str(entry.get("upload-time", ""))[:10], metadata, bool(entry.get("yanked", False)))


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.entries: list[dict[str, object]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        target = values.get("href")
        if tag == "a" and target:
            name = urldefrag(target).url.rsplit("/", 1)[-1].replace("%2B", "+")
            entry: dict[str, object] = {"filename": name, "url": target, "yanked": "data-yanked" in values}
            entry["core-metadata"] = values.get("data-core-metadata") or values.get("data-dist-info-metadata")
            self.entries.append(entry)


def links(html: str) -> list[dict[str, object]]:
    """The links of an HTML page, as entries of PEP 691."""
    parser = _Links()
    parser.feed(html)
    return parser.entries


def configured() -> str:
    """The index that pip uses."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return answer.stdout.decode().strip() or DEFAULT


def request(url: str, headers: dict[str, str]) -> HTTPResponse:
    """Opens a URL; tries again when the server or the network fails."""
    for attempt in range(TRIES):
        try:
            answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT, context=_tls())
            assert isinstance(answer, HTTPResponse)
            return answer
        except urllib.error.HTTPError as error:
            if error.code not in (429, 500, 502, 503, 504) or attempt + 1 == TRIES:
                raise
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if attempt + 1 == TRIES:
                raise
        time.sleep(2**attempt)
    raise AssertionError("unreachable")


def _tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ.get("PIP_CERT") or None)
