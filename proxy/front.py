"""Runs a front: configures it, starts it, waits until it answers, watches it and stops it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from priolab.common.timeouts import READY_S
from priolab.proxy.certificate_files import Certificates
from priolab.proxy.readiness import wait_until_ready
from priolab.proxy.server import CATALOGUE, Server
from priolab.proxy.switch import HTTP1, TLS
from priolab.proxy.template import rendered

_BUFFER_BYTES = 16 * 1024
_TRY_S = 2.0
_ROUND_TRIPS = 10
"""The round trips between front and origin that a request may take: the connection, and several packets."""


class Process(Protocol):
    """The interface through which a Front watches a running program."""

    @property
    def pid(self) -> int:
        """The process id of the program's first process."""

    def check_alive(self) -> None:
        """Raises an error if the program has ended."""


Start = Callable[[tuple[str, ...], Path], AbstractContextManager[Process]]
"""Starts a program from an argument list, with its output in a file. The program ends when the context is left."""


@dataclass(frozen=True, kw_only=True)
class FrontSettings:
    """The settings of a front.

    native, buffering: on or off. program: the server's executable. origin: HOST:PORT.
    size_bytes: the size of the largest response, which must fit into the server's buffers as a whole.
    config: the path of the configuration file to write, if the server has one.
    state: a folder for the server's own files. log: the server's log file. output: the file for the server's standard
    output and error.
    as_root: True if root, in the front's namespace or container, starts the server.
    modules: the folder in which the server's npm packages are installed; None without npm packages.
    record_bytes: the size of the largest TLS record; None for the server's default.
    server_folder: the server's folder as the front sees it; None for its path on this machine.
    catalogue: the folder of the catalogue as the front sees it.
    root: the folder in whose file tree the server is installed, and is to run; None for this machine's. Then `program`
    is a path in this tree.
    listener: what the front takes: `tls`, or without TLS `http1` or `h2c`. upstream: the protocol with `origin`, http1
    or h2c. round_trip_s: the round trip between front and origin.
    """

    server: Server
    native: str
    buffering: str
    program: str
    server_name: str
    address: str
    port: int
    origin: str
    size_bytes: int
    certificates: Certificates
    config: Path
    state: Path
    as_root: bool
    log: Path
    output: Path
    modules: Path | None = None
    record_bytes: int | None = None
    server_folder: Path | None = None
    catalogue: Path = CATALOGUE
    root: Path | None = None
    listener: str = TLS
    upstream: str = HTTP1
    round_trip_s: float = 0.0

    @property
    def labs_folder(self) -> Path:
        """The folder of the catalogue that has the server's files, as the front sees it."""
        return self.catalogue / self.server.folder.name

    @property
    def protocol(self) -> str:
        """The protocol in which the front answers: that of the server above TLS, or `http1` or `h2c` without TLS."""
        return self.server.protocol if self.listener == TLS else self.listener


class Front:
    """A front with given settings."""

    def __init__(self, settings: FrontSettings) -> None:
        self.settings = settings

    @property
    def _values(self) -> dict[str, str]:
        settings = self.settings
        buffers = settings.size_bytes // _BUFFER_BYTES + 20
        origin_host, _, origin_port = settings.origin.rpartition(":")
        values = {
            "program": settings.program,
            "server_name": settings.server_name,
            "address": settings.address,
            "port": str(settings.port),
            "origin": settings.origin,
            "origin_host": origin_host,
            "origin_port": origin_port,
            "certificate": str(settings.certificates.chain),
            "key": str(settings.certificates.key),
            "certificates": str(settings.certificates.chain.parent),
            "config": str(settings.config),
            "state": str(settings.state),
            "log": str(settings.log),
            "modules": str(settings.modules),
            "buffers": str(buffers),
            # nginx requires that this is less than all buffers except one.
            "busy_kib": str((buffers - 2) * _BUFFER_BYTES // 1024),
            **settings.server.native.levels[settings.native],
            **settings.server.buffering.levels[settings.buffering],
            **settings.server.record_values(settings.record_bytes),
            **settings.server.privileges["root" if settings.as_root else "ordinary"],
        }
        ways = {
            **settings.server.listener.levels[settings.listener],
            **settings.server.upstream.levels[settings.upstream],
        }
        return values | {name: rendered(value, values) for name, value in ways.items()}

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list that starts the server."""
        server, folder = self.settings.server, self.settings.server_folder
        paths = {"servers": str(self.settings.catalogue), **({"folder": str(folder)} if folder else {})}
        return server.arguments(server.command, self._values | paths)

    @property
    def configuration(self) -> str:
        """The text of the server's configuration file."""
        return self.settings.server.render(self._values)

    def configure(self, folder: Path | None = None) -> None:
        """Writes the server's configuration file, if it has one. folder: None for that of the settings."""
        if self.settings.server.template:
            (folder or self.settings.config.parent).joinpath(self.settings.config.name).write_text(self.configuration)

    @contextmanager
    def running(self, start: Start, check_origin: Callable[[], None] = lambda: None) -> Iterator[Process]:
        """A context: configures and starts the server, waits until it answers a request, and stops it at the end.

        start: starts a program. check_origin: raises an error if the origin has ended. Raises NotReady if the server
        does not answer, and the error of `check_alive` or `check_origin` if the server or the origin has ended.
        """
        settings = self.settings
        settings.state.mkdir(exist_ok=True)
        settings.log.touch()  # errors name this file, also if the server writes nothing to it
        self.configure()
        with start(self.command, settings.output) as process:
            wait_until_ready(
                (settings.address, settings.port),
                settings.server_name,
                settings.certificates.ca,
                protocol=settings.protocol,
                origin=settings.origin,
                try_s=_TRY_S + _ROUND_TRIPS * settings.round_trip_s,
                deadline_s=READY_S,
                check_alive=process.check_alive,
                check_origin=check_origin,
            )
            yield process
