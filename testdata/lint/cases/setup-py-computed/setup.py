import os
from setuptools import find_packages, setup


def get_requires():
    with open("requirements.txt", encoding="utf-8") as f:
        lines = [line.strip() for line in f.read().split("\n") if not line.startswith("#")]
        return lines


extras = {"metrics": ["nltk"]}
extras["gpu"] = ["triton"]
if os.getenv("ALL"):
    extras.update(more())

extra_require = {
    "audio": ["torchaudio==2.7.1"],
    "docs": open("docs.txt").read().splitlines(),
}

extra_require["all"] = [x for y in extras.values() for x in y]


def main():
    setup(
        name="x",
        packages=find_packages("src"),
        install_requires=get_requires(),
        extras_require=extra_require,
    )


main()
