"""Single members of a published wheel, by range requests (RFC 9110, section 14). Nothing is unpacked, imported or run."""

from __future__ import annotations

import io
import zipfile
from http.client import HTTPResponse

from .index import File, request
from .metadata import Metadata

BLOCK = 1 << 17  # bytes of one request, at least
LARGEST = 1 << 26  # bytes of a member
LARGEST_SEARCHED = 1 << 30  # bytes of a member that is searched, and not kept
PIECE = 1 << 22  # bytes of it that are in memory


class NoRanges(Exception):
    """The server ignores `Range`: the wheel would have to be downloaded whole."""


class RangeFile(io.RawIOBase):
    """A file on an HTTP server, for random access."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.position = 0
        self.fetched = 0
        with self._get(0, 0) as response:
            self.size = int(response.headers["Content-Range"].rsplit("/", 1)[1])

    def _get(self, first: int, last: int) -> HTTPResponse:
        headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
        response = request(self.url, headers)
        if response.status != 206:
            response.close()
            raise NoRanges(self.url.rsplit("/", 1)[-1])
        return response

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        self.position = max(0, start + offset)
        return self.position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        last = min(self.position + len(buffer), self.size) - 1
        if last < self.position:
            return 0
        with self._get(self.position, last) as response:
            data = response.read(last - self.position + 1)
        buffer[: len(data)] = data
        self.position += len(data)
        self.fetched += len(data)
        return len(data)


class Wheel:
    """A published wheel."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._zip: zipfile.ZipFile | None = None

    @property
    def zip(self) -> zipfile.ZipFile:
        """The directory of members."""
        if self._zip is None:
            raw = RangeFile(self.file.url)
            self._zip = zipfile.ZipFile(io.BufferedReader(raw, BLOCK))
        return self._zip

    def member(self, path: str) -> bytes | None:
        """The content of a member, whose checksum is compared; `None` if there is none of that name."""
        try:
            information = self.zip.getinfo(path)
        except KeyError:
            return None
        if information.file_size > LARGEST:
            raise ValueError(f"{self.file.name}: {path} has {information.file_size} bytes, more than {LARGEST}")
        return self.zip.read(information)

    def contains(self, path: str, text: bytes) -> bool:
        """Whether a member contains a text; false if there is none of that name."""
        if path not in self.zip.NameToInfo:
            return False
        size = self.zip.getinfo(path).file_size
        if size > LARGEST_SEARCHED:
            raise ValueError(f"{self.file.name}: {path} has {size} bytes, more than {LARGEST_SEARCHED}")
        before = b""
        with self.zip.open(path) as member:
            while piece := member.read(PIECE):
                before += piece
                if text in before:
                    return True
                before = before[-len(text) :]
        return False

    def text(self, path: str) -> str:
        """The text of a member; empty if there is none of that name."""
        return (self.member(path) or b"").decode("utf-8", "replace")

    def tag(self) -> str:
        """The first tag that the wheel gives itself, which may be wider than that of its file name."""
        names = [name for name in self.zip.namelist() if name.count("/") == 1 and name.endswith(".dist-info/WHEEL")]
        tags = [line for name in names for line in self.text(name).splitlines() if line.startswith("Tag: ")]
        return tags[0][5:].strip() if tags else "unknown"

    def metadata(self) -> Metadata:
        """METADATA: published beside the wheel, or the member."""
        if self.file.metadata:
            with request(self.file.url + ".metadata", {}) as response:
                return Metadata(response.read().decode("utf-8", "replace"))
        names = [name for name in self.zip.namelist() if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
        if len(names) != 1:
            raise ValueError(f"{self.file.name}: {len(names)} METADATA")
        return Metadata(self.text(names[0]))
