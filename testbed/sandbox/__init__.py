"""Runs any two programs on the lab's link, in a guest on virtual time."""
