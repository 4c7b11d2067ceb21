"""A front's place as a network namespace: its settings, the start of its server, and the calibration of its link."""

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from priolab.common.errors import StepFailed
from priolab.common.process.processes import Process, ProcessSettings
from priolab.experiments.hosts.namespaces.front_root import mounted, started_in
from priolab.experiments.scenario.service import Service
from priolab.netem.calibration import Calibration, Tolerance
from priolab.netem.link_probe import NearEnd, respond
from priolab.proxy.front import Front, Start
from priolab.proxy.live_socket import choose_congestion_control
from priolab.proxy.readiness import NotReady
from priolab.proxy.server import CALLERS
from priolab.testbed import Namespace, Network, Wire, end_settings

_FAR_END_S = 5.0
_PASSED_ON = ("HOME", "LANG", "TMPDIR")


def _environment(front: Front, *, users: bool) -> Mapping[str, str]:
    """Returns the environment of a front's server. The lab's server does not get all of the user's variables.

    A user's server gets all variables of this process, and those of the caller that its server.toml names. In a guest
    these differ.

    OpenSSL mixes addresses of its own memory into its random numbers, and these depend on the length of the
    environment. So the user's PATH and the path of the checkout would change what the server sends.
    """
    passed_on = os.environ if users or front.settings.server.own else _PASSED_ON
    known = {name: os.environ[name] for name in passed_on if name in os.environ and name != CALLERS}
    return {**known, **front.settings.server.variables}


@contextmanager
def started(
    place: Namespace,
    name: str,
    front: Front,
    *,
    congestion_control: str,
    origin: Process,
    cgroup: Path | None = None,
    users_program: bool = False,
    service: Service | None = None,
    back_s: int | None = None,
) -> Iterator[Process]:
    """Starts a front's server in its place, and waits until it answers a request. Raises StepFailed.

    name: the front's name for errors. Then sets the congestion control of its sockets, if the sysctl could not be set.
    origin: the process that must not end before the front answers. cgroup: the cgroup in which to start the server.
    users_program: whether the server is a program of the user's (PROGRAM), which gets all variables of the environment.
    service: the time that the server needs; None for none. back_s: as for ProcessSettings, if the server reads the
    processor's clock.
    """
    settings = front.settings
    with ExitStack() as stack:
        try:
            environment = _environment(front, users=users_program)
            behind_s = back_s if settings.server.reads_processor_clock else None
            own = ProcessSettings(cgroup=cgroup, environment=environment, back_s=behind_s)
            start = partial(place.start, name, settings=own)
            if settings.root is not None:
                shared = (settings.config.parent, settings.log.parent, settings.state)
                readable = (settings.labs_folder,) if settings.server.is_the_labs else ()
                tree = stack.enter_context(mounted(settings.root, shared, readable))
                start = partial(started_in, replace(own, root=tree), partial(place.start, name))
            begin: Start = start
            if service is not None:
                from priolab.experiments.hosts.namespaces.front_service import serving  # no other run loads it

                begin = partial(serving, service, settings.log.parent / "service.jsonl", start)
            with place.entered():
                running = front.running(begin, origin.check_alive)
                process = cast("Process", stack.enter_context(running))
        except NotReady as error:
            raise StepFailed(name, str(error), settings.log.resolve()) from error
        if place.read_sysctl(end_settings.CC) != congestion_control:
            try:
                choose_congestion_control(process.pid, congestion_control)
            except OSError as error:
                reason = error.strerror or str(error)
                raise StepFailed(f"choosing CC={congestion_control}", reason) from error
        yield process


def calibrate(network: Network, name: str, tolerance: Tolerance, pid: int | None) -> tuple[Calibration, int]:
    """Calibrates a link between two sockets of this process, in the hosts at its ends.

    Returns the result and the number of attempts. pid: the process id of the ferry, if any. Raises Unavailable.
    """
    link = network.topology.links[name].link
    with ExitStack() as stack:
        here, there = (stack.enter_context(_socket(network, wire)) for wire in network.topology.ends(name))
        over = None
        if pid is not None:
            over = os.pidfd_open(pid)
            stack.callback(os.close, over)
        # If the last datagram is lost, the thread waits for ever. It is a daemon, so the lab can end all the same.
        far_end = threading.Thread(target=respond, args=(there,), daemon=True)
        far_end.start()
        with NearEnd(here, there.getsockname(), link, over) as end:
            result = end.until_within(tolerance)
        far_end.join(_FAR_END_S + link.round_trip_ns / 10**9)
    return result


def _socket(network: Network, wire: Wire) -> socket.socket:
    with network.hosts[wire.host].entered():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((wire.address, 0))
    return made
