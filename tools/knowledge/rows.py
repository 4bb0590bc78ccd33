"""Rows of a table: their text, and their place in the file. A file keeps its comments and every row it has."""

from __future__ import annotations

import json
import re
from typing import Any, Callable

import yaml

Row = dict[str, Any]

WIDTH = 180
# Makes texts only: versions are no numbers.
LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# What YAML reads as this text without quotes, in a flow mapping, too.
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+~-]*(?: [A-Za-z0-9_./+~()-]+)*")
NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def scalar(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in NOT_TEXT:
        return value
    return json.dumps(value, ensure_ascii=False)


def flow(value: Any) -> str:
    """A value in flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def text_of(row: Row) -> str:
    """A row as an element of a list: in one line if it is short."""
    short = f"- {flow(row)}\n"
    return short if len(short) <= WIDTH else _block(row, "")


def _block(row: Row, indent: str) -> str:
    lines: list[str] = []
    for key, value in row.items():
        lead = indent + ("  " if lines else "- ")
        simple = f"{lead}{key}: {flow(value)}\n"
        if not isinstance(value, (dict, list)) or (len(simple) <= 140 and not _has_rows(value)):
            lines.append(simple)
        elif isinstance(value, dict):
            below = "".join(f"{indent}    {name}: {flow(item)}\n" for name, item in value.items())
            lines.append(f"{lead}{key}:\n{below}")
        else:
            below = "".join(_element(item, indent + "  ") for item in value)
            lines.append(f"{lead}{key}:\n{below}")
    return "".join(lines)


def _has_rows(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) and len(item) > 4 for item in value)


def _element(item: Any, indent: str) -> str:
    if isinstance(item, dict) and len(item) > 4:
        return _block(item, indent)
    return f"{indent}- {flow(item)}\n"


def rows_of(text: str, key: str) -> list[Row]:
    """The rows of a list of a table, all scalars as text."""
    rows = (yaml.load(text, LOADER) or {}).get(key) or []
    return list(rows)


def insert(text: str, key: str, rows: list[Row], order: Callable[[Row], Any], newest_first: bool = False) -> str:
    """The text of a table with more rows in the list `key`, each before the first row that comes after it."""
    before, chunks, after = split(text, key)
    places = [order(yaml.load(chunk, LOADER)[0]) for chunk in chunks]
    for row in rows:
        own = order(row)
        later = [n for n, other in enumerate(places) if (other < own if newest_first else own < other)]
        place = later[0] if later else len(chunks)
        places.insert(place, own)
        chunks.insert(place, text_of(row))
    return before + "".join(chunks) + after


def split(text: str, key: str) -> tuple[str, list[str], str]:
    """What is before the rows of a list, the text of each row, and what is after them."""
    lines = text.splitlines(keepends=True)
    if f"{key}:\n" not in lines:
        return text + f"{key}:\n", [], ""
    first = lines.index(f"{key}:\n") + 1
    while first < len(lines) and lines[first][0] in "#\n":
        first += 1
    last = first
    while last < len(lines) and lines[last][0] in "- #\n":
        last += 1
    chunks: list[str] = []
    for line in lines[first:last]:
        if line.startswith("- ") or not chunks:
            chunks.append(line)
        else:
            chunks[-1] += line
    return "".join(lines[:first]), chunks, "".join(lines[last:])


def set_date(text: str, day: str) -> str:
    """The text of a table that says when it was compared with what is published."""
    return re.sub(r"(?m)^# Collected [0-9-]+\.$", f"# Collected {day}.", text)
