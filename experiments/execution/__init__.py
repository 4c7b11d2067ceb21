"""Experiments: carried out on this machine or on many, and concluded."""
