"""Sweeps: every combination of several knobs' values, run side by side, resumed when interrupted."""
