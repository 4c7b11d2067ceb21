"""The command line that starts a browser as the client, and the files that every browser's run writes."""

import json
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from priolab.client.browsers.browser_events import Account
from priolab.client.browsers.page_state import Shown
from priolab.client.browsers.record import Browser, document
from priolab.client.browsers.tls13 import Unreadable
from priolab.client.journal import Journal
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan, read_plan

_ENDED_BY_SIGNAL = 128

Run = Callable[[Plan, Path, Path, Path, Path], None]
"""Carries out all loads of a plan. Its arguments: the plan, the front's certificate file, the folder for the results,
the browser's executable file, and a scratch folder, which is removed afterwards."""


def began(number: int, began_ns: int) -> None:
    """Reports the beginning of a load (CLOCK_MONOTONIC, ns) on standard output."""
    print(f"began {number} {began_ns}", flush=True)


def write_account(plan: Plan, out: Path, made: Account, browser: Browser, pages: Sequence[Shown]) -> None:
    """Writes events.jsonl, arrivals.jsonl, socket.json and browser.json into the folder `out`. Raises OSError."""
    with Journal.writing(out) as journal:
        journal.add(made.events)
        for t_ns, tcp_bytes in made.arrivals:
            journal.arrived(t_ns, tcp_bytes)
    if made.local:
        address, port = made.local
        socket = {
            "address": address,
            "port": port,
            "receive_buffer_bytes": None,
            "largest_record_bytes": made.largest_record_bytes,
        }
        (out / "socket.json").write_text(json.dumps(socket) + "\n")
    text = json.dumps(document(plan, browser, made, pages), indent=2)
    (out / "browser.json").write_text(text + "\n")


def check_pages(pages: Sequence[Shown]) -> None:
    """Raises LoadFailed if a page was not complete."""
    for page in pages:
        if page.trouble:
            raise LoadFailed(page.trouble)


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(_ENDED_BY_SIGNAL + number)


def main(name: str, run: Run) -> int:
    """Carries out the command line; returns the exit code.

    name: the module's name. `run` may raise LoadFailed, Unreadable and OSError.
    """
    if len(sys.argv) != 5:
        print(f"usage: python -m {name} PLAN CERTIFICATE OUT BROWSER", file=sys.stderr)
        return 2
    # SIGTERM raises SystemExit, so that the program still ends the browser and removes its scratch folder.
    signal.signal(signal.SIGTERM, _end)
    plan_file, certificate, out, program = (Path(word).absolute() for word in sys.argv[1:])
    try:
        with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as scratch:
            run(read_plan(plan_file), certificate, out, program, Path(scratch))
    except (LoadFailed, Unreadable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
