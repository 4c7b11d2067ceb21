"""Compares a scenario's settings with the settings in effect, as read from kernel, sockets, journals and counters."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from priolab.common.errors import QUIETER, InvalidRun
from priolab.common.formats.decisions import SET, Decision
from priolab.common.formats.samples import ProcessSample, SocketSample
from priolab.common.formats.scenario import AUTO
from priolab.common.tuning import NO_LIMIT
from priolab.experiments.scenario.scenario import Scenario, Via
from priolab.netem import qdisc_verification
from priolab.netem.calibration import Tolerance
from priolab.netem.link import Link
from priolab.testbed import end_settings

_NEVER_NS = 2**63
_UNSEEN_NS = 3 * 10**9
_ECN = "net.ipv4.tcp_ecn"
_ASKS_FOR_ECN = (1, 3)
"""Values of the sysctl with which a connection asks for ECN (ip-sysctl.rst). With others it only accepts ECN, or not
even that."""

_PLAIN_TCP = (
    "let the server listen for TCP alone: if it also accepts Multipath TCP, the kernel exempts its connections from the"
    " sysctl (servers in Go: start them with GODEBUG=multipathtcp=0)"
)
_OWN_LIMIT = "a server may set this option only with NATIVE=on: the level `on` of `native` in its server.toml"


NO_SOCKET: Mapping[str, Any] = MappingProxyType(
    {
        "socket_lowat": [],
        "sndbuf_bytes": None,
        "sndbuf_most_bytes": None,
        "notsent_most_bytes": None,
        "congestion_control": None,
        "record_bytes": None,
    }
)
"""The entries of `observed` in run.json for a front that does not use TCP."""


def check_settings(scenario: Scenario, observed: Mapping[str, Any]) -> None:
    """Compares the scenario with the settings in the front's place. Raises InvalidRun."""
    _check_sysctls(scenario.lowat_bytes, scenario.sndbuf_bytes, observed)
    if scenario.gso_segments is not None:
        _agree("gso_max_segs", scenario.gso_segments, observed["gso_segments"])
    if scenario.front_qdisc is not None:
        _agree("qdisc of the front's device", scenario.front_qdisc, observed["front_qdisc"])
    if (found := observed.get("tcp_ecn")) is not None:
        asks = [value in _ASKS_FOR_ECN for value in found]
        if asks != [scenario.link.ecn] * len(asks):
            raise InvalidRun(f"{_ECN} of client and front", "on" if scenario.link.ecn else "off", found)


def check_hop(scenario: Scenario, via: Via, observed: Mapping[str, Any]) -> None:
    """Compares the scenario with the settings in the second front's place. Raises InvalidRun."""
    _check_sysctls(via.lowat, scenario.sndbuf_bytes, observed, of=" of the second front")


def _check_sysctls(
    lowat_bytes: int | None, sndbuf_bytes: int | None, observed: Mapping[str, Any], of: str = ""
) -> None:
    _agree(f"{end_settings.LOWAT}{of}", lowat_bytes or NO_LIMIT, observed["lowat"])
    if sndbuf_bytes is not None:
        _agree(f"{end_settings.WMEM}{of}", sndbuf_bytes, int(observed["tcp_wmem"].split()[1]))


