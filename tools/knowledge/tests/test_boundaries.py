"""Ranges of releases, compared with the releases on both sides."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from packaging.version import Version

from .. import wheel as wheels
from ..__main__ import TABLES
from ..boundaries import Report, boundaries, ranges
from ..collectors import one_wheel
from ..evidence import holds
from ..index import Index
from .server import Server, recorded, wheel

LINUX = "cp312-cp312-manylinux_2_28_x86_64.whl"
EXTENSION = "torchaudio/_extension/__init__.py"
BEFORE = f"""{{file: {EXTENSION}, holds: 'is_module_available("torchaudio.lib._torchaudio")'}}"""
AFTER = f"""{{file: {EXTENSION}, holds: '_load_lib("_torchaudio")'}}, {{file: torchaudio/lib/_torchaudio.abi3.so}}"""


def torchaudio(server: Server) -> None:
    """Publishes the last releases of torchaudio, with the file that decides what they load."""
    for version, suffix in (("2.9.1", ".so"), ("2.10.0", ".so"), ("2.11.0", ".abi3.so")):
        members = {EXTENSION: recorded(f"torchaudio-{version}.extension.txt"), f"torchaudio/lib/_torchaudio{suffix}": b""}
        server.publish(f"torchaudio-{version}-{LINUX}", wheel("torchaudio", version, members))


def compared(rows: str, head: str = "distributions: [torchaudio]", every: bool = False) -> Report:
    """The report about a table with these rows."""
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        (Path(directory) / "processes").mkdir()
        (Path(directory) / "frameworks.yaml").write_text("needs: []\n")
        (Path(directory) / "processes" / "torchaudio.yaml").write_text(f"package: torchaudio\n{head}\nreleases:\n{rows}")
        torchaudio(server)
        return boundaries(Index(server.url), Path(directory), every)


def row(releases: str, evidence: str) -> str:
    return f'- releases: "{releases}"\n  evidence: {{{evidence}}}\n  steps: []\n'


class Boundaries(unittest.TestCase):
    def test_a_boundary_inferred_from_the_next_release_that_was_looked_at_is_found(self) -> None:
        rows = row(">=2.9,<2.10", f"shows: [{BEFORE}], from: older releases are not modeled") + row(">=2.10", f"shows: [{AFTER}]")
        report = compared(rows)
        lacks = f'{EXTENSION} holds `_load_lib("_torchaudio")`, torchaudio/lib/_torchaudio.abi3.so'
        self.assertEqual(
            report.wrong,
            [
                "torchaudio.yaml, releases >=2.9,<2.10: to: torchaudio 2.10.0 shows the same",
                f"torchaudio.yaml, releases >=2.10: torchaudio 2.10.0 does not show {lacks}",
            ],
        )
        self.assertIn("## Wrong", report.markdown())

    def test_the_right_boundary_is_compared_on_both_sides(self) -> None:
        rows = row(">=2.9,<2.11", f"shows: [{BEFORE}], from: older releases are not modeled") + row(">=2.11", f"shows: [{AFTER}]")
        for every in (False, True):
            report = compared(rows, every=every)
            self.assertEqual((report.wrong, report.failures, report.ends, report.checked), ([], [], 3, 2))
            self.assertEqual(report.unchecked, ["torchaudio.yaml, releases >=2.9,<2.11, from: older releases are not modeled"])

    def test_a_release_inside_is_looked_at_on_request(self) -> None:
        rows = row(">=2.9,<2.12", "shows: [{absent: torchaudio/lib/_torchaudio.so}], from: a, to: b")
        with mock.patch("knowledge.boundaries.one_wheel", wraps=one_wheel) as opened:
            compared(rows)
            self.assertEqual(opened.call_count, 2)
            self.assertEqual(len(compared(rows, every=True).wrong), 2)

    def test_what_is_not_compared_must_say_why(self) -> None:
        self.assertEqual(
            compared('- releases: ">=2.9,<2.11"\n  steps: []\n').wrong,
            ["torchaudio.yaml, releases >=2.9,<2.11: from and to: neither evidence nor a reason"],
        )
        self.assertEqual(
            compared(row(">=2.11", "from: a, to: b")).wrong,
            ["torchaudio.yaml, releases >=2.11: to: the range has no such end"],
        )
        # A reason that nothing is published beyond the end must be in the table, too.
        self.assertEqual(
            compared(row(">=2.9,<2.11", f"shows: [{BEFORE}]")).wrong,
            ["torchaudio.yaml, releases >=2.9,<2.11: from: nothing is published beyond it"],
        )
        for evidence in ("show: []", "shows: [{file: a, holds: b, lacks: c}]", "shows: [{holds: b}]"):
            with self.assertRaises(ValueError):
                compared(row(">=2.11", evidence))

    def test_a_library_without_distributions_names_its_projects(self) -> None:
        rows = row(">=2.11", f"projects: [torchaudio], shows: [{AFTER}]")
        self.assertEqual(compared(rows, head="source: files").checked, 1)
        # Without one, nothing is compared, and that is wrong.
        self.assertEqual(len(compared(row(">=2.11", f"shows: [{AFTER}]"), head="source: files").wrong), 1)

    def test_every_range_of_the_tables_has_evidence_or_a_reason(self) -> None:
        rows = [row for table in ranges(TABLES).values() for row in table]
        self.assertGreater(len(rows), 40)
        self.assertEqual([f"{row.place}: {row.problem()}" for row in rows if row.problem()], [])


class Evidence(unittest.TestCase):
    def setUp(self) -> None:
        server = Server().__enter__()
        self.addCleanup(server.__exit__)
        library = recorded("torch-2.15.0.libtorch_global_deps.so")
        members = {"a/x.py": b"import torch\n", "a/lib.so": library, "a/large.so": b"\0" * 10 + b"libx.so.1" + b"\0" * 10}
        server.publish(f"torchaudio-2.11.0-{LINUX}", wheel("torchaudio", "2.11.0", members))
        self.wheel = one_wheel(Index(server.url).releases("torchaudio")[Version("2.11.0")])

    def test_conditions(self) -> None:
        for condition, expected in (
            ({"file": "a/*.py"}, True),
            ({"file": "a/y.py"}, False),
            ({"absent": "a/y.py"}, True),
            ({"absent": "a/x.*"}, False),
            ({"file": "a/x.py", "holds": "import torch"}, True),
            ({"file": "a/x.py", "holds": "import numpy"}, False),
            ({"file": "a/x.py", "lacks": "import numpy"}, True),
            ({"file": "a/lib.so", "needs": "libcudart.so.*"}, True),
            ({"file": "a/lib.so", "needs-no": "libcudart.so.13"}, False),
            ({"file": "a/lib.so", "needs-no": "libnvrtc.so.*"}, True),
            # A file that is not there proves nothing.
            ({"file": "a/y.py", "lacks": "import torch"}, False),
            ({"file": "a/y.so", "needs-no": "libcudart.so.13"}, False),
        ):
            self.assertEqual(holds(self.wheel, condition), expected, condition)

    def test_a_text_is_found_where_two_pieces_meet(self) -> None:
        for piece in range(1, 30):
            with mock.patch.object(wheels, "PIECE", piece):
                self.assertTrue(self.wheel.contains("a/large.so", b"libx.so.1"), piece)
                self.assertFalse(self.wheel.contains("a/large.so", b"libx.so.2"), piece)

    def test_a_member_that_is_too_large_is_refused(self) -> None:
        with mock.patch.object(wheels, "LARGEST_SEARCHED", 20), self.assertRaisesRegex(ValueError, "a/large.so has 29 bytes"):
            holds(self.wheel, {"file": "a/large.so", "holds": "x"})
