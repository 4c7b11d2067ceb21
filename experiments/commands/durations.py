"""Formats times for people."""

from math import ceil


def about(time_s: float) -> str:
    """Formats an estimated time: below 10 s in seconds, below 90 s in steps of 5 s, otherwise in minutes."""
    if time_s < 10:
        return f"{ceil(time_s)} s"
    return f"{5 * ceil(time_s / 5)} s" if time_s < 90 else f"{ceil(time_s / 60)} min"


def clock(time_s: float) -> str:
    """Formats a time that passes: `7 s`, `2:05`, `1:00:00`."""
    whole_s = int(time_s)
    if whole_s < 60:
        return f"{whole_s} s"
    minutes = f"{whole_s // 60 % 60}:{whole_s % 60:02}"
    return minutes if whole_s < 3600 else f"{whole_s // 3600}:{minutes:0>5}"


def duration(seconds: float) -> str:
    """Formats a time for people, in two units at most: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"
