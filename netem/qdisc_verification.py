"""Checks that the kernel's qdiscs have the options that follow from the Link, such as after a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from priolab.netem import disciplines, rate_limiter, reordering, shaper, tc
from priolab.netem.link import Link

_NS = 10**9
_CLOCK_NS = 1000
"""The resolution of times that tc(8) prints."""
_LOOPS = tuple(loop.device for of in (reordering, rate_limiter) for loop in (of.LOOP, of.LOOP_UP))

Difference = tuple[str, object, object]
"""The name of an option, its configured value and its observed value."""


def differences(link: Link, counters: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Difference]:
    """Yields each option of a qdisc that differs from the Link.

    counters: the result of priolab.netem.counters.read for the shaper netem. The rates of a Link with rate steps are
    not checked, because netem/changes.py records the observed rate with each step.
    """
    found = {
        tc.Stage(device=qdisc.get("dev", ""), handle=_handle(qdisc)): qdisc for of in counters.values() for qdisc in of
    }
    ways = (
        ("down", (link.delay_ns, link.jitter_ns)),
        ("up", (link.delay_up_ns, 0)),
    )
    stages = shaper.stages(link, _device(counters["down"]), _device(counters["up"]))
    for direction, asked in ways:
        delay_line = stages[direction].delay_line
        if delay_line is not None:
            options = found.get(delay_line, {}).get("options", {})
            yield from _of_times(direction, options, asked)
            if direction == "down":
                yield from _of_losses(link, options)
    yield from _of_bottleneck(link, stages["up"].bottleneck, found, " up", link.rate_up_bit_s, link.queue_up_bytes)
    if link.gated:
        yield from _of_gate(link, stages["down"].bottleneck, found)
        return
    yield from _of_bottleneck(link, stages["down"].bottleneck, found, "", link.rate_bit_s, link.queue_bytes)


def _of_bottleneck(
    link: Link,
    bottleneck: Sequence[tc.Stage],
    found: Mapping[tc.Stage, Mapping[str, Any]],
    way: str,
    rate_bit_s: int | None,
    queue_bytes: int | None,
) -> Iterator[Difference]:
    limit = tc.netem_limit(link.queue_packets, queue_bytes)
    for stage in bottleneck:
        options = found.get(stage, {}).get("options", {})
        yield from _of_rate(rate_bit_s, options.get("rate", {}).get("rate", 0) * 8, way)
        seen = options.get("limit")
        if not isinstance(seen, int) or seen % 2**32 != limit:  # tc prints the number with a sign
            what = f"queue{way} in packets" if queue_bytes is None else f"limit of the queue{way} in bytes"
            yield what, limit if queue_bytes is None else queue_bytes, seen


def _device(qdiscs: Sequence[Mapping[str, Any]]) -> str:
    """Returns the device of the place among those of qdiscs; the others are loops."""
    return next((name for qdisc in qdiscs if (name := qdisc.get("dev", "")) not in _LOOPS), "")


def _handle(qdisc: Mapping[str, Any]) -> int:
    return int(str(qdisc.get("handle", "")).removesuffix(":") or "0", 16)


def _of_gate(
    link: Link, bottleneck: Sequence[tc.Stage], found: Mapping[tc.Stage, Mapping[str, Any]]
) -> Iterator[Difference]:
    gate, sender = (found.get(stage, {}) for stage in bottleneck)
    yield from disciplines.changes(link, gate, found.get(rate_limiter.queue_stage(), {}))
    if link.rate_steps:
        return
    for rate_bit_s in (
        disciplines.gate_rate_bit_s(gate),
        8 * sender.get("options", {}).get("rate", {}).get("rate", 0),
    ):
        yield from _of_rate(link.rate_bit_s, rate_bit_s)


def _of_rate(rate_bit_s: int | None, seen_bit_s: int, way: str = "") -> Iterator[Difference]:
    asked_bit_s = (rate_bit_s or 0) // 8 * 8
    if seen_bit_s != asked_bit_s:
        yield f"rate{way} in bit/s", asked_bit_s, seen_bit_s


def _of_times(direction: str, options: Mapping[str, Any], asked: tuple[int, int]) -> Iterator[Difference]:
    times = options.get("delay", {})
    for name, asked_ns in zip(("delay", "jitter"), asked, strict=True):
        seen_ns = round(_NS * times.get(name, 0))
        if abs(seen_ns - asked_ns) > _CLOCK_NS:
            yield f"{name} {direction} in ns", asked_ns, seen_ns


def _of_losses(link: Link, options: Mapping[str, Any]) -> Iterator[Difference]:
    begins, ends = link.burst_odds or (0.0, 0.0)
    bursts = options.get("loss-gemodel", {})
    for name, asked, seen in (
        ("loss down", 0.0 if link.burst_odds else link.loss, options.get("loss-random", {}).get("loss", 0)),
        ("chance that a burst of losses begins", begins, bursts.get("p", 0)),
        ("chance that a burst of losses ends", ends, bursts.get("r", 0)),
        ("packets that skip the delay", link.reorder, options.get("reorder", {}).get("reorder", 0)),
    ):
        if abs(seen - asked) > asked / 100:
            yield name, asked, seen
