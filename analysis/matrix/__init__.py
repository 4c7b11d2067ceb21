"""Who keeps the order: every server with every dialect, with nothing in the way and with the socket in the way."""
