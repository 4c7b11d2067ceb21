"""Servers behind a link on this machine's clocks, for extras that measure what many connections cost them.

    client ==== link ==== front

Rules:
1. The places are network namespaces of this process, and all programs are its children. So they end with it.
2. The servers answer with files, so that no origin uses a processor meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from priolab.common.errors import Unavailable
from priolab.common.home import setup_command
from priolab.common.process.processes import ProcessSettings
from priolab.common.tuning import NO_LIMIT
from priolab.experiments.setup.installed import program_of
from priolab.proxy.certificates import issue
from priolab.proxy.counters import FrontCounters
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.server import server_of
from priolab.testbed import Namespace, build, pair

LOWAT_SYSCTL, LOWAT_UNSET = "net.ipv4.tcp_notsent_lowat", str(NO_LIMIT)
FIRST_PORT = 8443
ENDS = pair("client", "front")
FRONT_ADDRESS = ENDS.wire("front").address
_TEMPLATES = Path(__file__).parent / "file_fronts"
_STEP = "servers on real clocks"


@dataclass(frozen=True, kw_only=True)
class Places:
    """The places of a study."""

    client: Namespace
    link: Namespace
    front: Namespace


@contextmanager
def places() -> Iterator[Places]:
    """Makes client and front, with a link between them. Raises Unavailable, StepFailed."""
    with build(ENDS, None, Path()) as network:
        network.hosts["front"].write_sysctl("net.core.somaxconn", "4096")
        yield Places(**network.hosts)


@contextmanager
def fronts(
    servers: Sequence[str], folder: Path, place: Namespace, files: Mapping[str, int], cgroup: Path | None = None
) -> Iterator[Mapping[str, FrontCounters]]:
    """Starts the servers, which listen at consecutive ports. Yields their counters. Raises LabError, NotReady.

    files: the sizes of the files that they answer with, in bytes, by name. cgroup: in which to start them.
    """
    with ExitStack() as stack:
        counters, settings = {}, ProcessSettings(cgroup=cgroup)
        for port, name in enumerate(servers, start=FIRST_PORT):
            front = Front(_settings(name, port, folder / name))
            root = front.settings.state / "files"
            root.mkdir(parents=True)
            (root / "ready").touch()
            for file_name, size_bytes in files.items():
                with (root / file_name).open("wb") as file:
                    file.truncate(size_bytes)
            with place.entered():
                process = stack.enter_context(front.running(partial(place.start, name, settings=settings)))
            counters[name] = FrontCounters(process.pid, "calls are not counted here", None)
        yield counters


def _settings(name: str, port: int, folder: Path) -> FrontSettings:
    server = server_of(name)
    program = program_of(server)
    if program is None:
        raise Unavailable(_STEP, f"{server.program} is not installed", f"{setup_command(f'SERVER={name}')} installs it")
    folder.mkdir()
    return FrontSettings(
        server=replace(server, template=_TEMPLATES / server.config_name),
        native="off",
        buffering="on",
        program=program,
        server_name=FRONT_ADDRESS,
        address=FRONT_ADDRESS,
        port=port,
        origin="127.0.0.1:1",
        size_bytes=0,
        certificates=issue(folder, FRONT_ADDRESS),
        config=folder / server.config_name,
        state=folder / "state",
        as_root=True,
        log=folder / "error.log",
        output=folder / "output.log",
    )
