"""Runs a program in a root filesystem and records what the real dynamic loader does in it.

The root is entered with chroot in a mount and network namespace of its own: it is mounted read-only, with /proc and /dev
and an empty /tmp, and nothing of the machine's network. Every program runs twice:

* plainly, exactly as a user would start it: exit code and what it prints come from this run;
* under observation: `LD_DEBUG=files,libs,scopes` (glibc's own report) and, at the very end of the same process,
  `dl_iterate_phdr`. The observer's own additions (ctypes is loaded to call that function) are taken off again.

`dl_iterate_phdr` lists the link map as it is at the end. A process that aborts never gets there; its objects are then taken
from glibc's report, which also holds objects whose loading failed later on.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
EXCHANGE = "/mnt"
TIMEOUT_SECONDS = 600
LAST_LINES = 60
ERROR_LINE = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt)\b.*", re.MULTILINE)
MARK = f"{EXCHANGE}/observer-begins"

# Runs the program given as PROGRAM, then writes the link map. Before ctypes is imported the mapped files are noted, because
# that import may map files of its own; only built-in modules are used up to there. A dlopen call that cannot succeed marks
# the same point in glibc's report.
OBSERVER = r"""
import posix as _p
def _mapped():
    _f, _t = _p.open('/proc/self/maps', 0), b''
    while _c := _p.read(_f, 1 << 16):
        _t += _c
    _p.close(_f)
    return _t
try:
    exec(compile(PROGRAM, '<string>', 'exec'), {'__name__': '__main__'})
finally:
    _before = {l.split(None, 5)[5] for l in _mapped().splitlines() if len(l.split(None, 5)) == 6}
    import _imp
    class _Spec:
        name, origin = 'mark', 'EXCHANGE/observer-begins'
    try:
        _imp.create_dynamic(_Spec)
    except ImportError:
        pass
    import ctypes as _c, json as _j, os as _o
    class _Info(_c.Structure):
        _fields_ = [('addr', _c.c_void_p), ('name', _c.c_char_p)]
    _names = []
    _call = _c.CFUNCTYPE(_c.c_int, _c.POINTER(_Info), _c.c_size_t, _c.c_void_p)
    def _add(i, n, d):
        _names.append(i.contents.name or b'')
        return 0
    _c.CDLL(None).dl_iterate_phdr(_call(_add), None)
    _names[0] = _o.readlink(b'/proc/self/exe')
    _kept = []
    for _n in _names:
        _r = _o.path.realpath(_n)
        if _r in _before:
            _kept.append([_n.decode('utf-8', 'surrogateescape'), _r.decode('utf-8', 'surrogateescape')])
    _f = open('EXCHANGE/link-map.json', 'w')
    _f.write(_j.dumps(_kept))
    _f.close()
"""


def observe(root, command, environment=None, program=None):
    """Runs `command` (a list) in `root` and returns what happened as a dictionary.

    HOME is set as docker sets it; without it Python asks the name service, which is a library of its own in older glibc.
    `program` is the Python source that the command runs, when it is `[PYTHON, "-c", program]`; without it only glibc's
    report is available, which is enough for a plain executable.
    """
    environment = {"PATH": PATH, "HOME": "/root", **(environment or {})}
    seen = run_plainly(root, command, environment)
    if program is not None:
        command = [command[0], "-c", OBSERVER.replace("EXCHANGE", EXCHANGE).replace("PROGRAM", repr(program), 1)]
    debug = {**environment, "LD_DEBUG": "files,libs,scopes", "LD_DEBUG_OUTPUT": f"{EXCHANGE}/ld"}
    watched = run_in_root(root, command, debug)
    report = LoaderReport(watched["loader_report"].split(f"file={MARK} ", 1)[0], root)
    seen["observed_exit"] = watched["exit"]
    if watched["link_map"] is not None:
        seen["objects_from"] = "dl_iterate_phdr"
        seen["objects"] = [real for _, real in watched["link_map"]]
        seen["link_names"] = [name for name, _ in watched["link_map"]]
    else:
        seen["objects_from"] = "LD_DEBUG"
        seen["link_names"] = names_without_link_map(root, command, environment, report)
        seen["objects"] = [real_path(root, name) for name in seen["link_names"]]
    seen["unloaded"] = [path for path in dict.fromkeys(report.real_paths()) if path not in set(seen["objects"])]
    seen["dlopens"] = [{**call, "failed": True} if call["path"] in seen["unloaded"] else call for call in report.dlopens]
    seen["loader_errors"] = report.errors
    return seen


def run_plainly(root, command, environment):
    """Exit code and output of the command as a user would run it."""
    plain = run_in_root(root, command, environment)
    return {
        "command": command,
        "environment": environment,
        "exit": plain["exit"],
        "stdout": tail(plain["stdout"]),
        "stderr": tail(plain["stderr"]),
        "error": (errors(plain["stderr"]) or [None])[-1],
        "errors": errors(plain["stderr"])[-LAST_LINES:],
    }


def names_without_link_map(root, command, environment, report):
    """The executable, what `LD_TRACE_LOADED_OBJECTS` (ldd) lists for it, and what glibc's report adds to that.

    The report does not tell the place of the dynamic loader itself among the objects; the list of ldd does.
    """
    traced = run_in_root(root, command, {**environment, "LD_TRACE_LOADED_OBJECTS": "1"})["stdout"]
    started = [found.group(1) for found in re.finditer(r"^\t(?:\S+ => )?(/.*) \(0x[0-9a-f]+\)$", traced, re.MULTILINE)]
    known = {real_path(root, name) for name in started}
    later = [path for path in report.paths if real_path(root, path) not in known]
    return [executable(root, command[0], environment["PATH"]), *started, *later]


def executable(root, name, search):
    """The file that running `name` starts."""
    if "/" in name:
        return name
    paths = (f"{directory}/{name}" for directory in search.split(":"))
    return next((path for path in paths if os.access(os.path.join(root, real_path(root, path)[1:]), os.X_OK)), name)


def run_in_root(root, command, environment):
    """Runs a command in the root without network, with the root read-only; returns exit code, output and the loader's report."""
    exchange = tempfile.mkdtemp(prefix="observe-")
    try:
        with open(os.path.join(exchange, os.path.basename(MARK)), "w", encoding="ascii") as file:
            file.write("not a library")
        words = [f"{name}={value}" for name, value in environment.items()]
        process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", ENTER, "sh", root, exchange, *words, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
        )
        try:
            out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        return {
            "exit": exit_code(process.returncode),
            "stdout": out.decode("utf-8", "replace"),
            "stderr": err.decode("utf-8", "replace"),
            "loader_report": read_text(os.path.join(exchange, f"ld.{process.pid}")),
            "link_map": read_json(os.path.join(exchange, "link-map.json")),
        }
    finally:
        shutil.rmtree(exchange, ignore_errors=True)


