"""Checkers and writers that the nox sessions run; each has a test under tests/tools."""
