"""Shared code of tests: fixtures, the lab in a folder of its own, runs that many tests read."""
