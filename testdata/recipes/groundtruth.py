#!/usr/bin/env python3
"""Fetches the files of testdata/groundtruth.csv out of published wheels, one member at a time.

    testdata/recipes/groundtruth.py --cheap     files below 20 MB (some 350 MB unpacked, both architectures): what CI uses
    testdata/recipes/groundtruth.py             all of them, 34 GB unpacked: some hours

Files go to the directory groundtruth of IMGCHECK_REAL, else of testdata/real. Files that are there with the right size are left
alone. The index is the one that pip is configured to use; rows of Debian packages are skipped. Every file is checked
against the SHA-256 of the table.
"""

import csv
import hashlib
import os
import pathlib
import struct
import sys
import zipfile
import zlib

from pip._internal.commands import create_command
from pip._internal.index.collector import parse_links
from pip._internal.network.lazy_wheel import LazyZipOverHTTP

HERE = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("IMGCHECK_REAL") or HERE / "real") / "groundtruth"
PLAIN = {"Accept-Encoding": "identity"}
LOCAL_HEADER = 30
PIECE = 64 << 20


class Index:
    """The wheels that pip's configured index offers."""

    def __init__(self):
        command = create_command("download")
        options, _ = command.parse_args([])
        self.session = command._build_session(options)
        self.collector = command._build_package_finder(options, self.session)._link_collector
        self.known = {}

    def links(self, project):
        if project not in self.known:
            def candidates(page):
                response = self.collector.fetch_response(page)
                return list(parse_links(response)) if response else []

            sources = self.collector.collect_sources(project, candidates_from_page=candidates)
            found = [source for source in sources.index_urls if source]
            self.known[project] = [link for source in found for link in source.page_candidates()]
        return self.known[project]

    def wheel(self, row):
        for link in self.links(row["package"]):
            if row["wheel"] == link.filename:
                return link
            parts = link.filename.removesuffix(".whl").split("-")
            linux = "manylinux" in parts[-1] and row["arch"] in parts[-1]
            if not row["wheel"] and link.filename.endswith(".whl") and parts[1] == row["version"] and linux:
                return link
        raise LookupError(f"the index has no wheel for {row['path']}")


def stream(session, url, start, end):
    """The bytes of a range, in pieces, so that a dropped connection costs little."""
    while start < end:
        stop = min(end, start + PIECE)
        headers = PLAIN | {"Range": f"bytes={start}-{stop - 1}"}
        response = session.get(url, headers=headers, stream=True, timeout=120)
        response.raise_for_status()
        for chunk in response.raw.stream(1 << 20, decode_content=False):
            start += len(chunk)
            yield chunk


def extract(session, url, member, path):
    """Writes one member of a remote zip file and returns its SHA-256."""
    header = b"".join(stream(session, url, member.header_offset, member.header_offset + LOCAL_HEADER))
    name, extra = struct.unpack("<26xHH", header)
    start = member.header_offset + LOCAL_HEADER + name + extra
    inflate = zlib.decompressobj(-15) if member.compress_type == zipfile.ZIP_DEFLATED else None
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        for chunk in stream(session, url, start, start + member.compress_size):
            chunk = inflate.decompress(chunk) if inflate else chunk
            digest.update(chunk)
            file.write(chunk)
    part.rename(path)
    return digest.hexdigest()


def main():
    cheap = "--cheap" in sys.argv[1:]
    with (HERE / "groundtruth.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["package"] != "debian" and (row["cheap"] == "yes" or not cheap)]
    rows.sort(key=lambda row: int(row["size"]))
    missing = {}
    for row in rows:
        path = TARGET / row["path"]
        if not path.exists() or path.stat().st_size != int(row["size"]):
            missing.setdefault((row["package"], row["version"], row["wheel"], row["arch"]), []).append(row)
    index, failed = Index(), 0
    for wanted in missing.values():
        try:
            url = index.wheel(wanted[0]).url_without_fragment
            with LazyZipOverHTTP(url, index.session) as remote:
                members = {info.filename: info for info in zipfile.ZipFile(remote).infolist()}
            for row in wanted:
                path = TARGET / row["path"]
                member = members[row["path"].split("/", 1)[1]]
                if extract(index.session, url, member, path) != row["sha256"]:
                    path.unlink()
                    raise ValueError(f"{row['path']}: SHA-256 differs from the table")
                print(row["path"], flush=True)
        except Exception as error:  # one wheel that was withdrawn must not stop the others
            print(f"{wanted[0]['path']}: {error!r}", file=sys.stderr, flush=True)
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
