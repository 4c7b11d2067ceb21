"""Notebooks that each answer a question, and their helpers."""
