"""Compares the ranges of releases in rules/knowledge/processes/ and frameworks.yaml with the wheels on both sides of each boundary."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from . import evidence
from .collectors import one_wheel
from .index import Index
from .rows import rows_of
from .wheel import Wheel

WORKERS = 8
ENDS = {"from": (">=", ">", "==", "~="), "to": ("<=", "<", "==", "~=")}


@dataclass(frozen=True)
class Range:
    """A row that is about some releases only."""

    place: str
    """`torchaudio.yaml, releases >=2.11`."""
    releases: SpecifierSet
    projects: tuple[str, ...]
    """Whose wheels are looked at."""
    shows: tuple[dict[str, Any], ...]
    """What is true of every release of the range, and not all true of the release before and of the one after it."""
    reasons: dict[str, str]
    """Why an end, `from` or `to`, is not compared."""

    def ends(self) -> list[str]:
        """Which ends the range has."""
        return [end for end, operators in ENDS.items() if any(part.operator in operators for part in self.releases)]

    def fits(self, version: Version) -> bool:
        """Whether the row is about a release: its numbers count, as in imgcheck."""
        return self.releases.contains(".".join(map(str, version.release)))

    def problem(self) -> str:
        """What the row itself lacks, whatever is published."""
        silent = [end for end in self.ends() if end not in self.reasons]
        if silent and not self.shows:
            return f"{' and '.join(silent)}: neither evidence nor a reason"
        stray = [end for end in self.reasons if end not in self.ends()]
        return f"{' and '.join(stray)}: the range has no such end" if stray else ""


@dataclass
class Report:
    """What a run found."""

    ends: int = 0
    checked: int = 0
    """Ends whose two sides were compared."""
    wrong: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """The report as a text."""
        count = f"{self.ends} boundaries: {self.checked} compared on both sides, {len(self.unchecked)} not, for the reasons that the tables give.\n"
        parts = [count]
        for title, lines in (("Wrong", self.wrong), ("Could not be read", self.failures), ("Not compared", self.unchecked)):
            if lines:
                parts.append(f"## {title}\n\n" + "".join(f"- {line}\n" for line in lines))
        return "\n".join(parts)


def ranges(tables: Path) -> dict[str, list[Range]]:
    """The rows of each table that have a range."""
    needs = rows_of((tables / "frameworks.yaml").read_text(), "needs")
    found = {f"frameworks.yaml, {name}": [] for name in dict.fromkeys(str(row["package"]) for row in needs)}
    for row in needs:
        package = str(row["package"])
        found[f"frameworks.yaml, {package}"].append(range_of(f"frameworks.yaml, needs of {package}", row, (package,)))
    for path in sorted((tables / "processes").glob("*.yaml")):
        text = path.read_text()
        names = [str(name) for name in rows_of(text, "distributions") if "*" not in str(name)]
        rows = [(key, row) for key in ("releases", "uses") for row in rows_of(text, key) if row.get("releases")]
        found[path.name] = [range_of(f"{path.name}, {key}", row, tuple(names[:1])) for key, row in rows]
    return {name: rows for name, rows in found.items() if rows}


def range_of(place: str, row: dict[str, Any], projects: tuple[str, ...]) -> Range:
    """The range of one row. Raises `ValueError` for evidence that nothing could answer."""
    known = row.get("evidence", {})
    unknown = sorted(set(known) - {"projects", "shows", *ENDS})
    if unknown:
        raise ValueError(f"{place}: evidence: {', '.join(unknown)}")
    shows = tuple(known.get("shows", ()))
    for condition in shows:
        evidence.check(condition)
    reasons = {end: str(known[end]) for end in ENDS if end in known}
    specifiers = str(row["releases"])
    return Range(f"{place} {specifiers}", SpecifierSet(specifiers), tuple(known.get("projects", projects)), shows, reasons)


def boundaries(index: Index, tables: Path, every: bool = False) -> Report:
    """Compares all tables: of each range the first and the last release or, with `every`, all of them."""
    report = Report()
    with ThreadPoolExecutor(WORKERS) as workers:
        for part in workers.map(lambda rows: compare(index, rows, every), ranges(tables).values()):
            report.ends += part.ends
            report.checked += part.checked
            report.wrong += part.wrong
            report.unchecked += part.unchecked
            report.failures += part.failures
    return report


def compare(index: Index, rows: list[Range], every: bool = False) -> Report:
    """Compares the ranges of one table; each wheel is opened once."""
    report = Report()
    wheels: dict[tuple[str, Version], Wheel] = {}
    for row in rows:
        report.ends += len(row.ends())
        if row.problem():
            report.wrong.append(f"{row.place}: {row.problem()}")
            continue
        report.unchecked += [f"{row.place}, {end}: {row.reasons[end]}" for end in row.ends() if end in row.reasons]
        try:
            one_range(index, row, wheels, report, every)
        except Exception as error:  # noqa: BLE001
            # One wheel that cannot be read must not hide the others.
            report.failures.append(f"{row.place}: {error}")
    return report


def one_range(index: Index, row: Range, wheels: dict[tuple[str, Version], Wheel], report: Report, every: bool) -> None:
    """Compares the releases of a range with the ones beside it."""
    beside: dict[str, list[tuple[str, Version]]] = {end: [] for end in row.ends() if end not in row.reasons}

    def unmet(project: str, version: Version) -> list[str]:
        key = (project, version)
        if key not in wheels:
            wheels[key] = one_wheel(index.releases(project)[version])
        return [evidence.text_of(condition) for condition in row.shows if not evidence.holds(wheels[key], condition)]

    wrong = []
    for project in row.projects if row.shows else ():
        published = list(index.releases(project))
        inside = [version for version in published if row.fits(version)]
        if not inside:
            wrong.append(f"{project} has no such release")
            continue
        looked = inside if every else sorted({inside[0], inside[-1]})
        wrong += [f"{project} {version} does not show {', '.join(lacks)}" for version in looked if (lacks := unmet(project, version))]
        outside = {"from": [v for v in published if v < inside[0]][-1:], "to": [v for v in published if v > inside[-1]][:1]}
        for end in beside:
            beside[end] += [(project, version) for version in outside[end]]
    for end, releases in beside.items():
        same = [f"{project} {version} shows the same" for project, version in releases if not unmet(project, version)]
        wrong += [f"{end}: {line}" for line in same or ([] if releases else ["nothing is published beyond it"])]
        report.checked += bool(releases) and not same
    report.wrong += [f"{row.place}: {line}" for line in wrong]
