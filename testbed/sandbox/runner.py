"""Carries out a spec: makes the hosts and the link, has the programs run, counts, and writes the outcome."""

import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from priolab.common.errors import LabError, StepFailed, Unavailable
from priolab.common.formats.files import write_json
from priolab.netem import shaper as shapers
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.guest.kernel_faults import check_kernel
from priolab.testbed.sandbox.connections import Ends, joined
from priolab.testbed.sandbox.events import Events
from priolab.testbed.sandbox.filesystem import View
from priolab.testbed.sandbox.network import ALL, Traffic, folder_of, recording, shaping, topology_of
from priolab.testbed.sandbox.oom import OutOfMemory
from priolab.testbed.sandbox.outcome import Beside, Connection, Direction, Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputWriter
from priolab.testbed.sandbox.packet_recorder import LAST_BLOCK_S
from priolab.testbed.sandbox.programs import Heard, Programs
from priolab.testbed.sandbox.samples import SocketJournal, longest_queue
from priolab.testbed.sandbox.spec import CLIENT, Files, SandboxSpec
from priolab.testbed.sandbox.steering import Steering
from priolab.testbed.topology import packet_capture as tap
from priolab.testbed.topology.active import ActiveLink
from priolab.testbed.topology.cuts import Cuts
from priolab.testbed.topology.end_settings import CC
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.network import Network, build
from priolab.testbed.topology.topology import Shaping

_SETTLE_S = 0.001


def carry_out(spec: SandboxSpec, files: Files, usual: Shaper | None, *, seeded: bool, later_s: int = 0) -> None:
    """Carries out the spec, and writes the outcome, also after a failure.

    usual: the shaper for a link without a trace; None to look for netem. seeded: for the outcome. later_s: how much
    later the guest carries this out than its first spec.
    """
    try:
        outcome = _carried_out(spec, files, usual, later_s)
        if seeded:
            check_kernel()
    except LabError as error:
        outcome = Outcome(ending=Ending.FAILED, reason=str(error))
    except Exception as error:  # a bug in the lab
        traceback.print_exc()
        reason = str(StepFailed("the lab itself", f"{type(error).__name__}: {error}"))
        outcome = Outcome(ending=Ending.FAILED, reason=reason)
    write_json(files.outcome, asdict(replace(outcome, seeded=seeded)))


def _carried_out(spec: SandboxSpec, files: Files, usual: Shaper | None, later_s: int) -> Outcome:
    scratch = Path(os.environ.get("TMPDIR", "/run")) / "sandbox"
    scratch.mkdir(exist_ok=True)
    with ExitStack() as stack:
        network = stack.enter_context(build(topology_of(spec), usual, scratch))
        hosts = {name: network.hosts[name] for name in spec.numbers}
        traffic = Traffic(spec, network)
        network.apply_settings()
        _choose_congestion_control(network)
        active = stack.enter_context(shaping(spec, network, scratch))
        if spec.way.cross is not None:
            stack.enter_context(network.crossing(active[CLIENT].shaper, folder=scratch))
        ends = {name: stack.enter_context(Ends(host, spec.addresses, ipv6=spec.ipv6)) for name, host in hosts.items()}
        said = stack.enter_context(OutputWriter(files.said, [*hosts]))
        journal = stack.enter_context(_sampling(spec, files, hosts))
        shortage = stack.enter_context(OutOfMemory()) if spec.isolated else None
        recorders = stack.enter_context(recording(spec, network, files))
        with _capturing(spec, network, files), View(spec, scratch) as view:
            programs = Programs(spec, files, said, hosts, view, later_s)
            cuts = Cuts(network, spec.numbers)
            events = (
                [stack.enter_context(Events(spec, active, cuts, programs, recorders))]
                if spec.schedule or spec.steered
                else []
            )
            looks = [each.look for each in events]
            steering = [stack.enter_context(Steering(files, programs, events[0]))] if spec.steered else [None]
            heard: list[Heard] = [*ends.values(), *recorders, *events, *filter(None, steering)]
            outcome = programs.run([*active.values()], heard, journal, looks, steering[0])
            outcome = replace(outcome, events=[each for of in events for each in of.happened])
        time.sleep(_SETTLE_S)  # the kernel tells of the last connections
        reason = "; ".join(filter(None, [outcome.reason, shortage.reason() if shortage else None])) or None
        outcome = _counted(replace(outcome, reason=reason), spec, traffic, active, joined(ends), scratch)
        if recorders:
            time.sleep(LAST_BLOCK_S + 0.5)
            later = _counted(outcome, spec, traffic, active, outcome.connections, scratch)
            write_json(files.traced, asdict(later))
        return outcome


