"""Real Chromium as the client: driven over the DevTools protocol; its own net log says what it sent and received."""
