"""Ranges of releases by the CPythons that have wheels."""

from __future__ import annotations

import unittest

from .. import tags
from ..index import Index
from ..rows import Row
from .server import Server


def extended(names: list[str], rows: list[Row]) -> tuple[list[Row], list[str]]:
    """The rows of vLLM after these files were published; a name with `!` is yanked."""
    with Server() as server:
        for name in names:
            server.publish(name.lstrip("!"), yanked=name.startswith("!"))
        return tags.extended(Index(server.url), "vllm", rows)


def wheels(version: str, *pythons: int, platform: str = "manylinux_2_28_x86_64") -> list[str]:
    return [f"vllm-{version}-cp3{minor}-cp3{minor}-{platform}.whl" for minor in pythons]


class Tags(unittest.TestCase):
    def test_spans(self) -> None:
        for tag, span in (
            ("cp312-cp312-manylinux_2_28_x86_64", (12, 12)),
            ("cp37-cp37m-manylinux1_x86_64", (7, 7)),
            ("cp38-abi3-manylinux1_x86_64", (8, None)),
            ("cp310-none-manylinux_2_28_x86_64", (10, 10)),
            ("py39-none-any", (9, None)),
            ("py3-none-any", (0, None)),
            ("cp314-cp314t-manylinux_2_28_x86_64", None),
            ("cp27-cp27mu-manylinux1_x86_64", None),
            ("pp39-pypy39_pp73-manylinux1_x86_64", None),
        ):
            self.assertEqual(tags.span_of(tag), span, tag)

    def test_releases_with_the_same_files_are_one_row(self) -> None:
        names = wheels("1.0", 8, 9) + wheels("1.1", 8, 9) + wheels("1.2", 9, 10) + wheels("1.2", 11, platform="win_amd64")
        rows, fresh = extended([*names, "vllm-1.1.tar.gz", *wheels("1.3rc1", 12)], [])
        self.assertEqual(fresh, ["1.0", "1.1", "1.2"])
        self.assertEqual(
            [(row["releases"], row["python"], row["sdist"], row["musl"]) for row in rows],
            [
                ("==1.0", {"from": "3.8", "to": "3.9"}, False, False),
                ("==1.1", {"from": "3.8", "to": "3.9"}, True, False),
                ("==1.2", {"from": "3.9", "to": "3.10"}, False, False),
            ],
        )

    def test_the_last_row_grows(self) -> None:
        names = [*wheels("1.0", 8), *wheels("1.1", 8), "!" + wheels("1.2", 8)[0]]
        # As it is read from the table.
        row = {"package": "vllm", "releases": ">=0.9,<=1.0", "python": {"from": "3.8", "to": "3.8"}, "sdist": "false", "musl": "false"}
        rows, fresh = extended(names, [row])
        self.assertEqual((fresh, [row["releases"] for row in rows]), (["1.1", "1.2"], [">=0.9,<=1.2"]))
        rows, fresh = extended(names + wheels("1.3", 9), rows)
        self.assertEqual((fresh, [row["releases"] for row in rows]), (["1.3"], [">=0.9,<=1.2", "==1.3"]))

    def test_releases_without_wheels_for_linux(self) -> None:
        rows, _ = extended(["vllm-1.0.tar.gz", *wheels("1.1", 9, platform="win_amd64"), *wheels("1.2", 9, platform="musllinux_1_2_x86_64")], [])
        self.assertEqual([("python" in row, row["sdist"], row["musl"]) for row in rows], [(False, True, False), (False, False, False), (False, False, True)])

    def test_a_gap_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "no wheel for CPython 3.9"):
            extended(wheels("1.0", 8, 10), [])

    def test_a_wrong_row_is_found(self) -> None:
        row = {"package": "vllm", "releases": "==1.0", "python": {"from": "3.8", "to": "3.8"}, "sdist": "false", "musl": "false"}
        with Server() as server:
            server.publish(wheels("1.0", 8)[0])
            self.assertEqual(tags.differences(Index(server.url), "vllm", [row], 3), [])
            server.publish(wheels("1.0", 9)[0])
            self.assertEqual(len(tags.differences(Index(server.url), "vllm", [row], 3)), 1)
