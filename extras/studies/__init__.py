"""Studies: compare several experiments, and write documents or pictures of the results."""
