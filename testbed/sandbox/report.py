"""The report of a sandbox: for people, and as JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from priolab.common.amounts import plain
from priolab.common.plural import counted
from priolab.netem.link import Link
from priolab.netem.link_options import HOST_LINK_OPTIONS
from priolab.netem.units import parse_rate_bit_s
from priolab.testbed.sandbox.outcome import Direction, Outcome
from priolab.testbed.sandbox.spec import CLIENT, SERVER, SandboxSpec

_NS = 10**9
_BYTES = re.compile(r"[0-9.]+((?:[kmgt]i?)?bps)", re.IGNORECASE)
"""A rate in bytes per second, as tc(8) writes it."""


def rates_in_bytes(knobs: Mapping[str, str]) -> Iterator[str]:
    """Yields a note for each rate that is in bytes per second, and that others may take for bits. knobs: by names."""
    for name, value in knobs.items():
        for match in _BYTES.finditer(value) if "RATE" in name else ():
            unit = match[1]
            bits = f"{unit[:-3]}bit"
            yield f"note: {name}={match[0]} is {_exact(parse_rate_bit_s(match[0]))}: {unit} counts bytes, {bits} bits"


def lines(spec: SandboxSpec, outcome: Outcome) -> Iterator[str]:
    """Yields the lines for people."""
    for name, way in spec.ways.items():
        yield f"the link{'' if spec.is_pair else f' of {name}'}: {_link(way.link, spec.texts(name))}"
    for each in outcome.events:
        yield f"after {each.at_ns / _NS:.6f} s: {each.event}"
    made = outcome.connections
    yield f"the client took {outcome.duration_ns / _NS:.6f} s"
    yield _way("the client", outcome.down, CLIENT, outcome) + _from(outcome.up if outcome.beside else None)
    if not outcome.beside:
        yield _way("the server", outcome.up, SERVER, outcome)
    for name, beside in outcome.beside.items():
        yield _way("the server" if name == SERVER else name, beside.down, name, outcome) + _from(beside.up)
    trips = [each.min_round_trip_us for each in made if each.min_round_trip_us is not None]
    if trips:
        yield f"{counted(len(made), 'TCP connection')}, shortest round trip {min(trips) / 1000:.3f} ms"
    for name, sizes in outcome.queue_bytes.items():
        ways = {"down": f"toward the {name}", "up": f"from the {name}"}
        for direction, size_bytes in sizes.items():
            yield f"the bottleneck queue {ways[direction]} holds {size_bytes} bytes"
    queues = {"": outcome.longest_queue} | {
        f" toward {name}": each.longest_queue for name, each in outcome.beside.items()
    }
    for where, queue in queues.items():
        if queue is not None:
            yield f"longest queue{where} at a sample: {counted(queue, 'packet')}"
    for name, code in outcome.codes.items() if outcome.beside else ():
        if name != CLIENT:
            yield f"the program of {name} ended before the client did, with exit code {code}"


def _link(link: Link, texts: Mapping[str, str]) -> str:
    """Describes a link. texts: its knobs."""
    trace = {"TRACE": link.trace, "TRACE_UP": link.trace_up}
    parts = ["no rate" if link.rate_bit_s is None else _exact(link.rate_bit_s)]
    parts += [] if link.rate_up_bit_s is None else [f"{_exact(link.rate_up_bit_s)} from it"]
    parts += [f"{_exact(step.rate_bit_s)} after {plain(step.at_ns / _NS, 9)} s" for step in link.rate_steps]
    for name in HOST_LINK_OPTIONS:
        if (each := trace.get(name)) is not None:
            parts.append(f"{name} with a mean of {_exact(round(each.mean_bit_s))}")
        elif name in texts and not name.startswith(("RATE", "TRACE")):
            parts.append(f"{name} {texts[name]}")
    return ", ".join(parts)


def _exact(rate_bit_s: int) -> str:
    """Formats a rate without loss."""
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if rate_bit_s >= size:
            return f"{plain(rate_bit_s / size, 9)} {unit}"
    return f"{rate_bit_s} bit/s"


def _link_document(link: Link) -> dict[str, Any]:
    traces = {name: getattr(link, name) for name in ("trace", "trace_up")}
    fields = {name: value for name, value in vars(link).items() if name not in (*traces, *link.left_out)}
    told = {f"{name}_mean_bit_s": each and each.mean_bit_s for name, each in traces.items()}
    return {**fields, "rate_steps": [asdict(step) for step in link.rate_steps], **told}


def _way(toward: str, way: Direction, host: str, outcome: Outcome) -> str:
    received, again = received_bytes(outcome, host), sum(_sent_again(outcome, host))
    return (
        f"toward {toward}: {way.bytes} bytes of packets, {received} of TCP's data, {_rate(received, outcome)};"
        f" {counted(again, 'segment')} sent again, {_losses(way)}"
    )


def _from(way: Direction | None) -> str:
    return "" if way is None else f"; from it {way.bytes} bytes, {counted(way.dropped, 'packet')} dropped by the queue"


def received_bytes(outcome: Outcome, host: str) -> int:
    """Returns the bytes of TCP's data that a host's kernel received."""
    near = sum(each.down_bytes for each in outcome.connections if each.between[0] == host)
    return near + sum(each.up_bytes for each in outcome.connections if each.between[1] == host)


def _sent_again(outcome: Outcome, host: str) -> Iterator[int]:
    """Yields the segments that were sent again toward a host, for each connection."""
    for each in outcome.connections:
        for end, again in zip(each.between, (each.down_retransmissions, each.up_retransmissions), strict=True):
            if end == host:
                yield again


def _losses(way: Direction) -> str:
    return f"{counted(way.dropped, 'packet')} dropped by the queue, {way.lost} lost at random"


def _rate(size_bytes: int, outcome: Outcome) -> str:
    bit_s = goodput_bit_s(size_bytes, outcome)
    return "no rate" if bit_s is None else f"{bit_s / 1e6:.3f} Mbit/s"


def goodput_bit_s(size_bytes: int, outcome: Outcome) -> float | None:
    """Returns bytes by the client's time, in bits per second; None if it took none."""
    return size_bytes * 8 * _NS / outcome.duration_ns if outcome.duration_ns else None


def document(spec: SandboxSpec, outcome: Outcome) -> dict[str, Any]:
    """Returns the report as a JSON document. What is about further hosts, or queues in bytes, is left out without.

    links: the links by the names of their hosts, with the fields of netem.link.Link; of a trace its mean rate.
    """
    told = asdict(outcome) | {"links": {name: _link_document(each.link) for name, each in spec.ways.items()}}
    for name in ("queue_bytes", "hints"):
        if not told[name]:
            del told[name]
    for each in told["connections"]:
        del each["down_limits"], each["up_limits"]
    del told["events"]
    if spec.schedule:
        told["events"] = [{"at_s": each.at_ns / _NS, "event": each.event} for each in outcome.events]
    if not outcome.beside:
        del told["beside"], told["codes"]
        for each in told["connections"]:
            del each["between"]
    sent = sum(each.up_bytes for each in outcome.connections if each.between[0] == CLIENT)
    return told | {
        "goodput_down_bit_s": goodput_bit_s(received_bytes(outcome, CLIENT), outcome),
        "goodput_up_bit_s": goodput_bit_s(sent, outcome),
    }
