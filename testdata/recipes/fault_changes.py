"""The changes that faults make to a root: every function replaces files and never writes into one, because roots share them."""

import os
import struct
import subprocess

import rootfs


def site(root):
    """Where pip put the packages."""
    for version in rootfs.PYTHON_OF_SUITE.values():
        path = f"usr/local/lib/python{version}/dist-packages"
        if os.path.isdir(os.path.join(root, path)):
            return path
    raise FileNotFoundError(f"{root}: no dist-packages")


def put(root, path, source):
    """Replaces a path by a real file, hard-linked if possible, because nothing writes into it."""
    target = absent(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.link(source, target)


def put_all(root, directory, sources):
    """Several real files into one directory, by their own names."""
    for source in sources.values():
        put(root, os.path.join(directory, os.path.basename(source)), source)


def absent(root, path):
    """Removes the file if it is there."""
    target = os.path.join(root, path)
    if os.path.lexists(target):
        os.remove(target)
    return target


def remove(root, path):
    """Removes a file, which must be there, and the links that led to it are left dangling."""
    os.remove(os.path.join(root, path))


def write(root, path, data):
    target = absent(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(data)
    os.chmod(target, 0o755)


def truncate(root, path, size):
    """The first bytes of a file, as an interrupted copy leaves them; `size` is bytes, or a share of the file below 1."""
    with open(os.path.join(root, path), "rb") as file:
        kept = int(os.path.getsize(file.name) * size) if size < 1 else size
        data = file.read(kept)
    write(root, path, data)


def executable_stack(root, path):
    """Sets the X flag of PT_GNU_STACK, as a missing `.note.GNU-stack` in one assembler file does."""
    with open(os.path.join(root, path), "rb") as file:
        data = bytearray(file.read())
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    for at in range(offset, offset + size * count, size):
        kind, flags = struct.unpack_from("<II", data, at)
        if kind == 0x6474E551:
            struct.pack_into("<I", data, at + 4, flags | 1)
    write(root, path, bytes(data))


def hide_versions(root, path, prefix, newest):
    """Renames the version nodes `prefix` above `newest` in .gnu.version_d, as an older release of the library has fewer of them.

    Both the hash and the name are changed, for the loader compares the hash first.
    """
    with open(os.path.join(root, path), "rb") as file:
        data = bytearray(file.read())
    for at, name, auxiliary, strings in version_definitions(data):
        text = name.decode()
        if text.startswith(prefix) and text[len(prefix) :].replace(".", "").isdigit():
            if tuple(map(int, text[len(prefix) :].split("."))) > newest:
                hidden = b"H" + name[1:]
                struct.pack_into("<I", data, at + 8, elf_hash(hidden))
                data[strings + auxiliary : strings + auxiliary + 1] = b"H"
    write(root, path, bytes(data))


def version_definitions(data):
    """Yields (offset of the Verdef, its first name, offset of that name in the string table, offset of the string table)."""
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(count)]
    for header in headers:
        if header[1] != 0x6FFFFFFD:
            continue
        strings, at = headers[header[6]][4], header[4]
        while True:
            auxiliary, following = struct.unpack_from("<II", data, at + 12)
            (name,) = struct.unpack_from("<I", data, at + auxiliary)
            yield at, bytes(data[strings + name : data.index(b"\0", strings + name)]), name, strings
            if not following:
                break
            at += following


def elf_hash(name):
    """The System V ELF hash."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ ((value & 0xF0000000) >> 24)) & 0x0FFFFFFF
    return value


def reinstall(root, *wheels, python="3.11"):
    """What somebody does who runs `pip install --no-deps` with another release."""
    rootfs.pip_install(root, wheels, python, dependencies=False)


def ldconfig(root):
    subprocess.run(["chroot", root, "/sbin/ldconfig"], check=True)
