"""Rows of torch, and what changed since the release before."""

from __future__ import annotations

import unittest

from packaging.version import Version

from ..__main__ import TABLES
from ..elf import dynamic
from ..index import Index
from ..preload import differences as preload_differences
from ..preload import libraries
from ..rows import rows_of
from ..torch import build_of, built, cxx11_abi, derive
from ..update import differences
from .server import Server, recorded, torch_wheel, wheel

LINUX = "manylinux_2_28_x86_64.whl"


class Torch(unittest.TestCase):
    def test_the_row_of_a_real_release(self) -> None:
        with Server() as server:
            for python in ("311", "315"):
                server.publish(f"torch-2.15.0-cp{python}-cp{python}-{LINUX}", torch_wheel())
            for version in ("0.29.0", "0.29.2"):
                server.publish(f"torchvision-{version}-cp312-cp312-{LINUX}", wheel("torchvision", version))
            server.publish(f"torchaudio-2.11.0-cp312-cp312-{LINUX}", wheel("torchaudio", "2.11.0"))
            index = Index(server.url)
            row = derive(index, "torch", Version("2.15.0"), index.releases("torch")[Version("2.15.0")])
        assert row is not None
        self.assertEqual(row["torchvision"], ["0.29.2"])
        self.assertEqual(row["torchaudio"], ["unknown"])
        self.assertEqual((row["python"]["from"], row["python"]["to"]), ("3.11", "3.15"))
        known = next(known for known in rows_of((TABLES / "pytorch.yaml").read_text(), "releases") if known["version"] == "2.15.0")
        known.pop("torchvision")
        self.assertEqual(differences(known, row), [])
        # The comparison sees a difference.
        row["pypi_default"]["cudnn"] = "9.9.9"
        self.assertEqual(differences(known, row), ["pypi_default.cudnn is 9.26.0.51, derived 9.9.9"])

    def test_a_build_without_cuda_has_no_row(self) -> None:
        self.assertNotIn("cuda", build_of("__version__ = '2.15.0+cpu'\ncuda = None\n"))

    def test_the_abi_is_that_of_an_exported_name(self) -> None:
        name = b"\0_ZN3c105ErrorC2ENS_14SourceLocationE"
        old, new = name + b"Ss\0", name + b"NSt7__cxx1112basic_stringIcE\0"
        # A library with the old ABI needs streams of the new one, too.
        stream = b"_ZNSt7__cxx1119basic_ostringstreamIcE\0"
        self.assertEqual([cxx11_abi(data) for data in (old + stream, new, b"", stream)], [0, 1, "unknown", "unknown"])

    def test_capabilities_without_machines(self) -> None:
        self.assertEqual(built("PYTORCH_RELEASES_CODE_CC = {'12.6': {50, 90}}"), {"12.6": {"x86_64": {50, 90}}})


class Preload(unittest.TestCase):
    def test_what_2_15_changed(self) -> None:
        before, after = (recorded(f"torch-{version}.init.txt").decode() for version in ("2.14.1", "2.15.0"))
        self.assertEqual(
            preload_differences(before, after),
            ["no longer preloads `curand/libcurand.so.*[0-9]`", "`_preload_cuda_deps` has changed"],
        )
        self.assertEqual(preload_differences(after, "# a comment\n" + after), [])
        self.assertEqual(libraries(after)[0], ("cublas", "libcublasLt.so.*[0-9]"))
        self.assertEqual(len(libraries(after)), 15)

    def test_dictionaries_of_older_releases(self) -> None:
        libs = "{'cublas': 'libcublas.so.*[0-9]', 'cudnn': 'libcudnn.so.*[0-9]'}"
        text = f"def _preload_cuda_deps(lib_folder, lib_name):\n    cuda_libs = {libs}\n"
        self.assertEqual(libraries(text), [("cublas", "libcublas.so.*[0-9]"), ("cudnn", "libcudnn.so.*[0-9]")])

    def test_a_changed_order(self) -> None:
        text = "def _preload_cuda_deps():\n    libs = [('a', 'liba.so'), ('b', 'libb.so')]\n"
        other = "def _preload_cuda_deps():\n    libs = [('b', 'libb.so'), ('a', 'liba.so')]\n"
        self.assertIn("different order", preload_differences(text, other)[0])


class Elf(unittest.TestCase):
    DATA = recorded("torch-2.15.0.libtorch_global_deps.so")

    def test_the_dynamic_section(self) -> None:
        section = dynamic(self.DATA)
        self.assertEqual(section["soname"], ["libtorch_global_deps.so"])
        self.assertIn("libcudart.so.13", section["needed"])
        self.assertTrue(section["rpath"] and not section["runpath"])

    def test_damage_is_a_value_error(self) -> None:
        for data in (b"", b"\x7fELF\x02\x01", b"MZ" * 100, self.DATA[:4096], self.DATA[:64] + b"\xff" * 4096):
            with self.assertRaises(ValueError):
                dynamic(data)
