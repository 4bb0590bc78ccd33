"""METADATA of a wheel (core metadata of PyPA): what it requires on Linux."""

from __future__ import annotations

from email.parser import HeaderParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

# The machine for which markers are evaluated. Its Python is one that most releases support: torch 2.2 requires triton below 3.12 only.
LINUX = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.0",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}


class Metadata:
    """The fields that the tables need."""

    def __init__(self, text: str) -> None:
        # The description can be long, and may hold anything.
        fields = HeaderParser().parsestr(text)
        self.python = normal(fields.get("Requires-Python", ""))
        self.requires: list[Requirement] = []
        for line in fields.get_all("Requires-Dist", []):
            try:
                self.requires.append(Requirement(line))
            except InvalidRequirement:
                continue

    def requirements(self, extra: str = "") -> list[Requirement]:
        """What is required on Linux with CPython on x86-64: always, or with an extra what it adds."""
        wanted = []
        for requirement in self.requires:
            marker = requirement.marker
            always = marker is None or marker.evaluate({**LINUX, "extra": ""})
            with_extra = marker is None or marker.evaluate({**LINUX, "extra": extra})
            if with_extra and (not extra or not always):
                wanted.append(requirement)
        return wanted

    def pin(self, project: str) -> str | None:
        """The specifier for a project, such as `==2.8.0`; empty if any release will do, `None` if it is not required."""
        for requirement in self.requirements():
            if canonicalize_name(requirement.name) == project:
                return str(requirement.specifier)
        return None

    def exact(self, project: str) -> str | None:
        """The only release of a project that is accepted."""
        pin = self.pin(project)
        return pin[2:] if pin and pin.startswith("==") and "," not in pin and "*" not in pin else pin


def normal(specifier: str) -> str:
    """Specifiers in one order, without blanks: `<3.14,>=3.9`."""
    return ",".join(sorted(part.strip() for part in specifier.split(",") if part.strip()))
