"""`python -m client.chromium PLAN CERTIFICATE OUT BROWSER`: loads a plan's page with a real browser.

PLAN: the file of the plan (common/formats/plan.py). CERTIFICATE: the front's certificate file. OUT: the folder for the
results. BROWSER: the browser's executable file.

The command prints the same lines and writes the same files as `python -m client`. In addition it writes
OUT/browser.json and OUT/netlog.json.gz. The browser loads the plan's page from the plan's address, as often as the plan
says. The browser chooses its own priorities and flow-control windows.

The exit code is 0 if every load finished and every page was complete: pictures rendered, scripts run, style sheets
applied, fetches received. Otherwise it is 1, and the reason is the last line on standard error.
"""

import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from client.chromium.account import Account, account
from client.chromium.browser import NETLOG, Shown, browse
from client.chromium.netlog import NetlogError, keep, read
from client.chromium.record import document
from client.chromium.tls13 import Unreadable, read_secrets
from client.journal import Journal
from client.loads import LoadFailed
from common.formats.plan import Plan, read_plan

_ENDED_BY_SIGNAL = 128


def run(plan: Plan, certificate: Path, out: Path, program: Path) -> None:
    """Carries out all loads of the plan. Raises LoadFailed, NetlogError or Unreadable.

    certificate: the front's certificate file. out: the folder for the results. program: the browser's executable file.
    """
    shown: list[Shown] = []
    trouble: LoadFailed | None = None
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as scratch:
        try:
            shown = browse(plan, certificate, program, out / "keys.log", Path(scratch), _tell)
        except LoadFailed as error:
            trouble = error
        # The records of a failed load are written, too: the net log may show the reason.
        try:
            made = _account(plan, Path(scratch) / NETLOG, out, shown)
        except (NetlogError, Unreadable, OSError):
            if trouble is None:
                raise
            raise trouble from None
    if found := trouble or made.trouble:
        raise found
    for page in shown:
        if page.trouble:
            raise LoadFailed(page.trouble)


def _tell(number: int, began_ns: int) -> None:
    print(f"began {number} {began_ns}", flush=True)


def _account(plan: Plan, netlog_file: Path, out: Path, shown: Sequence[Shown]) -> Account:
    """Reads the net log and writes the files made from it to `out`. shown: the state of the page after each load."""
    netlog, whole = read(netlog_file)
    made = account(netlog, read_secrets(out / "keys.log"), plan)
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
    text = json.dumps(document(plan, netlog, made, shown), indent=2)
    (out / "browser.json").write_text(text + "\n")
    keep(whole, out / "netlog.json.gz")
    return made


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(_ENDED_BY_SIGNAL + number)


def main() -> int:
    """Carries out the command line; returns the exit code."""
    if len(sys.argv) != 5:
        print("usage: python -m client.chromium PLAN CERTIFICATE OUT BROWSER", file=sys.stderr)
        return 2
    # SIGTERM raises SystemExit, so that the program still ends the browser and removes its scratch folder.
    signal.signal(signal.SIGTERM, _end)
    plan_file, certificate, out, program = (Path(word).absolute() for word in sys.argv[1:])
    try:
        run(read_plan(plan_file), certificate, out, program)
    except (LoadFailed, NetlogError, Unreadable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
