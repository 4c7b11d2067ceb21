"""Sleeps until an instant of CLOCK_MONOTONIC."""

import time


def sleep_until(t_ns: int) -> None:
    """Sleeps until t_ns of CLOCK_MONOTONIC; returns at once if that time is past.

    In a guest the clock moves only by the cost of its reads while programs compute, so the wake-up is a whole number of
    clock reads after t_ns.
    """
    left_ns = t_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep((left_ns - 0.5) / 10**9)  # time.sleep rounds up to a whole nanosecond
