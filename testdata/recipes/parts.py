"""Single real files out of published wheels and Debian packages, fetched once and kept."""

import fnmatch
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

MIRROR = "http://deb.debian.org/debian"


class Parts:
    """A directory of unpacked members: `wheel(requirement, pattern)` and `debian(package, suite, component, pattern)`."""

    def __init__(self, directory):
        self.directory = directory

    def wheel(self, requirement, pattern, platform="manylinux2014_x86_64", python="3.11"):
        """The members of a wheel that match the pattern, as paths by their name within the wheel."""
        target = os.path.join(self.directory, f"{requirement.replace('==', '-')}-{platform}")
        return self._kept(target, pattern, lambda: self._fetch_wheel(requirement, platform, python))

    def debian(self, package, suite, component, pattern):
        """The files of a Debian package that match the pattern, as paths by their name within the root."""
        target = os.path.join(self.directory, f"{suite}-{package}")
        return self._kept(target, pattern, lambda: self._fetch_package(package, suite, component))

    def _kept(self, target, pattern, fetch):
        """Unpacks what matches once; a file beside the directory notes which patterns were."""
        done = os.path.join(target, ".patterns")
        seen = open(done, encoding="utf-8").read().split("\n") if os.path.exists(done) else []
        if pattern not in seen:
            os.makedirs(target, exist_ok=True)
            fetched = fetch()
            try:
                self._unpack(fetched, pattern, target)
            finally:
                shutil.rmtree(os.path.dirname(fetched))
            with open(done, "a", encoding="utf-8") as file:
                file.write(pattern + "\n")
        names = (os.path.relpath(path, target) for path in glob.glob(os.path.join(target, "**"), recursive=True))
        found = {name: os.path.join(target, name) for name in names if fnmatch.fnmatch(name, pattern)}
        found = {name: path for name, path in found.items() if not os.path.isdir(path)}
        if not found:
            raise FileNotFoundError(f"{target}: nothing matches {pattern}")
        return found

    def _fetch_wheel(self, requirement, platform, python):
        directory = tempfile.mkdtemp(dir=self.directory, prefix=".fetch-")
        subprocess.run(
            [
                sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--quiet", "download",
                "--no-deps", "--only-binary=:all:", f"--platform={platform}", f"--python-version={python}",
                "--dest", directory, requirement,
            ],
            check=True,
        )
        return glob.glob(os.path.join(directory, "*.whl"))[0]

    def _fetch_package(self, package, suite, component):
        index = urllib.request.urlopen(f"{MIRROR}/dists/{suite}/{component}/binary-amd64/Packages.xz").read()
        entry = re.search(rf"^Package: {re.escape(package)}\n(?:.+\n)*", lzma.decompress(index).decode(), re.MULTILINE).group()
        fields = dict(re.findall(r"^(Filename|SHA256): (\S+)$", entry, re.MULTILINE))
        path = os.path.join(tempfile.mkdtemp(dir=self.directory, prefix=".fetch-"), "package.deb")
        digest = hashlib.sha256()
        with urllib.request.urlopen(f"{MIRROR}/{fields['Filename']}") as answer, open(path, "wb") as file:
            while block := answer.read(1 << 20):
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != fields["SHA256"]:
            raise ValueError(f"{package}: the mirror's file is not the one of its index")
        return path

    def _unpack(self, archive, pattern, target):
        if archive.endswith(".whl"):
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(target, [name for name in wheel.namelist() if fnmatch.fnmatch(name, pattern)])
        else:
            listed = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "-C", target, "--wildcards", f"./{pattern}"], stdin=listed.stdout, check=True)
            listed.stdout.close()
            listed.wait()
