"""The longest times that the lab waits for others. A longer wait costs time only if something is wrong."""

READY_S = 30
"""The wait until a server, the origin or a container answers after its start."""

HELPER_S = 20
"""The wait until a helper of the lab's own is ready: a capture, or the cross traffic."""

BLAME_S = 0.5
"""The wait after a program has failed, to see whether the program that it depends on has ended, too: this one is named.
"""
