"""The virtual-time guest: a User-Mode Linux kernel, built once, whose clock jumps over idle time."""
