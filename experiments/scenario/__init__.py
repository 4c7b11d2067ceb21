"""Scenarios: the knobs that people set, what may go together, and named scenarios."""
