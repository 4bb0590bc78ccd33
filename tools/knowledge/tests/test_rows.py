"""Rows as text, and their place."""

from __future__ import annotations

import unittest

import yaml
from packaging.version import Version

from ..rows import insert, rows_of, set_date, text_of

TABLE = """\
# A table.
# Collected 2026-01-01.
about: {key: value}
vllm:
# A comment.
- {vllm: "0.9.2", torch: "==2.7.0"}
- vllm: "0.10.2"
  torch: "==2.8.0"
xformers:
- {xformers: "0.0.35"}
"""


def order(row: dict[str, str]) -> Version:
    return Version(row["vllm"])


class Rows(unittest.TestCase):
    def test_text_reads_back_as_it_was(self) -> None:
        words = ["no", "null", "1.10", "2.0", ">=3,<4", "a: b", "a #b", "[x]", "{x}", "", "~=3.9", "nvidia-nccl-cu12", "a, b", "-", "x:"]
        row = {"version": "1.10", "words": words, "flag": True, "nothing": None, "code": 23007, "sub": {"a": "x", "b": ["1.0"]}}
        for long in (False, True):
            rows = [{**row, "rows": [{f"n{n}": str(n) for n in range(6)}] * (3 if long else 0)}]
            self.assertEqual(yaml.safe_load(text_of(rows[0])), rows)

    def test_rows_are_inserted_in_order_and_the_rest_stays(self) -> None:
        text = insert(TABLE, "vllm", [{"vllm": "0.11.0"}, {"vllm": "0.10.0"}], order)
        self.assertEqual([row["vllm"] for row in rows_of(text, "vllm")], ["0.9.2", "0.10.0", "0.10.2", "0.11.0"])
        added = ['- {vllm: "0.11.0"}\n', '- {vllm: "0.10.0"}\n']
        self.assertEqual("".join(line for line in text.splitlines(True) if line not in added), TABLE)

    def test_newest_first(self) -> None:
        table = 'vllm:\n- {vllm: "2"}\n- {vllm: "1"}\n'
        text = insert(table, "vllm", [{"vllm": "3"}, {"vllm": "1.5"}], order, newest_first=True)
        self.assertEqual([row["vllm"] for row in rows_of(text, "vllm")], ["3", "2", "1.5", "1"])

    def test_a_list_that_does_not_exist_is_made(self) -> None:
        text = insert(TABLE, "triton", [{"vllm": "3.9.0"}], order)
        self.assertEqual(text, TABLE + 'triton:\n- {vllm: "3.9.0"}\n')

    def test_the_date(self) -> None:
        self.assertIn("\n# Collected 2026-11-22.\n", set_date(TABLE, "2026-11-22"))
