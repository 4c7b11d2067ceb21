"""The link: its description (Link), its making (shaper, tc, ferry), its measurement (calibration)."""
