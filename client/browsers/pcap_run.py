"""The run of a browser whose packets are the record of its actions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from priolab.client.browsers import command
from priolab.client.browsers.capture import Capture, capturing
from priolab.client.browsers.packet_account import account
from priolab.client.browsers.page_state import Shown
from priolab.client.browsers.record import Browser
from priolab.client.browsers.tls13 import Unreadable, read_secrets
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan

RESOLUTION_NS = 1
"""The resolution of the packets' times."""

Browse = Callable[[Path, Capture], tuple[str, Sequence[Shown]]]
"""Carries out all loads with a browser that writes its TLS secrets into the given file, while its packets are captured.

Returns the browser's name and version, and the state of the page after each load. Raises LoadFailed, also if the
browser cannot be started.
"""


def carry_out(plan: Plan, out: Path, browser: Browser, browse: Browse) -> None:
    """Carries out all loads of the plan, and writes the files that every browser's run has, also of failed loads.

    out: the folder for the results. browser: the browser; its product stands for one that could not be started.
    Raises LoadFailed or Unreadable.
    """
    shown: Sequence[Shown] = []
    trouble: LoadFailed | None = None
    keys = out / "keys.log"
    with capturing(plan.address, plan.port) as capture:
        try:
            product, shown = browse(keys, capture)
            browser = replace(browser, product=product)
        except LoadFailed as error:
            trouble = error
    # The records of a failed load are written, too: they may show the reason.
    try:
        made = account(capture.packets(), read_secrets(keys) if keys.exists() else {}, plan, capture.address)
    except Unreadable:
        if trouble is None:
            raise
        raise trouble from None
    command.write_account(plan, out, made, browser, shown)
    if found := trouble or made.trouble:
        raise found
    command.check_pages(shown)
