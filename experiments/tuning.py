"""Kernel settings of a scenario: set, and read back from where they take effect."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.errors import InvalidRun, StepFailed
from experiments.namespaces import Place
from experiments.scenario import LOWAT_MOST, Scenario
from experiments.topology import Places
from proxy.live_socket import SocketSample, choose_congestion_control

LOWAT = "net.ipv4.tcp_notsent_lowat"
_WMEM = "net.ipv4.tcp_wmem"
_RMEM = "net.ipv4.tcp_rmem"
_CC = "net.ipv4.tcp_congestion_control"
# Half of what the client ever advertised bounds the server's segments (tcp_bound_to_half_wnd), so its receive buffer
# is fixed, and large enough to bound nothing.
_CLIENT_RMEM = f"4096 {4 * 2**20} {6 * 2**20}"


def tune(places: Places, scenario: Scenario) -> dict[str, Any]:
    """Set send buffer, congestion control, LOWAT and GSO of the front; what was read back. Raises StepFailed."""
    places.client.write_sysctl(_RMEM, _CLIENT_RMEM)
    front = places.front
    if scenario.sndbuf_bytes is not None:
        least, _, most = front.read_sysctl(_WMEM).split()
        front.write_sysctl(_WMEM, f"{least} {scenario.sndbuf_bytes} {max(int(most), scenario.sndbuf_bytes)}")
    _choose_congestion_control(front, scenario)
    if scenario.lowat_bytes is not None:
        front.write_sysctl(LOWAT, str(scenario.lowat_bytes))
    if scenario.gso_segments is not None:
        places.limit_gso(scenario.gso_segments)

    return {
        "lowat": int(front.read_sysctl(LOWAT)),
        "tcp_wmem": front.read_sysctl(_WMEM),
        "gso_segments": places.gso_segments(),
    }


def check_settings(scenario: Scenario, observed: Mapping[str, Any]) -> None:
    """Compare the scenario with what `tune` read back. Raises InvalidRun."""
    _agree(LOWAT, scenario.lowat_bytes or LOWAT_MOST, observed["lowat"])
    if scenario.sndbuf_bytes is not None:
        _agree(_WMEM, scenario.sndbuf_bytes, int(observed["tcp_wmem"].split()[1]))
    if scenario.gso_segments is not None:
        _agree("gso_max_segs", scenario.gso_segments, observed["gso_segments"])


def _choose_congestion_control(front: Place, scenario: Scenario) -> None:
    """By sysctl where the namespace may; otherwise `tune_front_process` sets it on the listening socket."""
    with contextlib.suppress(StepFailed):
        front.write_sysctl(_CC, scenario.congestion_control)


def tune_front_process(front: Place, scenario: Scenario, front_pid: int) -> None:
    """What can only be set on a running front. Raises StepFailed."""
    if front.read_sysctl(_CC) == scenario.congestion_control:
        return
    try:
        choose_congestion_control(front_pid, scenario.congestion_control)
    except OSError as error:
        raise StepFailed(f"choosing CC={scenario.congestion_control}", error.strerror or str(error)) from error


def live_socket_state(samples: Sequence[SocketSample]) -> dict[str, Any]:
    """What was seen of the live connection of the front. Raises InvalidRun if nothing was."""
    if not samples:
        raise InvalidRun("the front's side of the connection", "a socket to look at", None)
    return {
        "socket_lowat": sorted({sample.lowat_bytes for sample in samples}),
        "sndbuf_bytes": samples[0].sndbuf_bytes,
        "sndbuf_most_bytes": max(sample.sndbuf_bytes for sample in samples),
        "notsent_most_bytes": max(sample.notsent_bytes for sample in samples),
        "congestion_control": samples[-1].congestion_control,
    }


def check_live_socket(scenario: Scenario, observed: Mapping[str, Any]) -> None:
    """Compare the scenario with the live connection of the front. Raises InvalidRun.

    The effective LOWAT is the socket's own, or the sysctl's where the socket has none. A server's own mechanism may
    set the socket's; without one it must stay unset. The send buffer begins as asked and only ever grows.
    """
    _agree("TCP_CONGESTION of the live socket", str(scenario.congestion_control), observed["congestion_control"])
    if scenario.native == "off":
        _agree("TCP_NOTSENT_LOWAT of the live socket", [0], observed["socket_lowat"])
    if scenario.sndbuf_bytes is not None and observed["sndbuf_bytes"] < scenario.sndbuf_bytes:
        raise InvalidRun("SO_SNDBUF of the live socket", scenario.sndbuf_bytes, observed["sndbuf_bytes"])


def _agree(check: str, asked: object, found: object) -> None:
    if asked != found:
        raise InvalidRun(check, asked, found)
