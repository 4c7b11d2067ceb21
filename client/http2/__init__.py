"""HTTP/2 as the client speaks it."""
