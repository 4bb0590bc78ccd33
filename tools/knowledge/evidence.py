"""What a published wheel must show for a row of rules/knowledge/processes/ to describe its release."""

from __future__ import annotations

import fnmatch
from typing import Any

from . import elf
from .wheel import Wheel

KEYS = {"file", "holds", "lacks", "needs", "needs-no", "absent"}


def check(condition: dict[str, Any]) -> None:
    """Raises `ValueError` for a condition that nothing could answer."""
    unknown = sorted(set(condition) - KEYS)
    asked = sorted(set(condition) - {"file"})
    if unknown or len(asked) > 1 or ("absent" in condition) == ("file" in condition):
        raise ValueError(f"evidence is `absent`, or `file` with at most one of holds, lacks, needs and needs-no: {condition}")


def holds(wheel: Wheel, condition: dict[str, Any]) -> bool:
    """Whether a wheel meets a condition. A file that it does not have holds, lacks and needs nothing: the condition is not met."""
    check(condition)
    if "absent" in condition:
        return not members(wheel, condition["absent"])
    names = members(wheel, condition["file"])
    if "holds" in condition or "lacks" in condition:
        text = str(condition.get("holds", condition.get("lacks"))).encode()
        found = any(wheel.contains(name, text) for name in names)
    elif "needs" in condition or "needs-no" in condition:
        pattern = str(condition.get("needs", condition.get("needs-no")))
        found = any(fnmatch.filter(elf.dynamic(wheel.member(name) or b"")["needed"], pattern) for name in names)
    else:
        return bool(names)
    return bool(names) and found != ("lacks" in condition or "needs-no" in condition)


def members(wheel: Wheel, pattern: str) -> list[str]:
    """The members whose path matches a shell pattern (`*` stands for `/`, too)."""
    return fnmatch.filter(wheel.zip.namelist(), pattern)


def text_of(condition: dict[str, Any]) -> str:
    """A condition in words."""
    if "absent" in condition:
        return f"no {condition['absent']}"
    words = [f"{key.replace('-', ' ')} `{value}`" for key, value in condition.items() if key != "file"]
    return " ".join([str(condition["file"]), *words])
