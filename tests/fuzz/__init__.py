"""Sessions with misbehaving servers: `make fuzz`, or `python -m tests.fuzz PROTOCOL SEED FRAMES`."""
