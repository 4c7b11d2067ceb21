"""A shared leaf: arrival times, the quality and cost of clocks, and netlink questions."""
