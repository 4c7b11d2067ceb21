"""The TLS fronts: each a template and a catalogue entry, one class to run them, and a look at their live sockets."""
