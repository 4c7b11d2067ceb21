"""The client's HTTP/2 engine, and a decoder that reports frames piece by piece."""