def _counted(
    outcome: Outcome,
    spec: SandboxSpec,
    traffic: Traffic,
    active: Mapping[str, ActiveLink],
    connections: Sequence[Connection],
    folder: Path,
) -> Outcome:
    """Returns the outcome with what was counted."""

    def queue(name: str) -> int | None:
        return longest_queue(folder_of(name, folder) / "queue.jsonl") if spec.interval_ns and name in active else None

    def direction(name: str, way: str) -> Direction:
        size_bytes = traffic.arrived_bytes(name) if way == "down" else traffic.sent_bytes(name)
        dropped, lost = _drops(active[name], traffic.shaping(name), way) if name in active else (0, 0)
        return Direction(bytes=size_bytes, dropped=dropped, lost=lost)

    others = () if spec.is_pair else [name for name in spec.numbers if name != CLIENT]
    return replace(
        outcome,
        connections=connections,
        down=direction(CLIENT, "down"),
        up=direction(CLIENT, "up"),
        longest_queue=queue(CLIENT),
        queue_bytes={name: _queue_bytes(each.link) for name, each in spec.ways.items() if each.link.counts_bytes},
        beside={
            name: Beside(down=direction(name, "down"), up=direction(name, "up"), longest_queue=queue(name))
            for name in others
        },
    )


def _queue_bytes(link: Link) -> dict[str, int]:
    """Returns the most bytes in the queues of a link, by direction."""
    found = {"down": link.queue_bytes, "up": link.queue_up_bytes}
    return {way: size_bytes for way, size_bytes in found.items() if size_bytes is not None}


def _choose_congestion_control(network: Network) -> None:
    """Sets that of the hosts' connections where the sysctl could not be set. Raises Unavailable.

    A kernel may forbid the sysctl to namespaces (net.ipv4.tcp_allowed_congestion_control), but not the routes.
    """
    for name, settings in network.topology.settings.items():
        host, wanted = network.hosts[name], settings.sysctls.get(CC, settings.congestion_control)
        if wanted is None or host.read_sysctl(CC) == wanted:
            continue
        try:
            for family in ("-4", "-6"):
                for route in host.run(("ip", family, "route", "show", "default")).splitlines():
                    host.run(("ip", family, "route", "change", *route.split(), "congctl", wanted))
        except StepFailed as error:
            raise Unavailable(f"CC={wanted}", error.reason, "use FABRIC=virtual") from error


def _sampling(
    spec: SandboxSpec, files: Files, hosts: Mapping[str, Namespace]
) -> AbstractContextManager[SocketJournal | None]:
    if spec.interval_ns is None:
        return nullcontext()
    return SocketJournal(hosts, files.samples, spec.interval_ns, ipv6=spec.ipv6)


@contextmanager
def _capturing(spec: SandboxSpec, network: Network, files: Files) -> Iterator[None]:
    """Captures the packets of all hosts while the context is open, and some time longer. Raises StepFailed."""
    if not spec.capture:
        yield
        return
    assert spec.tcpdump is not None, "the lab has looked for tcpdump"
    with network.capturing(ALL, spec.tcpdump, files.path):
        yield
        time.sleep(tap.LAST_BLOCK_S + 0.5)


def _drops(active: ActiveLink, shaping: Shaping, name: str) -> tuple[int, int]:
    """Returns the packets that the queue dropped, and those that the link lost at random.

    Raises StepFailed if the ferry did not take all packets: no link that was asked for loses these.
    """
    counters = active.counters().get(name, {})  # a ferry counts a direction that it shapes
    if active.shaper is Shaper.FERRY:
        if lost := counters.get("kernel_drops", 0) + counters.get("refused", 0):
            raise StepFailed("the link (ferry)", f"{lost} packets came at once, more than it can take; send fewer")
        return counters.get("dropped", 0), counters.get("lost", 0)
    link = shaping.link if active.changer is None else active.changer.link
    stages = shapers.stages(link, shaping.near, shaping.far)[name]
    drops = {(each["dev"], each["handle"]): each["drops"] for each in counters}
    own = {stage: drops.get((stage.device, f"{stage.handle:x}:"), 0) for stage in stages.bottleneck}
    queue = own[stages.bottleneck[0]] if stages.bottleneck else 0
    line = stages.delay_line
    if line is None:
        return queue, 0
    whole = drops.get((line.device, f"{line.handle:x}:"), 0)
    nested = line._replace(handle=line.handle + 1) in stages.bottleneck
    return queue, whole - queue if nested else whole
