"""The client's HTTP/3, over QUIC. The kernel holds no unsent bytes of QUIC that could spoil the order of responses."""
