"""The records of a run folder, each declared once: whoever writes one and whoever reads it share the declaration."""

RUN_FORMAT = 3
"""Format of run folders. Others are not read."""
