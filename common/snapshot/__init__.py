"""A picture of a network namespace: the settings of its kernel that decide when packets leave and arrive, by name."""
