"""Sessions with misbehaving servers: `make fuzz`, or `python -m tools.campaigns.fuzz PROTOCOL SEED FRAMES`."""
