"""Compares the tables of rules/knowledge/ with what a Python package index publishes, and writes the rows that they lack."""
