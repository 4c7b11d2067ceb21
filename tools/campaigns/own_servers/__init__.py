"""Recommendations of knee, measured again with servers of one's own: `make own-servers`."""
