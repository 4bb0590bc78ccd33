from setuptools import setup

setup(name="x", install_requires=open("requirements.txt").read().split())
