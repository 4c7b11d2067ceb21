"""Reads run folders, and nothing else of the lab: measures, judges, explains, draws."""
