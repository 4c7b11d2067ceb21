"""Packages that are built on the lab and can be taken away from it. Each has a file extra.toml, and its own tests."""
