"""Converts an experiment's runs to the formats of other programs. `formats` lists the formats."""
