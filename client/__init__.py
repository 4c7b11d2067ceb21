"""The HTTP/2 client: asks by plan, and writes down what arrived when, piece by piece."""
