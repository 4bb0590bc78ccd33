"""Symbols that extensions need of PyTorch."""

from __future__ import annotations

import unittest

from ..index import Index
from ..symbols import markdown, missing, table
from .server import Server, recorded, wheel

LINUX = "cp312-cp312-manylinux_2_28_x86_64.whl"
NEEDS, OLD, NEW = (recorded(f"symbols-{name}.so") for name in ("needs", "old", "new"))


class Symbols(unittest.TestCase):
    def test_both_kinds_of_hash_tables(self) -> None:
        self.assertEqual(table(NEEDS), ({"_ZN3c104goneEv", "_ZN3c104staysEv", "other"}, {"f"}))
        self.assertEqual(table(OLD), (set(), {"_ZN3c104goneEv", "_ZN3c104staysEv"}))
        self.assertEqual(table(NEW), (set(), {"_ZN3c104staysEv"}))

    def test_damage_is_a_value_error(self) -> None:
        for data in (b"", NEEDS[:600], NEEDS[:64] + b"\xff" * 2000, NEEDS[:300] + bytes(4000)):
            with self.assertRaises(ValueError):
                table(data)

    def test_the_release_that_lacks_a_symbol_is_found(self) -> None:
        with Server() as server:
            members = {"torchaudio/lib/_torchaudio.so": NEEDS, "torchaudio.libs/libx.so": b"not read"}
            server.publish(f"torchaudio-2.11.0-{LINUX}", wheel("torchaudio", "2.11.0", members))
            for version, data in (("2.14.0", OLD), ("2.15.0", NEW)):
                server.publish(f"torch-{version}-{LINUX}", wheel("torch", "2.15.0", {"torch/lib/libc10.so": data}))
            index = Index(server.url)
            found = missing(index, "torchaudio", "2.11.0", ["2.14.0", "2.15.0"])
            # Without a release that has it, a symbol may be one of CUDA's libraries, which are not read.
            alone = missing(index, "torchaudio", "2.11.0", ["2.15.0"])
        self.assertEqual(found, {"2.14.0": set(), "2.15.0": {"_ZN3c104goneEv"}})
        self.assertEqual(alone, {"2.15.0": set()})
        self.assertEqual(markdown(found), "- torch 2.14.0: has all\n- torch 2.15.0: lacks 1, such as `_ZN3c104goneEv`\n")
