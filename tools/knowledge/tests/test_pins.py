"""What a release requires of NVIDIA's packages."""

from __future__ import annotations

import unittest

from packaging.version import Version

from .. import pins
from ..__main__ import TABLES
from ..collectors import COLLECTORS
from ..index import Index
from ..rows import Row, rows_of
from .server import Server, wheel

ANY = "py3-none-any.whl"


class Pins(unittest.TestCase):
    def setUp(self) -> None:
        server = Server().__enter__()
        self.addCleanup(server.__exit__)
        for project, version in (("torch", "2.15.0"), ("cuda-toolkit", "13.2.2"), ("tensorflow", "2.21.0"), ("torchaudio", "2.11.0")):
            server.publish(f"{project.replace('-', '_')}-{version}-{ANY}", wheel(project, version))
        self.index = Index(server.url)

    def row(self, project: str, version: str, extra: str = "") -> Row | None:
        return pins.row(self.index, project, Version(version), self.index.releases(project)[Version(version)], extra)

    def test_the_toolkit_stands_for_its_libraries(self) -> None:
        row = self.row("torch", "2.15.0")
        assert row is not None
        found = {pin["package"]: (pin["specifier"], pin.get("via")) for pin in row["pins"]}
        self.assertEqual(found["nvidia-nccl-cu13"], ("==2.30.7", None))
        self.assertEqual(found["cuda-toolkit"], ("==13.2.2", None))
        self.assertEqual(found["nvidia-cublas"][1], "cuda-toolkit")
        self.assertIn("13.", found["nvidia-cublas"][0])
        # Libraries of extras that torch does not ask for.
        self.assertNotIn("nvidia-npp", found)
        self.assertNotIn("nvidia-curand", found)

    def test_an_extra_has_what_it_adds(self) -> None:
        self.assertIsNone(self.row("tensorflow", "2.21.0"))
        row = self.row("tensorflow", "2.21.0", "and-cuda")
        assert row is not None
        self.assertIn({"package": "nvidia-cudnn-cu12", "specifier": "<10.0,>=9.3.0.75"}, row["pins"])
        self.assertIsNone(self.row("torchaudio", "2.11.0"))

    def test_a_toolkit_that_is_not_one_release_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "0 releases"):
            pins.of_toolkit(self.index, pins.Requirement("cuda-toolkit[cublas]==13.9.9"))

    def test_the_rows_of_two_extras_do_not_hide_each_other(self) -> None:
        rows = rows_of((TABLES / "frameworks.yaml").read_text(), "nvidia_pins")
        own = {c.extra: c for c in COLLECTORS if c.key == "nvidia_pins" and c.projects == ("onnxruntime-gpu",)}
        cudnn = next(row for row in rows if row["package"] == "onnxruntime-gpu" and row["extra"] == "cudnn")
        self.assertIsNone(own["cuda"].release(cudnn))
        self.assertEqual(own["cudnn"].release(cudnn), ("onnxruntime-gpu", Version(cudnn["version"])))
        self.assertEqual(own["cuda"].order(cudnn), own["cudnn"].order(cudnn))
