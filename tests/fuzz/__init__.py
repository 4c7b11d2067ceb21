"""Peers that misbehave, by the million: `make fuzz`, or `python -m tests.fuzz SEED FRAMES PROTOCOL`."""
