"""Command line: `python3 -m knowledge update`, from `tools/`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .boundaries import boundaries
from .index import Index
from .symbols import markdown, missing
from .update import update, verify

TABLES = Path(__file__).resolve().parents[2] / "rules" / "knowledge"


def main() -> int:
    """Runs a command. 1: something could not be read, or (`verify`, `boundaries`) a row differs."""
    parser = argparse.ArgumentParser(prog="knowledge", description=__doc__)
    parser.add_argument("--tables", type=Path, default=TABLES, help="the directory of the tables")
    parser.add_argument("--report", type=Path, help="write the report here, not to standard output")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("update", help="write the rows that the tables lack")
    again = commands.add_parser("verify", help="derive the last rows of each list again, and compare")
    again.add_argument("--last", type=int, default=3, metavar="N", help="how many rows of each project (default 3)")
    sides = commands.add_parser("boundaries", help="compare the ranges of processes/ with the releases on both sides of each boundary")
    sides.add_argument("--every", action="store_true", help="look at all releases of a range, not only at its first and last")
    loads = commands.add_parser("symbols", help="tell which releases of torch lack symbols that the extensions of a wheel need")
    loads.add_argument("project", help="a project, such as torchcodec")
    loads.add_argument("version", help="its release")
    loads.add_argument("torch", nargs="+", help="releases of torch; with at least one that has all symbols")
    arguments = parser.parse_args()
    if arguments.command == "symbols":
        failed, text = False, markdown(missing(Index(), arguments.project, arguments.version, arguments.torch))
    elif arguments.command == "boundaries":
        found = boundaries(Index(), arguments.tables, arguments.every)
        failed, text = bool(found.wrong or found.failures), found.markdown()
    elif arguments.command == "update":
        report = update(Index(), arguments.tables)
        failed, text = bool(report.failures), report.markdown()
    else:
        report = verify(Index(), arguments.tables, arguments.last)
        failed, text = bool(report.failures or report.look), report.markdown()
    if arguments.report:
        arguments.report.write_text(text)
    else:
        sys.stdout.write(text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
