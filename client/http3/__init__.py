"""The client's HTTP/3, over QUIC.

A server itself holds the unsent bytes of QUIC streams. So the kernel has no unsent bytes that could spoil the order of
responses.
"""
