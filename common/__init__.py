"""Shared code that imports nothing else of the lab: arrival times, quality and cost of clocks, netlink."""
