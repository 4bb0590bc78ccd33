"""Tests: `python3 -m unittest discover -t tools -s tools/knowledge/tests`. They need no network."""
