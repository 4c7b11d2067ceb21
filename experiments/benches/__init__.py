"""Benchmarks: how long things take on this machine."""
