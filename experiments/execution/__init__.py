"""Carries out experiments, on this machine or on many, and writes the run.json of each run."""
