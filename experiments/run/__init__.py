"""One run, from its order to its outcome."""
