"""Runs commands in rounds and tells their times, ratios, peak memory and, over the network, their bytes."""

import dataclasses
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

LOOPBACK_BYTES = "/sys/class/net/lo/statistics/rx_bytes"


@dataclasses.dataclass
class Command:
    """A command with additional environment variables; `before()` restores the initial state."""

    arguments: list
    environment: dict = dataclasses.field(default_factory=dict)
    before: object = None

    def is_there(self):
        return bool(self.arguments[0]) and os.path.exists(self.arguments[0])


@dataclasses.dataclass
class Run:
    seconds: float
    peak: int
    code: int
    received: int


def measure(commands, rounds, budget):
    """Name to list of runs, one for each round it took part in: a slow minute of the machine hits all commands."""
    results = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            if sum(run.seconds for run in results[name]) > budget:
                continue
            if command.before:
                command.before()
            results[name].append(run(command))
            print(f"  round {number + 1}: {name}: {results[name][-1].seconds:.2f} s", file=sys.stderr, flush=True)
    return results


def run(command):
    environment = {**os.environ, **command.environment}
    received = loopback_bytes()
    started = time.monotonic()
    child = subprocess.Popen(
        command.arguments, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    return Run(seconds, usage.ru_maxrss * 1024, child.returncode, loopback_bytes() - received)


def loopback_bytes():
    with open(LOOPBACK_BYTES, encoding="ascii") as file:
        return int(file.read())


def table(title, results, base="imgcheck", network=False):
    """Median times, the median of the ratios to `base` within one round, and the largest peak memory."""
    received = " received |" if network else ""
    lines = [
        f"\n{title}\n",
        f"| | median | times {base} | peak memory |{received} runs | exit code |",
        f"|---|---:|---:|---:|{'---:|' if network else ''}---:|---:|",
    ]
    ours = results.get(base, [])
    for name, runs in results.items():
        if not runs:
            continue
        seconds = statistics.median(run.seconds for run in runs)
        ratios = [theirs.seconds / own.seconds for theirs, own in zip(runs, ours)]
        ratio = f"{statistics.median(ratios):.2f}" if ratios else "–"
        peak = max(run.peak for run in runs) / 1e6
        received = f" {statistics.median(run.received for run in runs) / 1e6:.0f} MB |" if network else ""
        lines.append(f"| {name} | {seconds:.2f} s | {ratio} | {peak:.0f} MB |{received} {len(runs)} | {runs[0].code} |")
    return "\n".join(lines)


def tool(name, peers):
    """Path of a program: in the virtual environment of peers, inside a wheel that only wraps it, or on PATH."""
    if peers:
        for pattern in (f"bin/{name}", f"lib/python*/site-packages/*/bin/{name}"):
            for path in glob.glob(os.path.join(peers, pattern)):
                return path
    return shutil.which(name)
