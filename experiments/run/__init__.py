"""Carries out one run, from its order (asked/arm.json) to its outcome (outcome.json)."""
