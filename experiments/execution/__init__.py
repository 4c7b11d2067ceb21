"""Carries out experiments, on this machine or on many, and concludes them."""
