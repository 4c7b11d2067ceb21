"""Evaluates the matrix: which server follows which dialect, and which layer loses the order on a slow link."""
