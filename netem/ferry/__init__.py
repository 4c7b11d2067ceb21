"""The ferry: a process that delays, queues and drops packets as a Link says, for kernels without sch_netem.

loops: routes a router's packets through the ferry. ring: reads and writes these packets. direction: computes when each
packet leaves. process: the process that runs all this.
"""
