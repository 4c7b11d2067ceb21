"""The links that take each other's place while packets pass, and what they must have in common. Pure.

Rules:
1. A later link holds for packets that enter its delay line afterwards. No packet overtakes another, unless by REORDER.
2. Another rate takes effect between packets, as rate steps do. Packets that wait in a queue stay there when it becomes
   shorter.
3. A qdisc cannot be put between two others without losing packets. So a link has each part that a later one needs from
   its beginning. A direction without any qdisc gets a delay line when it is first needed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from priolab.netem.link import Link, Part

Parts = frozenset[Part]

_PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "RATE": Part.GATE,
        "QUEUE": Part.BYTES,
        **dict.fromkeys(("REORDER", "DUPLICATE"), Part.LOOP),
        **dict.fromkeys(("DELAY", "JITTER", "LOSS", "LOSS_BURST", "CORRUPT"), Part.DELAY_LINE),
    }
)
"""The parts that other values of knobs may need."""

_NOTHING: tuple[Parts, Parts] = (frozenset(), frozenset())


def parts_of(knobs: Iterable[str]) -> tuple[Parts, Parts]:
    """Returns the parts that any values of some knobs need, toward the client and toward the front."""
    ways = {False: set[Part](), True: set[Part]()}
    for knob in knobs:
        if part := _PARTS.get(knob.removesuffix("_UP")):
            ways[knob.endswith("_UP")].add(part)
    return frozenset(ways[False]), frozenset(ways[True])


def links_over_time(links: Sequence[Link], also: tuple[Parts, Parts] = _NOTHING) -> tuple[Link, ...]:
    """Returns the links with the parts that any of them needs. links: in the order of time. Raises LinkError.

    also: parts that they have beside these, toward the client and toward the front.
    """
    ups = [link.reverse for link in links]
    pairs = zip(_prepared(links, also[0]), _prepared(ups, also[1]), strict=True)
    return tuple(replace(link, prepared=down, prepared_up=up) for link, (down, up) in zip(links, pairs, strict=True))


def _prepared(links: Sequence[Link], also: Collection[Part]) -> Sequence[Parts]:
    """Returns the parts that each link must have toward the client, beside those that it has anyway."""
    needed = {
        Part.LOOP: any(link.looped for link in links),
        Part.GATE: any(link.gated for link in links) or len({link.rate_bit_s for link in links}) > 1,
        Part.DELAY_LINE: any(link.delayed for link in links),
        Part.BYTES: any(link.queue_bytes is not None for link in links),
    }
    parts = frozenset(part for part, is_needed in needed.items() if is_needed or part in also)
    bare = [parts == {Part.DELAY_LINE} and link.rate_bit_s is None and not link.delayed for link in links]
    late = bare.index(False) if False in bare else len(bare)
    return [frozenset() if number < late else parts for number in range(len(links))]
