"""Benchmarks of the lab's own speed, on this machine."""
