#!/usr/bin/env python3
"""Seeds of the target that compares decoders of gzip: deflate streams with blocks of every type, and gzip members with every field.

    fuzz/seeds/deflate.py

They depend on the release of zlib.
"""

import gzip
import random
import zlib

from common import write

# The logarithms of the lengths of the pieces: of output in the upper four bits, of input in the lower ones.
PIECES = {"whole": b"\xff", "small": b"\x34", "bytes": b"\x00"}
RAW = -15

TEXT = b"the quick brown fox jumps over the lazy dog, the quick brown dog jumps over the lazy fox. " * 8
FAR = TEXT[:300] + random.Random(1).randbytes(1500) + TEXT[:300]
PLAINS = {
    "empty": b"",
    "one": b"x",
    "text": TEXT,
    "zeros": bytes(40_000),
    "far": FAR,
    "random": random.Random(2).randbytes(600),
}


def deflate(plain, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
    """One stream."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, RAW, 9, strategy)
    return compressor.compress(plain) + compressor.flush()


def flushed(plain):
    """A stream with an empty stored block between two others."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, RAW)
    half = len(plain) // 2
    return (compressor.compress(plain[:half]) + compressor.flush(zlib.Z_FULL_FLUSH)
            + compressor.compress(plain[half:]) + compressor.flush())


STREAMS = {
    "dynamic": deflate,
    "fast": lambda plain: deflate(plain, 1),
    "stored": lambda plain: deflate(plain[:4000], 0),
    "fixed": lambda plain: deflate(plain, 9, zlib.Z_FIXED),
    "huffman": lambda plain: deflate(plain[:4000], 9, zlib.Z_HUFFMAN_ONLY),
    "runs": lambda plain: deflate(plain, 9, zlib.Z_RLE),
    "flushed": flushed,
}


def members():
    """Members whose headers have each field, with and without its checksum."""
    body = deflate(TEXT)
    end = zlib.crc32(TEXT).to_bytes(4, "little") + len(TEXT).to_bytes(4, "little")
    extra, name, comment = b"\x05\0extra", b"name\0", b"a comment\0"
    for flags in (0, 1, 2, 4, 8, 16, 30, 31):
        header = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\x03"
        for bit, field in ((4, extra), (8, name), (16, comment)):
            header += field if flags & bit else b""
        if flags & 2:
            header += (zlib.crc32(header) & 0xffff).to_bytes(2, "little")
        yield f"member-{flags:02}", header + body + end


def main():
    """Writes all."""
    target = "gzip_decoders"
    for name, pieces in PIECES.items():
        write(target, f"text-{name}", pieces + deflate(TEXT))
    for kind, make in STREAMS.items():
        for name, plain in PLAINS.items():
            write(target, f"{kind}-{name}", PIECES["whole"] + make(plain))
    for name, member in members():
        write(target, name, PIECES["small"] + member)
    write(target, "members", PIECES["whole"] + gzip.compress(TEXT, mtime=0) * 2)


if __name__ == "__main__":
    main()