def check_unchanged(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Compares the settings after the loads with the settings before the loads. Raises InvalidRun.

    For containers, of which the lab has no pictures. before, after: the settings in the front's place, as read then.
    """
    for name, value in after.items():
        _agree(f"{end_settings.LOWAT if name == 'lowat' else name} after the loads", before[name], value)


def live_socket_state(sockets: Sequence[SocketSample], processes: Sequence[ProcessSample]) -> dict[str, Any]:
    """Returns run.json's entries `observed` for the front's live socket. Raises InvalidRun if there are no samples."""
    if not (sockets and processes):
        raise InvalidRun("the front's socket", "samples", None)
    return {
        "socket_lowat": sorted({sample.lowat_bytes for sample in processes}),
        "sndbuf_bytes": sockets[0].sndbuf_bytes,
        "sndbuf_most_bytes": max(sample.sndbuf_bytes for sample in sockets),
        "notsent_most_bytes": max(sample.notsent_bytes for sample in sockets),
        "congestion_control": ",".join(sorted({sample.congestion_control for sample in sockets})),
    }


def check_connection(port: int, processes: Sequence[ProcessSample], load: range) -> None:
    """Checks that the sampled connection came from the client's port. Raises InvalidRun.

    processes: the samples. load: the times of the measured load, from the first payload to the last. Earlier samples
    are not checked: the sampler reads the connection that has carried the most bytes, and before the measured load
    this may be a spare connection of a browser.
    """
    seen = {sample.peer_port for sample in processes if sample.t_ns in load} - {None}
    if seen - {port}:
        raise InvalidRun("the client's port of the sampled connection", [port], sorted(seen, key=str))


def check_live_socket(scenario: Scenario, observed: Mapping[str, Any]) -> None:
    """Compares the scenario with the front's live connection. Raises InvalidRun.

    A socket whose option TCP_NOTSENT_LOWAT is unset (0) takes its value from the sysctl. Only NATIVE=on and LOWAT=auto
    may set the option. The send buffer begins at the requested size, and the kernel only enlarges it.
    """
    _agree("TCP_CONGESTION of the live socket", str(scenario.congestion_control), observed["congestion_control"])
    if scenario.native == "off" and scenario.lowat != AUTO:
        found = observed["socket_lowat"]
        if found != [0]:
            remedy = _PLAIN_TCP if found == [NO_LIMIT] else _OWN_LIMIT
            raise InvalidRun("TCP_NOTSENT_LOWAT of the live socket", [0], found, remedy)
    if scenario.sndbuf_bytes is not None and observed["sndbuf_bytes"] < scenario.sndbuf_bytes:
        raise InvalidRun("SO_SNDBUF of the live socket", scenario.sndbuf_bytes, observed["sndbuf_bytes"])


def check_sysctl(scenario: Scenario, processes: Sequence[ProcessSample]) -> None:
    """Checks that the sysctl of LOWAT had its value at each sample of the front's process. Raises InvalidRun."""
    asked = scenario.lowat_bytes or NO_LIMIT
    for sample in processes:
        if sample.sysctl_bytes not in (None, asked):
            raise InvalidRun(f"{end_settings.LOWAT} while the pages loaded", asked, sample.sysctl_bytes)


def check_record(scenario: Scenario, observed: Mapping[str, Any]) -> None:
    """Compares the scenario with the largest TLS record that the client decrypted. Raises InvalidRun.

    A front with BUFFERING=on holds whole responses, and fills its records if a response has at least the size of two
    records. Any other front may never fill a record, so only the upper limit is checked.
    """
    asked, found = scenario.record_bytes, observed["record_bytes"]
    if asked is None:
        return
    fills = scenario.buffering == "on" and scenario.whole_page.largest_bytes >= 2 * asked
    if found is None or found > asked or (fills and found < asked):
        raise InvalidRun("largest TLS record at the client, in bytes", asked, found)


def check_tuned(
    scenario: Scenario, processes: Sequence[ProcessSample], decisions: Sequence[Decision], client: str
) -> None:
    """Checks that the live socket's LOWAT had the values in the tuner's journal. Raises InvalidRun.

    processes: the samples. decisions: the lines of the tuner's journal. client: the client's address. At each sample,
    the option must have the last value that the tuner set before the sample, or a value that it set between this
    sample and the next. Before the first decision the option may be 0 (unset). With NATIVE=on the server may set the
    option, too, so the only check is that the journal has a decision.
    """
    made = [decision for decision in decisions if decision.peer == client and decision.outcome == SET]
    if not made:
        raise InvalidRun("the tuner's journal", f"a decision about {client}", "none")
    if scenario.native != "off":
        return
    later = [*(sample.t_ns for sample in processes[1:]), _NEVER_NS]
    for sample, next_ns in zip(processes, later, strict=True):
        values = [0, *(decision.new_bytes for decision in made if decision.t_ns < sample.t_ns)][-1:]
        values += [decision.new_bytes for decision in made if sample.t_ns <= decision.t_ns <= next_ns]
        if sample.lowat_bytes not in values:
            raise InvalidRun("TCP_NOTSENT_LOWAT of the live socket", values, sample.lowat_bytes)


def check_kept(link: Link, counters: Mapping[str, Any], when: str) -> None:
    """Checks that the kernel's qdiscs have a link's settings. Raises InvalidRun.

    For containers, and for the limits and the ECN of other queueing disciplines than fifo. when: the time of the check.
    """
    for what, asked, seen in qdisc_verification.differences(link, counters):
        raise InvalidRun(f"the link {when}, {what}", asked, seen)


def check_seen(samples: Sequence[ProcessSample], ended_ns: int) -> None:
    """Checks that the front's process was sampled until the loads ended, at ended_ns. Raises InvalidRun."""
    last_ns = max((sample.t_ns for sample in samples), default=ended_ns)
    if ended_ns - last_ns > _UNSEEN_NS:
        raise InvalidRun(
            "time from the last sample of the front's process to the end of the loads, in ns",
            f"at most {_UNSEEN_NS}",
            ended_ns - last_ns,
            QUIETER,
        )


def check_ferry(counters: Mapping[str, Mapping[str, int]], tolerance: Tolerance) -> None:
    """Checks that the ferry lost no packets because of overload, and sent packets on time. Raises InvalidRun.

    In each direction, 99 % of the packets must be late by no more than the tolerance of the round trip. A direction
    without a rate never has a queue. In such a direction, only half of the packets must be within the tolerance: the
    ferry sends the packets of a burst one after the other, so the last packets are late although the ferry works as
    ordered.
    """
    for direction, figures in counters.items():
        lost = figures["kernel_drops"] + figures["refused"]
        if lost:
            raise InvalidRun(f"packets that the ferry lost because it was overloaded, direction {direction}", 0, lost)
        late_ns = figures["lateness_p99_ns" if figures["longest_queue_packets"] else "lateness_p50_ns"]
        if late_ns > tolerance.round_trip_ns:
            most = f"at most {tolerance.round_trip_ns}"
            raise InvalidRun(f"the ferry's lateness in ns, direction {direction}", most, late_ns, QUIETER)


def _agree(check: str, asked: object, found: object) -> None:
    if asked != found:
        raise InvalidRun(check, asked, found)
