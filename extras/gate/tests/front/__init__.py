"""A front for HTTP/2 with the scheduling of RFC 9218, and ten faults that a switch plants in its scheduler."""
