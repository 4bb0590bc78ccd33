"""The index, and members of wheels."""

from __future__ import annotations

import os
import unittest
from unittest import mock

from packaging.version import Version

from ..index import DEFAULT, Index, configured
from ..wheel import LARGEST, NoRanges, Wheel
from .server import Server, wheel


class Releases(unittest.TestCase):
    def test_json_and_html_have_the_same_releases(self) -> None:
        found = []
        for html in (False, True):
            with Server(html=html) as server:
                server.publish("vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl")
                server.publish("vllm-0.9.2-py3-none-any.whl")
                server.publish("vllm-0.34.0rc1-cp38-abi3-manylinux_2_28_x86_64.whl")
                server.publish("vllm-0.32.0-cp38-abi3-manylinux_2_28_aarch64.whl")
                server.publish("vllm-0.31.0-cp38-abi3-manylinux_2_28_x86_64.whl", yanked="broken")
                server.publish("vllm-0.30.0.tar.gz")
                server.publish("vllm-no-version.whl")
                index = Index(server.url)
                found.append([str(version) for version in index.releases("vLLM")])
                self.assertEqual(index.files("absent"), [])
        self.assertEqual(found, [["0.9.2", "0.33.0"]] * 2)

    def test_the_index_is_that_of_pip(self) -> None:
        with mock.patch.dict(os.environ, {"PIP_INDEX_URL": "https://mirror.example/simple"}):
            self.assertEqual(configured(), "https://mirror.example/simple")
        self.assertEqual(DEFAULT, "https://pypi.org/simple")


class Members(unittest.TestCase):
    NAME = "vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl"

    def open(self, server: Server, members: dict[str, bytes]) -> Wheel:
        server.publish(self.NAME, wheel("vllm", "0.33.0", members))
        return Wheel(Index(server.url).releases("vllm")[Version("0.33.0")][0])

    def test_one_member_is_read_and_not_the_wheel(self) -> None:
        with Server() as server:
            found = self.open(server, {"large.so": os.urandom(8 << 20), "small.py": b"x = 1\n"})
            self.assertEqual(found.text("small.py"), "x = 1\n")
            self.assertEqual(found.metadata().pin("torch"), "==2.14.0")
            self.assertIsNone(found.member("absent"))
            self.assertLess(server.sent, 1 << 20)

    def test_a_damaged_member_is_an_error(self) -> None:
        with Server() as server:
            self.open(server, {"small.py": b"x = 1\n" * 100})
            data = bytearray(server.data[f"/files/{self.NAME}"])
            data[45] ^= 0xFF
            server.data[f"/files/{self.NAME}"] = bytes(data)
            found = Wheel(Index(server.url).releases("vllm")[Version("0.33.0")][0])
            with self.assertRaises(Exception) as caught:
                found.member("small.py")
            self.assertIn(type(caught.exception).__name__, ("BadZipFile", "error"))

    def test_a_member_that_is_too_large_is_refused(self) -> None:
        with Server() as server:
            found = self.open(server, {"bomb.py": b"\0" * (LARGEST + 1)})
            with self.assertRaisesRegex(ValueError, "bomb.py has 67108865 bytes"):
                found.member("bomb.py")

    def test_a_server_without_ranges_is_refused(self) -> None:
        with Server(ranges=False) as server:
            found = self.open(server, {"large.so": os.urandom(1 << 20)})
            with self.assertRaises(NoRanges):
                found.metadata()

    def test_metadata_beside_the_wheel_is_preferred(self) -> None:
        with Server(ranges=False) as server:
            server.publish(self.NAME, b"", **{"core-metadata": {"sha256": "00"}})
            server.data[f"/files/{self.NAME}.metadata"] = b"Name: vllm\nRequires-Dist: torch==2.14.0\n"
            found = Wheel(Index(server.url).releases("vllm")[Version("0.33.0")][0])
            self.assertEqual(found.metadata().pin("torch"), "==2.14.0")
