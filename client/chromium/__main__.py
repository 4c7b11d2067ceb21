"""`python -m priolab.client.chromium PLAN CERTIFICATE OUT BROWSER`: loads a plan's page with a real browser.

PLAN: the file of the plan (common/formats/plan.py). CERTIFICATE: the front's certificate file. OUT: the folder for the
results. BROWSER: the browser's executable file.

The command prints the same lines and writes the same files as `python -m priolab.client`. In addition it writes
OUT/browser.json and OUT/netlog.json.gz. The browser loads the plan's page from the plan's address, as often as the plan
says. The browser chooses its own priorities and flow-control windows.

The exit code is 0 if every load finished and every page was complete: pictures rendered, scripts run, style sheets
applied, fetches received. Otherwise it is 1, and the reason is the last line on standard error.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from priolab.client.browsers import command
from priolab.client.browsers.browser_events import Account
from priolab.client.browsers.page_state import Shown
from priolab.client.browsers.record import Browser
from priolab.client.browsers.tls13 import Unreadable, read_secrets
from priolab.client.chromium.account import account
from priolab.client.chromium.browser import NETLOG, browse
from priolab.client.chromium.netlog import RESOLUTION_NS, NetlogError, keep, read
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan


def run(plan: Plan, certificate: Path, out: Path, program: Path, scratch: Path) -> None:
    """Carries out all loads of the plan. Raises LoadFailed, NetlogError or Unreadable.

    certificate: the front's certificate file. out: the folder for the results. program: the browser's executable file.
    scratch: the folder for profile and net log.
    """
    shown: list[Shown] = []
    trouble: LoadFailed | None = None
    try:
        shown = browse(plan, certificate, program, out / "keys.log", scratch, command.began)
    except LoadFailed as error:
        trouble = error
    # The records of a failed load are written, too: the net log may show the reason.
    try:
        made = _account(plan, scratch / NETLOG, out, shown)
    except (NetlogError, Unreadable, OSError):
        if trouble is None:
            raise
        raise trouble from None
    if found := trouble or made.trouble:
        raise found
    command.check_pages(shown)


def _account(plan: Plan, netlog_file: Path, out: Path, shown: Sequence[Shown]) -> Account:
    """Reads the net log and writes the files made from it to `out`. shown: the state of the page after each load."""
    netlog, whole = read(netlog_file)
    made = account(netlog, read_secrets(out / "keys.log"), plan)
    browser = Browser(
        product=netlog.product, switches=netlog.switches, driver="playwright", time_resolution_ns=RESOLUTION_NS
    )
    command.write_account(plan, out, made, browser, shown)
    keep(whole, out / "netlog.json.gz")
    return made


if __name__ == "__main__":
    sys.exit(command.main("priolab.client.chromium", run))
