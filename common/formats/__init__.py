"""The records of a run folder, each declared once: whoever writes one and whoever reads it share the declaration."""
