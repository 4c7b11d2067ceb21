"""The oracle: how soon the script's first byte could have been there, whatever server and kernel do. Pure."""

from dataclasses import dataclass

from analysis.loads.metrics import PageLoad
from analysis.records.rate import Rate
from common.packets import HEADERS_BYTES, SEGMENT_BYTES, unframed

_FIRST_BYTE = 1
_RECORD_BYTES = 5 + 1 + 16  # header, content type, tag (RFC 8446, 5.2)
_FRAME_BYTES = 9


@dataclass(frozen=True, kw_only=True)
class Bound:
    """script_first_byte_ns: from the request of the page. image_bytes: that may go before it without fault."""

    script_first_byte_ns: int
    image_bytes: int


def bound(
    *,
    rate_bit_s: int | None,
    delay_ns: int,
    delay_up_ns: int,
    jitter_ns: int,
    page_bytes: int,
    script_delay_ns: int,
    image_bytes: int,
    rate_steps: str | None = None,
) -> Bound:
    """The lower bound on a link with that rate, steps of it (analysis/records/rate.py), and those delays each way.

    The script's first byte cannot be at the client before these, one after the other:

        request of the page, to the front                        delay_up
        the page, all of it, to the client                       transmission(page) + delay
        request of the script, which the page names              delay_up
        the origin has the script                                script_delay
        the smallest packet that holds a byte of it              transmission(1) + delay

    All of the page, because the client asks when it has all. Servers and kernels take no time, the connection exists,
    nothing is lost and no window binds. Transmission counts what no protocol can leave out: 66 bytes of headers per
    packet, one TLS record and one frame per answer; the smallest packet, so no record that must be filled first. What
    is longer than this is a choice of somebody's. With jitter, a delay may be shorter by as much. Where the rate is
    about to rise, a packet that waits for that may be there sooner than one that does not; so the bound lets it wait.

    Image bytes go before it without fault, too: an ideal server gives the link to the image while there is no script.
    That is what the link carries in script_delay, the image at most.
    """
    one_way_ns = max(0, delay_ns - jitter_ns)
    rate = Rate.of({"rate_bit_s": rate_bit_s, "rate_steps": rate_steps})
    # Both instants are those of the bottleneck, which stands at the client's end.
    asked_ns = page_crossed_ns(rate, delay_up_ns + one_way_ns, page_bytes) + delay_up_ns + one_way_ns
    available_ns = asked_ns + script_delay_ns
    first_byte_ns = _crossed_ns(available_ns, _FIRST_BYTE, rate)
    if rate is None:
        return Bound(script_first_byte_ns=first_byte_ns, image_bytes=image_bytes)
    carried = int(unframed(rate.carried_bytes(asked_ns, available_ns)))
    return Bound(script_first_byte_ns=first_byte_ns, image_bytes=min(image_bytes, carried))


def page_crossed_ns(rate: Rate | None, from_ns: int, page_bytes: int) -> int:
    """When all of the page has crossed the bottleneck, at the soonest. from_ns: when it is there."""
    return _crossed_ns(from_ns, page_bytes, rate)


def _crossed_ns(from_ns: int, answer_bytes: int, rate: Rate | None) -> int:
    """When an answer has crossed the bottleneck, packet by packet, each at the rate at which it begins."""
    left_bytes = answer_bytes + _RECORD_BYTES + _FRAME_BYTES
    while rate is not None and left_bytes > 0:
        frame_bits = 8 * (min(left_bytes, SEGMENT_BYTES) + HEADERS_BYTES)
        begins = [(from_ns, rate.at_bit_s(from_ns)), *(piece for piece in rate.pieces if piece[0] > from_ns)]
        from_ns = min(begin_ns + frame_bits * 10**9 // rate_bit_s for begin_ns, rate_bit_s in begins)
        left_bytes -= SEGMENT_BYTES
    return from_ns


@dataclass(frozen=True, kw_only=True)
class Inversion:
    """A load against its bound. late_ns: of the script's first byte; image_bytes: that went before it besides."""

    bound: Bound
    late_ns: int
    image_bytes: int

    def as_document(self) -> dict[str, float]:
        """As run.json keeps it."""
        return {
            "script_first_byte_ms": self.bound.script_first_byte_ns / 10**6,
            "inversion_ms": self.late_ns / 10**6,
            "inversion_bytes": self.image_bytes,
        }


def inversion(load: PageLoad, limit: Bound) -> Inversion:
    """What a load lost against the bound."""
    return Inversion(
        bound=limit,
        late_ns=load.script.first_byte_ns - load.started_ns - limit.script_first_byte_ns,
        image_bytes=max(0, load.image_bytes_before_script - limit.image_bytes),
    )
