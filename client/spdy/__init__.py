"""The client's SPDY/3.1, the protocol that Chrome used with Google Maps before HTTP/2."""
