"""What several parts need to know about the clock: when the kernel received something, and how good the clock is."""
