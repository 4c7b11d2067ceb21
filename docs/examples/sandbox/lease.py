"""Waits for two seconds by the time of day, or by a clock that never jumps: `lease.py time`, `lease.py monotonic`."""

import sys
import time

LEASE_S = 2.0

if __name__ == "__main__":
    clock = time.time if sys.argv[1] == "time" else time.monotonic
    begun, end = time.monotonic(), clock() + LEASE_S
    while clock() < end:
        time.sleep(0.1)
    print(f"the lease ended after {time.monotonic() - begun:.1f} s")
