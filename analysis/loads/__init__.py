"""Evaluates page loads: measures, ledger, oracle, model, verdict, and contradictions between the logs."""
