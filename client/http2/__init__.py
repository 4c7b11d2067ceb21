"""The client's HTTP/2."""
