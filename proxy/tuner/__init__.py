"""The tuner beside an unmodified server: TCP_NOTSENT_LOWAT for each of its connections, from what the kernel knows."""
