"""Fabrics: how places come to exist. Each turns the order for an arm into a command that carries it out."""
