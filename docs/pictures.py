#!/usr/bin/env python3
"""Makes the pictures of reports in README and book from the real output of the program on the sample image.

    python3 docs/pictures.py [--imgcheck target/debug/imgcheck]

It needs chromium for the picture of the HTML report.
"""

import argparse
import html
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/src/images"
SAMPLE = "testdata/sample/pytorch-cuda-v2.9.tar"
COLUMNS, LINE, CHARACTER, MARGIN = 112, 19, 8.05, 18
# The colors of the terminal, by the number of SGR (ECMA-48).
COLORS = {
    "31": "#ff7b72", "91": "#ff7b72", "32": "#7ee787", "92": "#7ee787", "33": "#e3b341", "93": "#e3b341",
    "34": "#79c0ff", "94": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea", "96": "#76e3ea", "2": "#8b949e", "90": "#8b949e",
}


def spans(line):
    """The text of a line with its style: (text, color, bold)."""
    color, bold = None, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b["):
            if part:
                yield part, color, bold
            continue
        for code in part[2:-1].split(";"):
            if code in ("", "0"):
                color, bold = None, False
            elif code == "1":
                bold = True
            elif code in COLORS:
                color = COLORS[code]


def terminal(program):
    """The report as an SVG of a terminal."""
    environment = {**os.environ, "IMGCHECK_NO_CACHE": "1", "IMGCHECK_NO_CONFIG": "1", "COLUMNS": str(COLUMNS)}
    command = [program, "--color", "always", SAMPLE]
    output = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    output = re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\", "", output.stdout)
    output = re.sub(r"[0-9.]+ s\b", "0.01 s", output, count=1)
    lines = [f"$ imgcheck {SAMPLE}", *output.rstrip().splitlines()]
    lines = [line if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= COLUMNS else cut(line) for line in lines]
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        texts = "".join(
            f'<tspan{f" fill={chr(34)}{color}{chr(34)}" if color else ""}{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""}>'
            f"{html.escape(text)}</tspan>"
            for text, color, bold in spans(line)
        )
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + (number + 0.75) * LINE:.0f}" xml:space="preserve">{texts}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"<title>imgcheck on an image whose tag names the wrong PyTorch version</title>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13.4" fill="#e6edf3">\n'
        + "\n".join(rows)
        + "\n</g></svg>\n"
    )


def cut(line):
    """The line with at most COLUMNS visible characters."""
    kept, width = [], 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b["):
            part = part[: max(0, COLUMNS - 1 - width)]
            width += len(part)
        kept.append(part)
    return "".join(kept) + "…\x1b[0m"


def page(program, picture):
    """A picture of the top of the HTML report."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.html"
        command = [program, "--no-cache", "--no-config", "-o", f"html={report}", "--gpu", "a100,h100", "--driver", "535.183.06", SAMPLE]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
             f"--user-data-dir={scratch}/profile", "--window-size=1060,900", f"--screenshot={picture}", f"file://{report}"],
            check=True, capture_output=True,
        )


def main():
    """Writes both pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--imgcheck", default=str(ROOT / "target/debug/imgcheck"))
    options = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "terminal.svg").write_text(terminal(options.imgcheck))
    page(options.imgcheck, IMAGES / "report.png")


main()
