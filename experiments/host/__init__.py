"""The machine: programs, processes, packages, the Python environment, and the lab's own files."""
