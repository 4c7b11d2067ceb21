"""Benchmarks: measure times on this machine."""
