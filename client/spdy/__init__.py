"""SPDY/3.1 as the client speaks it: what Chrome spoke to Google Maps before there was HTTP/2."""
