"""The client's HTTP/3: over QUIC, which has no send buffer in the kernel that could spoil an order."""
