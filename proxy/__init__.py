"""The TLS fronts: a template and a catalogue entry for each server, a class that runs a front, a sampler, a tuner."""
