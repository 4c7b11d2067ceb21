"""The client's HTTP/3, over QUIC.

A server holds the unsent bytes of QUIC streams itself. The kernel holds none that could spoil the order of responses.
"""
