"""Scenarios: the knobs that people set, the constraints between them, and named scenarios."""
