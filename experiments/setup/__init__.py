"""The machine that the lab runs on: programs, processes, packages, the Python environment, and the lab's own files."""
