"""The set-up of a machine. It runs before there is a Python environment, so it imports the standard library alone."""
