"""The TLS fronts: a template and a catalogue entry for each, a class that runs them, and samplers of their sockets."""
