"""Command line: `python3 -m knowledge update`, from `tools/`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .index import Index
from .update import update, verify

TABLES = Path(__file__).resolve().parents[2] / "rules" / "knowledge"


def main() -> int:
    """Runs a command. 1: something could not be read, or (`verify`) a row differs."""
    parser = argparse.ArgumentParser(prog="knowledge", description=__doc__)
    parser.add_argument("--tables", type=Path, default=TABLES, help="the directory of the tables")
    parser.add_argument("--report", type=Path, help="write the report here, not to standard output")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("update", help="write the rows that the tables lack")
    again = commands.add_parser("verify", help="derive the last rows of each list again, and compare")
    again.add_argument("--last", type=int, default=3, metavar="N", help="how many rows of each project (default 3)")
    arguments = parser.parse_args()
    if arguments.command == "update":
        report = update(Index(), arguments.tables)
        failed = bool(report.failures)
    else:
        report = verify(Index(), arguments.tables, arguments.last)
        failed = bool(report.failures or report.look)
    text = report.markdown()
    if arguments.report:
        arguments.report.write_text(text)
    else:
        sys.stdout.write(text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
