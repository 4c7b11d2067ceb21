"""Scenarios: the knobs that people set, the constraints between knobs, pages, and named scenarios."""
