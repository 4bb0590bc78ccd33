#!/usr/bin/env python3
"""Seeds of the targets that read archives and layers: tars of every format that is in use, with what makes them hard.

    fuzz/seeds/layers.py

Needs the program zstd. The same seeds are made every time.
"""

import gzip
import io
import json
import struct
import subprocess
import tarfile

from common import write

TEXT = b'ID=debian\nVERSION_ID="12"\n'
METADATA = b"Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0+cu128\nRequires-Dist: triton==3.4.0\n"


def member(name, kind=tarfile.REGTYPE, content=b"", **fields):
    """A member of an archive, for `tar`."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar(*members, format=tarfile.GNU_FORMAT):
    """An archive without the padding to a record of 20 blocks."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    data = buffer.getvalue().rstrip(b"\0")
    return data.ljust(-(-len(data) // 512) * 512, b"\0") + bytes(1024)


def header(name, kind=b"0", size=0, magic=b"ustar  \0", tail=b""):
    """A header block by hand, for what no library writes. `tail` begins at byte 345."""
    block = bytearray(512)
    block[:len(name)] = name
    block[100:108] = b"0000644\0"
    block[124:136] = b"%011o\0" % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
    block[156:157] = kind
    block[257:265] = magic
    block[345:345 + len(tail)] = tail
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(content):
    """Content in whole blocks."""
    return content + bytes(-len(content) % 512)


def sparse_old(segments, real, content, extra=()):
    """GNU tar's own sparse format: four segments in the header, 21 in each block behind it."""
    number = lambda value: b"%011o\0" % value
    pairs = lambda some: b"".join(number(offset) + number(length) for offset, length in some)
    tail = bytearray(167)
    tail[386 - 345:386 - 345 + 24 * len(segments)] = pairs(segments)
    tail[482 - 345] = bool(extra)
    tail[483 - 345:483 - 345 + 12] = number(real)
    data = header(b"usr/lib/libsparse.so", b"S", len(content), tail=bytes(tail))
    for at in range(0, len(extra), 21):
        block = bytearray(512)
        block[:24 * len(extra[at:at + 21])] = pairs(extra[at:at + 21])
        block[504] = at + 21 < len(extra)
        data += bytes(block)
    return data + padded(content)


def pax(records, name=b"x", content=b"", kind=b"0"):
    """A member behind an extended header."""
    body = b""
    for key, value in records:
        rest = b" %s=%s\n" % (key, value)
        length = len(rest) + 1
        while len(b"%d" % length) + len(rest) != length:
            length += 1
        body += b"%d" % length + rest
    extended = header(b"PaxHeaders/x", b"x", len(body), b"ustar\x0000") + padded(body)
    return extended + header(name, kind, len(content), b"ustar\x0000") + padded(content)


def elf():
    """The smallest thing that is a shared object to a reader: a header and an empty dynamic section."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    dynamic = struct.pack("<QQ", 0, 0)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    size = 64 + 2 * 56 + len(dynamic)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096)
    place = 64 + 2 * 56
    link = struct.pack("<IIQQQQQQ", 2, 4, place, place, place, len(dynamic), len(dynamic), 8)
    return head + load + link + dynamic


def archives():
    """Archives by name."""
    end = bytes(1024)
    library = elf()
    usual = [
        member("usr/", tarfile.DIRTYPE, mode=0o755),
        member("usr/lib/os-release", content=TEXT),
        member("etc/os-release", tarfile.SYMTYPE, linkname="../usr/lib/os-release"),
        member("usr/lib/libcudart.so.12.8.90", content=library, mode=0o755),
        member("usr/lib/libcudart.so.12", tarfile.LNKTYPE, linkname="usr/lib/libcudart.so.12.8.90"),
        member("dev/null", tarfile.CHRTYPE),
        member("run/fifo", tarfile.FIFOTYPE),
    ]
    long = "usr/lib/python3.11/" + "site-packages/" * 12
    segments = [(0, len(library)), (4096, 4)]
    pieces = library + b"tail"
    map_1_0 = b"2\n0\n%d\n4096\n4\n" % len(library)
    return {
        "gnu": tar(*usual),
        "ustar": tar(*usual, format=tarfile.USTAR_FORMAT),
        "pax": tar(*usual, format=tarfile.PAX_FORMAT),
        "whiteouts": tar(
            member("usr/.wh.lib"), member(".wh.etc"), member("opt/.wh..wh..opq"), member(".wh..wh.plnk/1")),
        "names": tar(
            member("./a"), member("/b"), member("../c"), member("d/../../e"), member("f//g/."), member("h\n\x1b[31m")),
        "long-gnu": tar(member(long + "METADATA", content=METADATA), member("l", tarfile.SYMTYPE, linkname=long)),
        "long-pax": tar(member(long + "METADATA", content=METADATA), format=tarfile.PAX_FORMAT),
        "long-ustar": tar(member("a/" * 60 + "b" * 40), format=tarfile.USTAR_FORMAT),
        "wheel": tar(member("usr/lib/python3/dist-packages/torch-2.8.0.dist-info/METADATA", content=METADATA)),
        "sparse-old": sparse_old(segments, 5000, pieces) + end,
        "sparse-old-extended": sparse_old(
            [(at * 8, 4) for at in range(4)], 800, b"data" * 30, [(at * 8, 4) for at in range(4, 30)]) + end,
        "sparse-pax-0.0": pax([(b"GNU.sparse.size", b"5000"), (b"GNU.sparse.numblocks", b"2")] + [
            pair for offset, length in segments
            for pair in [(b"GNU.sparse.offset", b"%d" % offset), (b"GNU.sparse.numbytes", b"%d" % length)]
        ], b"lib.so", pieces) + end,
        "sparse-pax-0.1": pax([
            (b"GNU.sparse.size", b"5000"), (b"GNU.sparse.map", b"0,%d,4096,4" % len(library)),
            (b"GNU.sparse.name", b"usr/lib/lib.so")], b"lib.so", pieces) + end,
        "sparse-pax-1.0": pax([
            (b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.realsize", b"5000"),
            (b"GNU.sparse.name", b"usr/lib/lib.so")], b"GNUSparseFile.1/lib.so", padded(map_1_0) + pieces) + end,
        "pax-size": pax([(b"size", b"3"), (b"path", b"a\nb=c")], b"x", b"abc") + end,
        "pax-global": header(b"g", b"g", 52, b"ustar\x0000") + padded(
            b"52 comment=0123456789abcdef0123456789abcdef01234567\n") + tar(member("a", content=b"b")),
        "v7": header(b"dir/", b"\0", 0, bytes(8)) + header(b"file", b"\0", 3, bytes(8)) + padded(b"abc") + end,
        "huge-size": header(b"huge", b"0", 1 << 63) + end,
        "size-on-link": header(b"link", b"2", 512) + tar(member("a")),
        "no-end": tar(*usual)[:-1024],
        "one-zero-block": tar(*usual)[:-512],
        # Cut in the middle it once passed for an archive that ends there.
        "zero-block-first": bytes(512) + header(b"a"),
        "no-padding": header(b"a", b"0", 3) + b"abc",
        "empty": end,
    }


def zstd(data, *options):
    """Compressed by the program."""
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, stdout=subprocess.PIPE, check=True).stdout


def blobs(found):
    """Compressed layers by name."""
    plain = found["gnu"]
    half = len(plain) // 2
    squeeze = lambda data: gzip.compress(data, mtime=0)
    skippable = bytes.fromhex("502a4d18") + struct.pack("<I", 4) + b"skip"
    return {
        "plain": plain,
        "gzip": squeeze(plain),
        "gzip-members": squeeze(plain[:half]) + squeeze(b"") + squeeze(plain[half:]),
        "gzip-padding": squeeze(plain) + bytes(100),
        "gzip-stored": gzip.compress(found["wheel"], 0, mtime=0),
        "gzip-garbage": squeeze(plain) + b"garbage",
        "gzip-in-gzip": squeeze(squeeze(plain)),
        "gzip-zeros": squeeze(bytes(1 << 20)),
        "zstd": zstd(plain),
        "zstd-no-checksum": zstd(plain, "--no-check", "-19"),
        "zstd-frames": zstd(plain[:half]) + skippable + zstd(plain[half:]),
        "zstd-skippable": skippable + zstd(plain),
        "zstd-long": zstd(plain, "--long=27", "--no-content-size"),
        "zstd-zeros": zstd(bytes(1 << 20)),
        "sparse": squeeze(found["sparse-old"]),
    }


def tables():
    """Tables of contents by name."""
    digest = "sha256:" + "0" * 64
    row = {"type": "reg", "name": "etc/os-release", "mode": 0o644, "size": 27, "digest": digest, "offset": 100}
    entries = {
        "usual": [
            {"type": "dir", "name": "etc/", "mode": 0o755},
            row | {"chunkDigest": digest, "endOffset": 200},
            {"type": "symlink", "name": "a", "linkName": "etc/os-release"},
            {"type": "hardlink", "name": "b", "linkName": "etc/os-release"},
            {"type": "reg", "name": "etc/empty", "size": 0},
            {"type": "reg", "name": "usr/.wh.lib"}, {"type": "char", "name": "dev/null"},
        ],
        "chunks": [
            row | {"name": "usr/lib/lib.so", "size": 60, "chunkSize": 20, "chunkDigest": digest},
            {"type": "chunk", "name": "usr/lib/lib.so", "offset": 200, "chunkOffset": 20, "chunkSize": 20,
             "chunkType": "zeros"},
            {"type": "chunk", "name": "usr/lib/lib.so", "offset": 300, "chunkOffset": 40, "chunkDigest": digest},
        ],
        "inner": [row | {"innerOffset": 512}, row | {"name": "x", "innerOffset": 1024, "size": 5}],
        "outside": [row | {"offset": 1 << 62, "endOffset": (1 << 64) - 1}],
        "numbers": [row | {"size": (1 << 64) - 1, "chunkSize": (1 << 64) - 1, "chunkOffset": (1 << 64) - 1}],
        "orphan": [{"type": "chunk", "name": "x", "chunkOffset": 5}],
    }
    found = {name: json.dumps({"version": 1, "entries": rows}) for name, rows in entries.items()}
    return found | {"version": '{"version": 2, "entries": []}', "twice": '{"entries": [], "entries": [], "version": 1}'}


def main():
    found = archives()
    for name, data in found.items():
        write("archive_walk", name, data)
        write("layer_scan", name, data + b"\0\x80")
    for name, data in blobs(found).items():
        write("layer_blob", name, data)
    for name, text in tables().items():
        write("chunked_table", name, text)


if __name__ == "__main__":
    main()
