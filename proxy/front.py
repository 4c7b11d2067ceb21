"""One front: configured, started, asked until it answers, watched, stopped."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from proxy.certificates import Certificates
from proxy.readiness import wait_until_ready
from proxy.server import Server

_BUFFER_BYTES = 16 * 1024
_READY_S = 30.0


class Process(Protocol):
    """What a front needs of whoever runs its program."""

    @property
    def pid(self) -> int:
        """Process id of the program's first process."""

    def check_alive(self) -> None:
        """Raise if the program has ended."""


Start = Callable[[tuple[str, ...], Path], AbstractContextManager[Process]]
"""Runs an argument list, its output into a file, until the context is left."""


@dataclass(frozen=True, kw_only=True)
class FrontSettings:
    """Where and how a front runs.

    size_bytes: of the largest response, so that all of it can be pending.
    config, state: a file and a folder that are written; log: what the server logs; output: what it prints.
    as_root: whether the server is started by the superuser of its place.
    modules: the folder in which its packages of npm are installed, None if it needs none.
    record_bytes: of its largest TLS record, None for the server's own.
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


class Front:
    """One front, described by its settings."""

    def __init__(self, settings: FrontSettings) -> None:
        self.settings = settings

    @property
    def _values(self) -> dict[str, str]:
        settings = self.settings
        buffers = settings.size_bytes // _BUFFER_BYTES + 20
        origin_host, _, origin_port = settings.origin.rpartition(":")
        return {
            "program": settings.program,
            "server_name": settings.server_name,
            "address": settings.address,
            "port": str(settings.port),
            "origin": settings.origin,
            "origin_host": origin_host,
            "origin_port": origin_port,
            "certificate": str(settings.certificates.chain),
            "key": str(settings.certificates.key),
            "config": str(settings.config),
            "state": str(settings.state),
            "log": str(settings.log),
            "modules": str(settings.modules),
            "buffers": str(buffers),
            # nginx: less than all buffers but one.
            "busy_kib": str((buffers - 2) * _BUFFER_BYTES // 1024),
            **settings.server.native.levels[settings.native],
            **settings.server.buffering.levels[settings.buffering],
            **settings.server.record_values(settings.record_bytes),
            **settings.server.privileges["root" if settings.as_root else "ordinary"],
        }

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list that starts the server."""
        return self.settings.server.arguments(self.settings.server.command, self._values)

    @property
    def configuration(self) -> str:
        """Text of the server's configuration file."""
        return self.settings.server.render(self._values)

    def configure(self) -> None:
        """Write the server's configuration file."""
        self.settings.config.write_text(self.configuration)

    @contextmanager
    def running(self, start: Start, check_origin: Callable[[], None] = lambda: None) -> Iterator[Process]:
        """Configure and start the server, wait until it answers a request, and stop it at the end.

        Raises NotReady if it does not answer, and what `check_alive` or `check_origin` raises if one ends before that.
        """
        settings = self.settings
        settings.state.mkdir(exist_ok=True)
        settings.log.touch()  # errors name it, also where the server has nothing to say, or says it elsewhere
        self.configure()
        with start(self.command, settings.output) as process:
            wait_until_ready(
                (settings.address, settings.port),
                settings.server_name,
                settings.certificates.ca,
                protocol=settings.server.protocol,
                origin=settings.origin,
                deadline_s=_READY_S,
                check_alive=process.check_alive,
                check_origin=check_origin,
            )
            yield process
