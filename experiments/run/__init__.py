"""Carries out one run, from its order to its outcome."""
