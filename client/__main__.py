"""`python -m priolab.client PLAN CA OUT`: loads a page as a plan says.

PLAN: the file of the plan (common/formats/plan.py). CA: the file with the certificate authority to trust. OUT: the
folder for the results.

The command writes OUT/events.jsonl, OUT/arrivals.jsonl (bytes of the TCP stream by time; empty over QUIC),
OUT/socket.json and OUT/keys.log.

The exit code is 0 if every load finished, and 1 if one failed; the reason is the last line on standard error.

Each load prints two lines on standard output: a progress line that begins with "@ " and, when the page has been
requested, `began N T`. N: the number of the load. T: the time at which the load began, CLOCK_MONOTONIC in nanoseconds.
After the last load, the command prints `ended`.
"""

import sys
from pathlib import Path

from priolab.client.load_scheduler import LoadFailed
from priolab.client.session import run_over_tcp
from priolab.client.transport import TransportFailed
from priolab.common.formats.plan import Plan, Protocol, read_plan
from priolab.common.sleeping import sleep_until


def run(plan: Plan, ca_file: Path, out: Path) -> None:
    """Carries out all loads of the plan. Raises LoadFailed or TransportFailed.

    ca_file: the file with the certificate authority to trust. out: the folder for the results.
    """
    if plan.begins_ns is not None:
        sleep_until(plan.begins_ns)
    if plan.protocol is Protocol.HTTP3:
        from priolab.client.http3.session import run_over_quic  # importing it takes a third of a second

        run_over_quic(plan, ca_file, out)
    else:
        run_over_tcp(plan, ca_file, out)


def main() -> int:
    """Carries out the command line; returns the exit code."""
    if len(sys.argv) != 4:
        print("usage: python -m priolab.client PLAN CA OUT", file=sys.stderr)
        return 2
    plan_file, ca_file, out = map(Path, sys.argv[1:])
    try:
        run(read_plan(plan_file), ca_file, out)
    except (LoadFailed, TransportFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
