"""The image of the lab."""
