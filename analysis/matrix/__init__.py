"""The matrix: every server with every dialect, each tested for order without and with a full send buffer."""
