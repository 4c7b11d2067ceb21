"""The ferry: a process that delays, queues and drops packets as a Link says, for kernels without sch_netem.

loops.py routes a router's packets through the ferry. ring.py reads and writes these packets. direction.py computes when
each packet leaves. process.py is the process that runs the ferry.
"""
