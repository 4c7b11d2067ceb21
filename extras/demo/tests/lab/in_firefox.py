"""Firefox for the tests of the page: it opens a file, and is driven as a reader drives it, by BiDi."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from priolab.client.firefox.bidi import Session, session
from priolab.client.firefox.browser import SWITCHES, address_of
from priolab.common.process.search_path import find

LOAD_S = 60.0


@contextmanager
def firefox(folder: Path, requested: list[str], errors: list[str] | None = None) -> Iterator[Session]:
    """Yields a session with Firefox, whose profile is in the folder.

    requested: gets the address of each request. errors: gets the errors of the console.
    """
    program = find("firefox-esr") or find("firefox")
    assert program
    log = folder / "browser.log"
    with log.open("wb") as output:
        command = [program, *SWITCHES, "--profile", str(folder)]
        process = subprocess.Popen(command, stdout=output, stderr=output, env={"HOME": str(folder), "PATH": "/usr/bin"})
    try:

        def hear(method: str, event: Any) -> None:
            if method == "network.beforeRequestSent":
                requested.append(event["request"]["url"])
            elif method == "log.entryAdded" and event["level"] == "error" and errors is not None:
                errors.append(event["text"])

        with session(address_of(process, log), hear) as opened:
            opened.command("session.subscribe", LOAD_S, events=["network.beforeRequestSent", "log.entryAdded"])
            yield opened
    finally:
        process.terminate()
        process.wait(LOAD_S)
