"""The hub: scenarios, the fabrics that make places, the run of one arm, and the command line."""
