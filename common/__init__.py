"""Shared code that imports no other package of the lab: file formats, arrival times, clocks, netlink requests."""
