"""Evaluates finished or unfinished sweeps: statistics, the knee of every network, a judgement of LOWAT=auto."""
