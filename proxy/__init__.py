"""The TLS fronts: a template and a catalogue entry for each server, a class that runs them, a sampler, and a tuner."""
