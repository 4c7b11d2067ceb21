"""Page loads: measures, ledger, oracle, model, verdict, and where the logs contradict each other."""
