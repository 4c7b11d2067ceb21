"""The link: its description (link.py), the two shapers (shaper.py, tc.py, ferry/) and its calibration."""
