import os
from setuptools import find_packages, setup

setup(
    name="x",
    packages=find_packages(),
    install_requires=[
        "torch==2.8.0",
        "torchvision==0.22.1",  # older
    ],
)
