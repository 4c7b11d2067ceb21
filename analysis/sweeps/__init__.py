"""Evaluates sweeps: statistics, the knee of every network, a judgement of LOWAT=auto. Reads folders only."""
