"""The article's pictures again: what it reported, what is measured here, and whether that is the same."""
