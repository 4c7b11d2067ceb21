"""Sweeps: arms for all combinations of several knobs' values. An interrupted sweep can be resumed."""
