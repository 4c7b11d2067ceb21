"""`python -m priolab.client.firefox PLAN CERTIFICATE OUT BROWSER`: loads a plan's page with Firefox.

PLAN: the file of the plan (common/formats/plan.py). CERTIFICATE: the front's certificate file. OUT: the folder for the
results. BROWSER: the browser's executable file.

The command prints the same lines and writes the same files as `python -m priolab.client`, and OUT/browser.json in
addition. The browser loads the plan's page from the plan's address, as often as the plan says. The browser chooses its
own priorities and flow-control windows.

The exit code is 0 if every load finished and every page was complete: pictures rendered, scripts run, style sheets
applied, fetches received. Otherwise it is 1, and the reason is the last line on standard error.
"""

import sys
from pathlib import Path

from priolab.client.browsers import command
from priolab.client.browsers.capture import Capture
from priolab.client.browsers.page_state import Shown
from priolab.client.browsers.pcap_run import RESOLUTION_NS, carry_out
from priolab.client.browsers.record import Browser
from priolab.client.firefox import profile
from priolab.client.firefox.browser import SWITCHES, browse
from priolab.common.formats.plan import Plan


def run(plan: Plan, certificate: Path, out: Path, program: Path, scratch: Path) -> None:
    """Carries out all loads of the plan. Raises LoadFailed or Unreadable.

    certificate: the front's certificate file. out: the folder for the results. program: the browser's executable file.
    scratch: the folder for the profile.
    """
    browser = Browser(
        product="Firefox",
        switches=SWITCHES,
        driver="websockets",
        time_resolution_ns=RESOLUTION_NS,
        preferences=profile.preferences(plan),
    )

    def load(keys: Path, _: Capture) -> tuple[str, list[Shown]]:
        return browse(plan, certificate, program, keys, scratch, command.began)

    carry_out(plan, out, browser, load)


if __name__ == "__main__":
    sys.exit(command.main("priolab.client.firefox", run))
