"""Whole runs, on a copy of the tables."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from packaging.version import Version

from .. import collectors
from ..__main__ import TABLES
from ..index import Index
from ..rows import rows_of
from ..update import differences, update, verify
from .server import Server, wheel

LINUX = "cp312-cp312-manylinux_2_28_x86_64.whl"


def publish(server: Server, project: str, version: str) -> None:
    server.publish(f"{project.replace('-', '_')}-{version}-{LINUX}", wheel(project, version))


class Update(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.tables = Path(directory.name) / "knowledge"
        shutil.copytree(TABLES, self.tables)
        self.frameworks = self.tables / "frameworks.yaml"

    def forget(self, key: str, field: str, version: str) -> None:
        """Takes a row out of a list of frameworks.yaml."""
        text = self.frameworks.read_text()
        start = text.index(f'- {{{field}: "{version}"', text.index(f"\n{key}:"))
        self.frameworks.write_text(text[:start] + text[text.index("\n", start) + 1 :])

    def test_a_missing_row_is_written_as_it_was_and_only_once(self) -> None:
        before = self.frameworks.read_text()
        self.forget("vllm", "vllm", "0.33.0")
        with Server() as server:
            publish(server, "vllm", "0.33.0")
            publish(server, "tensorflow", "2.21.0")
            report = update(Index(server.url), self.tables, "2026-11-30")
            self.assertEqual(report.rows, {"frameworks.yaml, vllm: vllm": ["0.33.0"]})
            after = self.frameworks.read_text()
            self.assertEqual(rows_of(after, "vllm"), rows_of(before, "vllm"))
            self.assertEqual(report.failures, [])
            self.assertIn("torch has no release in the index", report.look)
            again = update(Index(server.url), self.tables, "2026-11-30")
            self.assertEqual((again.rows, again.releases, self.frameworks.read_text()), ({}, [], after))
        self.assertIn("\n# Collected 2026-11-30.\n", after)
        self.assertIn('date: "2026-11-30"', (self.tables / "collected.yaml").read_text())

    def test_a_release_that_cannot_be_read_does_not_hide_others(self) -> None:
        self.forget("vllm", "vllm", "0.33.0")
        with Server() as server:
            publish(server, "vllm", "0.33.0")
            server.publish(f"vllm-0.34.0-{LINUX}", b"not a zip file")
            report = update(Index(server.url), self.tables, "2026-11-30")
        self.assertEqual(report.rows, {"frameworks.yaml, vllm: vllm": ["0.33.0"], "frameworks.yaml, wheel_tags: vllm": ["0.34.0"]})
        self.assertEqual(report.failures, ["vllm 0.34.0: File is not a zip file"])
        self.assertIn("## Could not be read\n\n- vllm 0.34.0", report.markdown())

    def test_a_wrong_row_is_found(self) -> None:
        self.frameworks.write_text(
            self.frameworks.read_text().replace('{vllm: "0.33.0", torch: "==2.14.0"', '{vllm: "0.33.0", torch: "==2.13.0"')
        )
        with Server() as server:
            publish(server, "vllm", "0.33.0")
            publish(server, "tensorflow", "2.21.0")
            publish(server, "jax-cuda13-plugin", "0.12.0.1")
            report = verify(Index(server.url), self.tables, 3)
        # This index has one wheel of each release.
        look = [line for line in report.look if "wheel_tags" not in line]
        self.assertEqual(look, ["frameworks.yaml, vllm, vllm 0.33.0: torch is ==2.13.0, derived ==2.14.0"])
        self.assertEqual(len(report.rows), 4)


class Differences(unittest.TestCase):
    def test_what_a_wheel_loads_with_is_not_what_it_declares(self) -> None:
        row = {"torchtext": "0.18.0", "torch": ">=2.3,<2.4", "torch_declared": ">=2.3.0"}
        self.assertEqual(differences(row, {"torchtext": "0.18.0", "torch": ">=2.3.0"}), [])
        self.assertEqual(differences(row, {"torchtext": "0.18.0", "torch": ">=2.4"}), ["torch is >=2.3.0, derived >=2.4"])
        self.assertEqual(differences(row, {"torchtext": "0.18.0"}), [])


class Toolkit(unittest.TestCase):
    def test_components_of_a_release(self) -> None:
        with Server() as server:
            server.publish("cuda_toolkit-13.5.0-py2.py3-none-any.whl", wheel("cuda-toolkit", "13.5.0"))
            index = Index(server.url)
            version = Version("13.5.0")
            row = collectors.toolkit(index, "cuda-toolkit", version, index.releases("cuda-toolkit")[version])
        assert row is not None
        self.assertEqual(row["components"]["cublas"], "13.10.0.20")
        self.assertEqual(row["components"]["nvjitlink"], "<14,>=13.5.37")
        self.assertEqual(row["cudart"], "13.5.37")
        self.assertEqual(row["driver_native_min"], "unknown")


if __name__ == "__main__":
    unittest.main()
