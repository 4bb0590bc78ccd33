"""The dynamic section of a small ELF file (System V gABI, chapter 5), for 64-bit little-endian machines."""

from __future__ import annotations

import struct

PT_LOAD, PT_DYNAMIC = 1, 2
DT_HASH, DT_SYMTAB, DT_GNU_HASH = 4, 6, 0x6FFFFEF5
DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
NAMES = {DT_NEEDED: "needed", DT_SONAME: "soname", DT_RPATH: "rpath", DT_RUNPATH: "runpath"}


def dynamic(data: bytes) -> dict[str, list[str]]:
    """The texts of DT_NEEDED, DT_SONAME, DT_RPATH and DT_RUNPATH.

    Raises `ValueError` for what is no such file, or is damaged.
    """
    try:
        return _dynamic(data)
    except (struct.error, IndexError) as error:
        raise ValueError(f"damaged ELF file: {error}") from error


def _entries(data: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """The entries of the dynamic section, and the loaded segments: address, offset, size."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, start + number * size) for number in range(count)]
    loads = [(h[3], h[2], h[5]) for h in headers if h[0] == PT_LOAD]
    entries: list[tuple[int, int]] = []
    for header in headers:
        if header[0] == PT_DYNAMIC:
            section = data[header[2] : header[2] + header[5]]
            if len(section) < header[5]:
                raise ValueError("the dynamic section is outside the file")
            entries = list(struct.iter_unpack("<QQ", section[: len(section) // 16 * 16]))
    if not entries:
        raise ValueError("no dynamic section")
    return entries, loads


def _dynamic(data: bytes) -> dict[str, list[str]]:
    entries, loads = _entries(data)
    texts: dict[str, list[str]] = {name: [] for name in NAMES.values()}
    strings = next((_offset(loads, value) for tag, value in entries if tag == DT_STRTAB), None)
    for tag, value in entries:
        if tag in NAMES and strings is not None:
            begin = strings + value
            texts[NAMES[tag]].append(data[begin : data.index(0, begin)].decode("utf-8", "replace"))
    return texts


def symbol_table(data: bytes) -> tuple[int, int, int]:
    """Where the names and the entries of the dynamic symbol table are in the file, and how many entries it has.

    Raises `ValueError` for what is no such file, `struct.error` or `IndexError` for one that is damaged.
    """
    entries, loads = _entries(data)
    places = {tag: value for tag, value in entries}
    if DT_STRTAB not in places or DT_SYMTAB not in places:
        raise ValueError("no symbol table")
    strings, symbols = _offset(loads, places[DT_STRTAB]), _offset(loads, places[DT_SYMTAB])
    if DT_HASH in places:
        return strings, symbols, struct.unpack_from("<II", data, _offset(loads, places[DT_HASH]))[1]
    if DT_GNU_HASH not in places:
        raise ValueError("no table of hashes")
    return strings, symbols, _count(data, _offset(loads, places[DT_GNU_HASH]))


def _count(data: bytes, table: int) -> int:
    """The number of symbols by a GNU hash table: its chain of the last bucket ends with the last symbol."""
    buckets, first, words, _ = struct.unpack_from("<IIII", data, table)
    begin = table + 16 + 8 * words
    last = max(struct.unpack_from(f"<{buckets}I", data, begin), default=0)
    if last < first:
        return first
    while not struct.unpack_from("<I", data, begin + 4 * (buckets + last - first))[0] & 1:
        last += 1
    return last + 1


def _offset(loads: list[tuple[int, int, int]], address: int) -> int:
    """Where in the file the byte with this address is."""
    for begin, offset, size in loads:
        if begin <= address < begin + size:
            return offset + address - begin
    raise ValueError("an address outside the file")
