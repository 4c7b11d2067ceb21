"""The client's SPDY/3.1 engine. Chrome loaded Google Maps over SPDY before HTTP/2 existed."""