# The shell replaces itself at every step, so the process keeps its id to the end and its report can be told by it. The
# mounts end with the namespace.
ENTER = """
set -e
root=$1 exchange=$2
shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/root"
mount --bind "$exchange" "$root/mnt"
mount -o remount,ro,bind "$root"
exec chroot "$root" /usr/bin/env -i "$@"
"""


class LoaderReport:
    """What `LD_DEBUG=files,libs,scopes` says about one process: mapped paths in order, dlopen calls, failures.

    The words are those of glibc 2.31 to 2.41 (elf/dl-load.c, dl-open.c, dl-init.c).
    """

    def __init__(self, text, root):
        self.paths, self.dlopens, self.errors, self.root = [], [], [], root
        self._tried = None
        self._asked = None
        for line in text.splitlines():
            self._line(line.split(":", 1)[-1].strip() if re.match(r"\s*\d+:", line) else line.strip())

    def _line(self, line):
        if found := re.match(r"file=(.*) \[\d+\];  (?:needed|dynamically loaded) by (.*) \[\d+\]", line):
            self._tried, self._asked = None, found.group(1)
            if "dynamically loaded by" in line:
                self.dlopens.append({"name": found.group(1), "caller": found.group(2), "path": None, "mode": "local"})
        elif found := re.match(r"trying file=(.*)", line):
            self._tried = found.group(1)
        elif found := re.match(r"file=(.*) \[\d+\];  generating link map", line):
            self._mapped(found.group(1))
        elif found := re.match(r"opening file=(.*) \[\d+\]; direct_opencount=(\d+)", line):
            self._opened(found.group(1))
        elif found := re.match(r"add (.*) \[\d+\] to global scope", line):
            if self.dlopens and self.dlopens[-1]["path"] == real_path(self.root, found.group(1)):
                self.dlopens[-1]["mode"] = "global"
        elif "error:" in line:
            self.errors.append(line)

    def _mapped(self, asked):
        path = asked if "/" in asked else self._tried or asked
        self.paths.append(path)
        last = self.dlopens[-1] if self.dlopens else None
        if last and last["path"] is None and last["name"] == asked:
            last["path"] = real_path(self.root, path)

    def _opened(self, path):
        """A dlopen call that found its object loaded already, or the object just mapped for the first time."""
        last, path = self.dlopens[-1] if self.dlopens else None, path and real_path(self.root, path)
        if not (last and last["path"] == path):
            self.dlopens.append({"name": None, "caller": None, "path": path, "mode": None, "already_loaded": True})

    def real_paths(self):
        return [real_path(self.root, path) for path in self.paths]


def real_path(root, path):
    """The path with all links resolved as seen from inside the root."""
    parts, done, hops = path.split("/"), [], 0
    while parts:
        part = parts.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            done = done[:-1]
            continue
        here = os.path.join(root, *done, part)
        if os.path.islink(here) and hops < 40:
            hops += 1
            target = os.readlink(here)
            if target.startswith("/"):
                done = []
            parts = target.split("/") + parts
        else:
            done.append(part)
    return "/" + "/".join(done)


def errors(text):
    """The first lines of all printed exceptions; without exceptions, the whole output."""
    return [line.strip() for line in ERROR_LINE.findall(text)] or [line for line in text.splitlines() if line.strip(" \t\0")]


def exit_code(code):
    """A number, or the name of the signal that ended the process."""
    return code if code >= 0 else signal.Signals(-code).name


def tail(text):
    return "\n".join(text.splitlines()[-LAST_LINES:])


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def read_json(path):
    text = read_text(path)
    return json.loads(text) if text else None
