"""Sweeps: run all combinations of several knobs' values, several at a time. An interrupted sweep can be resumed."""
