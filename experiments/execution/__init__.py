"""Who carries out runs: on this machine, or on many."""
