"""The engine: hosts joined by links, in a guest on virtual time, or in namespaces on real time."""
