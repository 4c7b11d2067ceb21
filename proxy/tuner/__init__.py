"""The tuner: sets TCP_NOTSENT_LOWAT on each connection of an unmodified server, from the kernel's measurements."""
