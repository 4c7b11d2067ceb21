"""Checks after a run that the kernel's qdiscs still have the options that follow from the Link."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netem import tc
from netem.link import Link

_NS = 10**9
_CLOCK_NS = 1000
"""The resolution of times that tc(8) prints."""


def changes(link: Link, counters: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, object, object]]:
    """Yields (name, configured value, observed value) for each option of a qdisc that differs from the Link.

    counters: the result of netem.counters.read for the shaper netem. A Link with rate steps is not checked, because
    netem/changes.py records the observed rate with each step.
    """
    if link.rate_steps:
        return
    ways = (
        ("down", tc.down_stages(link, ""), (link.delay_ns, link.jitter_ns, link.loss)),
        ("up", tc.up_stages(link, ""), (link.delay_up_ns, 0, 0.0)),
    )
    for direction, stages, asked in ways:
        options = {qdisc["handle"]: qdisc.get("options", {}) for qdisc in counters[direction]}
        if stages.delay_line is not None:
            yield from _of_delay_line(direction, _options(options, stages.delay_line), asked)
        for stage in stages.bottleneck:
            found = _options(options, stage)
            asked_bit_s, rate_bit_s = (link.rate_bit_s or 0) // 8 * 8, 8 * found.get("rate", {}).get("rate", 0)
            if rate_bit_s != asked_bit_s:
                yield "rate in bit/s", asked_bit_s, rate_bit_s
            if found.get("limit") != link.queue_packets:
                yield "queue in packets", link.queue_packets, found.get("limit")


def _options(by_handle: Mapping[str, Mapping[str, Any]], stage: tc.Stage) -> Mapping[str, Any]:
    return by_handle.get(f"{stage.handle:x}:", {})


def _of_delay_line(
    direction: str, options: Mapping[str, Any], asked: tuple[int, int, float]
) -> Iterator[tuple[str, object, object]]:
    delay_ns, jitter_ns, loss = asked
    times = options.get("delay", {})
    for name, asked_ns in (("delay", delay_ns), ("jitter", jitter_ns)):
        seen_ns = round(_NS * times.get(name, 0))
        if abs(seen_ns - asked_ns) > _CLOCK_NS:
            yield f"{name} {direction} in ns", asked_ns, seen_ns
    seen = options.get("loss-random", {}).get("loss", 0)
    if abs(seen - loss) > loss / 100:
        yield f"loss {direction}", loss, seen
