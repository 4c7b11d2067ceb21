"""Chromium as the client, driven over the DevTools protocol. Its own net log records what it sent and received."""
