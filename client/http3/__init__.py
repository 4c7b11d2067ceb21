"""HTTP/3 as the client speaks it: over QUIC, which has no send buffer in the kernel to lose an order in."""
