"""Sleeping until an instant of CLOCK_MONOTONIC."""

import time


def sleep_until(t_ns: int) -> None:
    """Sleeps until an instant; returns at once if it is past.

    In a guest whose clock stands still while programs work, the wake-up is a whole number of clock reads later.
    """
    left_ns = t_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep((left_ns - 0.5) / 10**9)  # which is rounded up to a whole nanosecond
