"""Processes of the engine: how they start, are heard and end, and the jobs that a machine carries out side by side."""
