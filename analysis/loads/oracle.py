"""The oracle: the earliest possible first byte of the focal resource, whatever server and kernel do. Pure."""

from dataclasses import dataclass

from analysis.loads.metrics import PageLoad
from analysis.records.rate import Rate
from common.formats.page import Page, Resource
from common.formats.run import OracleRecord
from common.formats.scenario import ScenarioRecord
from common.packets import HEADERS_BYTES, SEGMENT_BYTES, unframed

_FIRST_BYTE = 1
_RECORD_BYTES = 5 + 1 + 16  # header, content type, tag (RFC 8446, 5.2)
_FRAME_BYTES = 9


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The bound. first_byte_ns: from the load's first request.

    other_bytes: bytes of the others that can go before the first byte without delaying it.
    """

    first_byte_ns: int
    other_bytes: int


def latest_important(page: Page) -> Resource:
    """Returns the important resource that the origin has last, if nothing but its delays takes time."""
    return max(page.important, key=lambda each: sum(one.last_ns for one in page.before(each)) + each.first_ns)


def bound(page: Page, focal: Resource, scenario: ScenarioRecord) -> Bound:
    """The lower bound for a resource of a page on the link of a scenario (see run.json).

    Its first byte cannot be at the client before these, one after the other:

        for each resource that it waits for:
            the request, to the front                                delay_up
            the origin has it                                        its delay
            all of it, to the client                                 transmission(its size) + delay
        the request of the resource itself                           delay_up
        the origin has its first byte                                its delay
        the smallest packet that holds a byte of it                  transmission(1) + delay

    All of a document, because the client requests what it names when it has all. Servers and kernels take no time, the
    connection exists, nothing is lost and no window binds. Transmission counts what no protocol can leave out: 66 bytes
    of headers per packet, one TLS record and one frame per answer; the smallest packet, so no record that must be
    filled first. What is longer than this is somebody's choice. With jitter, a delay may be shorter by as much. Where
    the rate is about to rise, a packet that waits for that may be there sooner than one that does not; so the bound
    lets it wait.

    Bytes of the others go before it without fault, too: an ideal server gives the link to them while the resource does
    not exist. That is what the link carries from their first request to then, all of them at most.
    """
    one_way_ns = max(0, scenario.delay_ns - scenario.jitter_ns)
    rate = Rate.of(scenario)
    # All instants are those of the bottleneck, which stands at the client's end.
    asked_ns = _asked_ns(page, focal, rate, scenario.delay_up_ns + one_way_ns)
    available_ns = asked_ns + focal.first_ns
    first_byte_ns = _crossed_ns(available_ns, _FIRST_BYTE, rate)
    total_bytes = sum(each.size_bytes for each in page.others)
    if rate is None:
        return Bound(first_byte_ns=first_byte_ns, other_bytes=total_bytes)
    round_ns = scenario.delay_up_ns + one_way_ns
    from_ns = min(_asked_ns(page, each, rate, round_ns) + each.first_ns for each in page.others)
    carried = int(unframed(rate.carried_bytes(min(from_ns, available_ns), available_ns)))
    return Bound(first_byte_ns=first_byte_ns, other_bytes=min(total_bytes, carried))


def _asked_ns(page: Page, resource: Resource, rate: Rate | None, round_ns: int) -> int:
    """The time at which a response could reach the bottleneck if the origin had it at once."""
    at_ns = round_ns
    for each in page.before(resource):
        crossed_ns = page_crossed_ns(rate, at_ns + each.first_ns, each.size_bytes)
        at_ns = max(crossed_ns, at_ns + each.last_ns) + round_ns
    return at_ns


def page_crossed_ns(rate: Rate | None, from_ns: int, page_bytes: int) -> int:
    """The earliest time at which a whole document has crossed the bottleneck. from_ns: when it reaches it."""
    return _crossed_ns(from_ns, page_bytes, rate)


def _crossed_ns(from_ns: int, answer_bytes: int, rate: Rate | None) -> int:
    """The time at which a response has crossed the bottleneck; each packet has the rate at its beginning."""
    left_bytes = answer_bytes + _RECORD_BYTES + _FRAME_BYTES
    while rate is not None and left_bytes > 0:
        frame_bits = 8 * (min(left_bytes, SEGMENT_BYTES) + HEADERS_BYTES)
        begins = [(from_ns, rate.at_bit_s(from_ns)), *(piece for piece in rate.pieces if piece[0] > from_ns)]
        from_ns = min(begin_ns + frame_bits * 10**9 // rate_bit_s for begin_ns, rate_bit_s in begins)
        left_bytes -= SEGMENT_BYTES
    return from_ns


@dataclass(frozen=True, kw_only=True)
class Inversion:
    """A load against its bound. late_ns: of the focal resource's first byte.

    other_bytes: that went before it besides.
    """

    bound: Bound
    late_ns: int
    other_bytes: int

    def as_record(self) -> OracleRecord:
        """The comparison as run.json has it."""
        return OracleRecord(
            first_byte_ms=self.bound.first_byte_ns / 10**6,
            inversion_ms=self.late_ns / 10**6,
            inversion_bytes=self.other_bytes,
        )


def inversion(load: PageLoad, limit: Bound) -> Inversion:
    """Compares a load with the bound."""
    return Inversion(
        bound=limit,
        late_ns=load.focal.first_byte_ns - load.started_ns - limit.first_byte_ns,
        other_bytes=max(0, load.other_bytes_before - limit.other_bytes),
    )
