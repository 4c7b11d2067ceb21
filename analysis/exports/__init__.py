"""Converts an experiment's runs to the formats of other programs. formats.py lists the formats."""
