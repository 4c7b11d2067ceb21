"""The oracle: how soon the focal resource's first byte can arrive, whatever server and kernel do. Pure.

The client may have asked for other resources before the focal one. The oracle sends these first, so that their bytes
are neither needless nor lateness.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.rate import Rate, TraceRate
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.run import OracleRecord
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import HEADERS_BYTES, SEGMENT_BYTES, unframed

_FIRST_BYTE = 1
_RECORD_BYTES = 5 + 1 + 16  # header, content type, tag (RFC 8446, 5.2)
_FRAME_BYTES = 9
_REQUEST_BYTES = HEADERS_BYTES + _RECORD_BYTES + _FRAME_BYTES + 1
"""The smallest request on the link."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The lower bound for the focal resource's first byte in a load.

    first_byte_ns: the time from the load's first request to the earliest arrival of the focal resource's first byte.
    other_bytes: bytes of the others that the front can send before this first byte without delaying it. sooner: the
    names of the resources asked for before the focal one; other_bytes does not count them.
    """

    first_byte_ns: int
    other_bytes: int
    sooner: tuple[str, ...] = ()


def bound(
    page: Page, focal: Resource, scenario: ScenarioRecord, rate: Rate | None, sooner: Sequence[Resource] = ()
) -> Bound:
    """Returns the lower bound for a resource of a page on the link of a scenario.

    rate: the rate of this link, with times after the start of the load; None if it is unlimited. sooner: the resources
    that the client asked for before this one.

    The resource's first byte cannot be at the client before these steps, one after the other, have taken their times:

        for each document that the resource waits for:
            the client waits before the request                      the document's wait
            the request goes to the front                            transmission(request) + delay_up
            the origin holds the document back                       the document's delay
            the whole document goes to the client                    transmission(the document's size) + delay
        the client waits before the request of the resource itself   the resource's wait
        this request goes to the front                               transmission(request) + delay_up
        the origin holds the resource back                           the resource's delay
        the smallest packet with its first byte goes to the client   transmission(1) + delay

    A document must arrive as a whole, because only then the client requests the resources that wait for the document.
    The bound assumes that servers and kernels take no time, the connection exists, nothing is lost and no window limits
    the front. Transmission includes only the bytes that every protocol must send: 66 bytes of headers per packet, and
    the overhead of one TLS record and one frame per response; a request is of one byte. With VIA, each way to the
    origin and back also takes the delay between the fronts; the rate between them is taken as unlimited. The last
    packet is the smallest possible, so no TLS record must be filled first. With jitter, the delay toward the client is
    the shortest possible; with REORDER it is nothing, because the packet may be one that skips the delay. Just before
    the rate rises, a packet that waits for the rise may arrive sooner than a packet that is sent at once. So the bound
    lets a packet wait.

    An ideal server sends bytes of the others until the origin has the resource. `other_bytes` is the number of bytes
    that the bottleneck can carry until then, from the instant at which the first of the others can reach it. It is at
    most the size of the others. Those of `sooner` that can reach the bottleneck before the resource cross it first.
    """
    one_way_ns = scenario.shortest_delay_ns
    up_ns = scenario.delay_up_ns
    if scenario.rate_up_bit_s is not None:
        up_ns += _REQUEST_BYTES * 8 * 10**9 // scenario.rate_up_bit_s
    round_ns = up_ns + one_way_ns + (scenario.via.round_trip_ns if scenario.via else 0)
    # All times are those at the bottleneck, which is at the client's end of the link.
    asked_ns = _asked_ns(page, focal, rate, round_ns)
    available_ns = asked_ns + focal.first_ns
    begins_ns = {each.name: _asked_ns(page, each, rate, round_ns) + each.first_ns for each in (*page.others, *sooner)}
    ready = [each for each in sooner if begins_ns[each.name] <= available_ns]
    if ready:
        sooner_bytes, from_ns = sum(each.size_bytes for each in ready), min(begins_ns[each.name] for each in ready)
        available_ns = max(available_ns, _crossed_ns(from_ns, sooner_bytes, rate))
    first_byte_ns = _crossed_ns(available_ns, _FIRST_BYTE, rate)
    others = [each for each in page.others if each not in sooner]
    other_bytes = sum(each.size_bytes for each in others)
    if rate is not None and others:
        from_ns = min(begins_ns[each.name] for each in others)
        other_bytes = min(other_bytes, int(unframed(rate.carried_bytes(min(from_ns, available_ns), available_ns))))
    return Bound(first_byte_ns=first_byte_ns, other_bytes=other_bytes, sooner=tuple(each.name for each in sooner))


def _asked_ns(page: Page, resource: Resource, rate: Rate | None, round_ns: int) -> int:
    """Returns the time from the load's first request until a response could reach the bottleneck.

    The time is that of an origin that does not hold the response itself back, only the documents before it. round_ns:
    the link's delay up and down together, with VIA also that of the link between the fronts.
    """
    at_ns = round_ns
    for each in page.before(resource):
        asked_ns = at_ns + each.wait_ns
        crossed_ns = page_crossed_ns(rate, asked_ns + each.first_ns, each.size_bytes)
        at_ns = max(crossed_ns, asked_ns + each.last_ns) + round_ns
    return at_ns + resource.wait_ns


def page_crossed_ns(rate: Rate | None, from_ns: int, page_bytes: int) -> int:
    """Returns the earliest time at which a document that reaches the bottleneck at `from_ns` has crossed it."""
    return _crossed_ns(from_ns, page_bytes, rate)


def _crossed_ns(from_ns: int, answer_bytes: int, rate: Rate | None) -> int:
    """Returns the earliest time at which a response that reaches the bottleneck at from_ns has crossed it.

    answer_bytes: the payload of the response. A packet is transmitted at the rate that holds when its transmission
    begins. A packet may wait for a higher rate.
    """
    left_bytes = answer_bytes + _RECORD_BYTES + _FRAME_BYTES
    while rate is not None and left_bytes > 0:
        if isinstance(rate, TraceRate):
            from_ns = round(rate.through_ns(from_ns, min(left_bytes, SEGMENT_BYTES) + HEADERS_BYTES))
            left_bytes -= SEGMENT_BYTES
            continue
        frame_bits = 8 * (min(left_bytes, SEGMENT_BYTES) + HEADERS_BYTES)
        begins = [(from_ns, rate.at_bit_s(from_ns)), *(piece for piece in rate.pieces if piece[0] > from_ns)]
        from_ns = min(begin_ns + frame_bits * 10**9 // rate_bit_s for begin_ns, rate_bit_s in begins)
        left_bytes -= SEGMENT_BYTES
    return from_ns


@dataclass(frozen=True, kw_only=True)
class Inversion:
    """The difference between a load and the oracle's bound for the load.

    late_ns: the time by which the focal resource's first byte came later than the bound. other_bytes: the bytes of the
    others that came before this first byte, minus the bytes that the bound allows; at least 0. Others that were asked
    for before the focal resource do not count. If they came after it, the first byte is not later than the bound.
    """

    bound: Bound
    late_ns: int
    other_bytes: int

    def as_record(self) -> OracleRecord:
        """Returns the record for run.json."""
        return OracleRecord(
            first_byte_ms=self.bound.first_byte_ns / 10**6,
            inversion_ms=self.late_ns / 10**6,
            inversion_bytes=self.other_bytes,
        )


def inversion(load: PageLoad, limit: Bound) -> Inversion:
    """Compares a load with the oracle's bound for the load."""
    came_ns = load.focal.first_byte_ns - load.started_ns
    if limit.sooner:
        limit = replace(limit, first_byte_ns=min(limit.first_byte_ns, came_ns))
    others = load.traffic(each.name for each in load.page.others if each.name not in limit.sooner)
    return Inversion(
        bound=limit,
        late_ns=came_ns - limit.first_byte_ns,
        other_bytes=max(0, others.bytes_before(load.focal.first_byte_ns) - limit.other_bytes),
    )
