"""Fronts on loopback with an origin, for tests in tests/server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from priolab.common.process.processes import Process
from priolab.experiments.setup.installed import program_of
from priolab.experiments.setup.npm import modules_of
from priolab.proxy.certificates import issue
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.front import Process as FrontProcess
from priolab.proxy.server import server_of
from tests.support.origins import running_origin
from tests.support.pages import maps_page, page_file
from tests.support.ports import free_port

NAME = "front.test"
SIZE = 50_000


def settings_of(name: str, folder: Path, origin: str, **other: Any) -> FrontSettings:
    """Return settings of a front with its files in `folder`. other: settings that differ from the usual ones."""
    server = server_of(name)
    program = program_of(server)
    assert program is not None, f"{server.program} is not installed"
    usual = FrontSettings(
        server=server,
        native="off",
        buffering="on",
        program=program,
        server_name=NAME,
        address="127.0.0.1",
        port=free_port(),
        origin=origin,
        size_bytes=SIZE,
        certificates=issue(folder, NAME),
        config=folder / server.config_name,
        state=folder / "state",
        as_root=os.geteuid() == 0,
        log=folder / "error.log",
        output=folder / "output.log",
        modules=modules_of(server),
        listener=server.listens,
    )
    return replace(usual, **other)


@contextmanager
def running_front(
    name: str, folder: Path, *, size_bytes: int = SIZE, address: str = "127.0.0.1"
) -> Iterator[tuple[FrontSettings, FrontProcess]]:
    """Start an origin and a front, and return the front's settings and process when the front answers."""
    page = page_file(folder, maps_page(size_bytes, 50))
    with running_origin(folder / "access.jsonl", PAGE=str(page)) as port:
        settings = settings_of(name, folder, f"127.0.0.1:{port}", size_bytes=size_bytes, address=address)
        with Front(settings).running(lambda command, log: Process(name, command, log)) as process:
            yield settings, process
