"""The HTTP/2 and SPDY client: asks by plan, and writes down what arrived when, piece by piece."""
