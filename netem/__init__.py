"""The link: what it should be (Link), how it becomes real (tc), and what it turned out to be (calibration)."""
