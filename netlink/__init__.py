"""Netlink, for instruments that ask the kernel the same question a hundred times a second."""
