"""The links that take each other's place while packets pass, and what they must have in common. Pure.

Rules:
1. A later link holds for packets that enter its delay line afterwards. No packet overtakes another, unless by REORDER.
2. Another rate takes effect between packets, as rate steps do. Packets that wait in a queue stay there when it becomes
   shorter.
3. A qdisc cannot be put between two others without losing packets. So a link has each part that a later one needs from
   its beginning. A direction without any qdisc gets a delay line when it is first needed.
"""

from collections.abc import Sequence
from dataclasses import replace

from priolab.netem.link import Link, Part


def links_over_time(links: Sequence[Link]) -> tuple[Link, ...]:
    """Returns the links with the parts that any of them needs. links: in the order of time. Raises LinkError."""
    ups = [link.reverse for link in links]
    pairs = zip(_prepared(links), _prepared(ups), strict=True)
    return tuple(replace(link, prepared=down, prepared_up=up) for link, (down, up) in zip(links, pairs, strict=True))


def _prepared(links: Sequence[Link]) -> Sequence[frozenset[Part]]:
    """Returns the parts that each link must have toward the client, beside those that it has anyway."""
    needed = {
        Part.LOOP: any(link.looped for link in links),
        Part.GATE: any(link.gated for link in links) or len({link.rate_bit_s for link in links}) > 1,
        Part.DELAY_LINE: any(link.delayed for link in links),
        Part.BYTES: any(link.queue_bytes is not None for link in links),
    }
    parts = frozenset(part for part, is_needed in needed.items() if is_needed)
    bare = [parts == {Part.DELAY_LINE} and link.rate_bit_s is None and not link.delayed for link in links]
    late = bare.index(False) if False in bare else len(bare)
    return [frozenset() if number < late else parts for number in range(len(links))]
