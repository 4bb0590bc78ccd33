"""Writes the rows that the tables lack, and compares those that they have."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import Version

from . import published, review, tags
from .collectors import COLLECTORS, Collector
from .index import File, Index
from .rows import Row, insert, rows_of, set_date, split, text_of

WORKERS = 8
Release = tuple[str, Version, list[File]]


@dataclass
class Report:
    """What a run found."""

    day: str
    releases: list[str] = field(default_factory=list)
    rows: dict[str, list[str]] = field(default_factory=dict)
    """The releases that have a row now, by list and project."""
    look: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    incomplete: set[str] = field(default_factory=set)
    """Tables of which something could not be read: they keep their date."""

    def markdown(self) -> str:
        """The report as a text for a change request."""
        parts = [f"Compared with the Python package index on {self.day}.\n"]
        for title, lines in (
            ("A person must look at", self.look),
            ("Could not be read", self.failures),
            ("Rows", [f"{place} {', '.join(versions)}" for place, versions in self.rows.items()]),
            ("New releases", self.releases),
        ):
            if lines:
                parts.append(f"## {title}\n\n" + "".join(f"- {line}\n" for line in lines))
        if len(parts) == 1:
            parts.append("The tables lack nothing that the index publishes.\n")
        parts.append("Builds that are published elsewhere only (download.pytorch.org, NVIDIA's index, apt) were not looked at.\n")
        return "\n".join(parts)


def update(index: Index, tables: Path, today: str | None = None) -> Report:
    """Writes what the tables lack, and the day, into `tables`."""
    report = Report(today or datetime.datetime.now(datetime.timezone.utc).date().isoformat())
    for collector in COLLECTORS:
        extend(index, tables / f"{collector.table}.yaml", collector, report)
    extend_tags(index, tables / "frameworks.yaml", report)
    write_published(index, tables / "published.yaml", report)
    report.look += review.beyond_ranges((tables / "cuda.yaml").read_text())
    report.look += review.beyond_matrix(index, (tables / "cudnn.yaml").read_text())
    for path in sorted(tables.glob("*.yaml")):
        if path.stem in {collector.table for collector in COLLECTORS} - report.incomplete:
            path.write_text(set_date(path.read_text(), report.day))
    if report.failures:
        return report
    collected = tables / "collected.yaml"
    lines = [f'date: "{report.day}"\n' if line.startswith("date:") else line for line in collected.read_text().splitlines(True)]
    collected.write_text("".join(lines))
    return report


def extend(index: Index, path: Path, collector: Collector, report: Report) -> None:
    """Adds the rows that one list lacks."""
    text = path.read_text()
    rows = rows_of(text, collector.key)
    newest: dict[str, Version] = {}
    for found in filter(None, map(collector.release, rows)):
        newest[found[0]] = max(found[1], newest.get(found[0], found[1]))
    new = []
    try:
        missing = collector.missing(index, rows)
    except Exception as error:  # noqa: BLE001
        report.failures.append(f"{collector.table}.yaml, {collector.key}: {error}")
        report.incomplete.add(collector.table)
        return
    for (project, version, _), result in derive_all(index, collector, missing):
        if isinstance(result, Exception):
            failure = f"{project} {version}: {result}"
            report.failures += [failure] if failure not in report.failures else []
            report.incomplete.add(collector.table)
        elif result is not None:
            new.append(result)
            report.rows.setdefault(f"{collector.table}.yaml, {collector.key}: {project}", []).append(str(version))
            report.look += unknown(result, f"{collector.table}.yaml, {collector.key}, {project} {version}")
            if project in review.MODELLED and collector.key != "torch_pypi_default" and version > newest.get(project, version):
                report.look += review.compare(index, project, version)
    if new:
        path.write_text(insert(text, collector.key, new, collector.order, collector.newest_first))


def extend_tags(index: Index, path: Path, report: Report) -> None:
    """Adds the releases that `wheel_tags` lacks."""
    text = path.read_text()
    before, _, after = split(text, tags.KEY)
    known = rows_of(text, tags.KEY)
    rows: list[Row] = []
    for package in tags.PACKAGES:
        own = [row for row in known if row["package"] == package]
        try:
            own, fresh = tags.extended(index, package, own)
        except Exception as error:  # noqa: BLE001
            # One project that cannot be read must not hide the others.
            report.failures.append(f"{tags.KEY}, {package}: {error}")
            report.incomplete.add(path.stem)
        else:
            if fresh:
                report.rows[f"{path.name}, {tags.KEY}: {package}"] = fresh
        rows += own
    path.write_text(before + "".join(text_of(typed(row)) for row in rows) + after)


def typed(row: Row) -> Row:
    """A row whose truth values are none of the texts that tables are read as."""
    return {key: {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value for key, value in row.items()}


def derive_all(index: Index, collector: Collector, releases: list[Release]) -> list[tuple[Release, Row | None | Exception]]:
    """The row of each release, or why there is none."""

    def derive(release: Release) -> Row | None | Exception:
        # One release that cannot be read must not hide the others.
        try:
            return collector.derive(index, *release)
        except Exception as error:  # noqa: BLE001
            return error

    with ThreadPoolExecutor(WORKERS) as workers:
        return list(zip(releases, workers.map(derive, releases)))


def unknown(row: Row, place: str) -> list[str]:
    """The fields of a row that the index does not tell."""
    names = [name for name, value in row.items() if value in ("unknown", ["unknown"])]
    return [f"{place}: {', '.join(names)} unknown"] if names else []


def write_published(index: Index, path: Path, report: Report) -> None:
    """Writes the table of what is published."""
    watched = published.watched()
    with ThreadPoolExecutor(WORKERS) as workers:
        found = list(workers.map(lambda item: published.row(index, *item), watched.items()))
    report.look += [f"{name} has no release in the index" for name, row in zip(watched, found) if row is None]
    rows = [row for row in found if row is not None]
    report.releases += published.news(path.read_text() if path.exists() else "", rows)
    path.write_text(published.text(rows, report.day))


def verify(index: Index, tables: Path, last: int) -> Report:
    """Derives the last rows of each list again; what differs is in `look`."""
    report = Report(datetime.datetime.now(datetime.timezone.utc).date().isoformat())
    for collector in COLLECTORS:
        rows = rows_of((tables / f"{collector.table}.yaml").read_text(), collector.key)
        known = {found: row for found, row in ((collector.release(row), row) for row in rows) if found}
        releases: list[Release] = []
        for project in collector.projects:
            published_rows = [(p, v) for p, v in known if p == project and v in index.releases(project)]
            releases += [(p, v, index.releases(p)[v]) for p, v in sorted(published_rows)[-last:]]
        for (project, version, _), result in derive_all(index, collector, releases):
            place = f"{collector.table}.yaml, {collector.key}, {project} {version}"
            if isinstance(result, Exception):
                report.failures.append(f"{place}: {result}")
                continue
            report.rows.setdefault(f"{collector.table}.yaml, {collector.key}: {project}", []).append(str(version))
            report.look += [f"{place}: {line}" for line in differences(known[project, version], result or {})]
    rows = rows_of((tables / "frameworks.yaml").read_text(), tags.KEY)
    for package in tags.PACKAGES:
        own = [row for row in rows if row["package"] == package]
        report.look += [f"frameworks.yaml, {tags.KEY}, {line}" for line in tags.differences(index, package, own, last)]
    return report


# What says how a row is known, the first release of a range, and what a wheel tells of builds that are not in it.
IGNORED = ("source", "confidence", "note", "status", "from", "ptx")


def differences(old: dict[str, Any], new: dict[str, Any], place: str = "") -> list[str]:
    """Fields that both have and that differ. What is unknown in either does not count.

    `torch_declared` is what METADATA requires where `torch` is what the wheel loads with.
    """
    lines = []
    for name in old.keys() & new.keys():
        if name.rpartition("_")[2] in IGNORED:
            continue
        before, after = plain(old.get(f"{name}_declared", old[name])), plain(new[name])
        if isinstance(before, dict) and isinstance(after, dict):
            lines += differences(before, after, f"{place}{name}.")
        elif before != after and "unknown" not in (before, after) and ["unknown"] not in (before, after):
            lines.append(f"{place}{name} is {before}, derived {after}")
    return sorted(lines)


def plain(value: Any) -> Any:
    """A value as `BaseLoader` reads it; without the builds of torch, which are compared one by one."""
    if isinstance(value, list):
        if value and isinstance(value[0], dict) and "cuda" in value[0]:
            return {str(item["cuda"]): plain(item) for item in value}
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
