"""The oracle: how soon the script's first byte could have been there, whatever server and kernel do. Pure."""

from dataclasses import dataclass

from analysis.metrics import PageLoad
from analysis.packets import HEADERS_BYTES, SEGMENT_BYTES, unframed

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
) -> Bound:
    """The lower bound on a link with that rate and those delays each way.

    The script's first byte cannot be at the client before these, one after the other:

        request of the page, to the front                        delay_up
        the page, all of it, to the client                       transmission(page) + delay
        request of the script, which the page names              delay_up
        the origin has the script                                script_delay
        the smallest packet that holds a byte of it              transmission(1) + delay

    All of the page, because the client asks when it has all. Servers and kernels take no time, the connection exists,
    nothing is lost and no window binds. Transmission counts what no protocol can leave out: 66 bytes of headers per
    packet, one TLS record and one frame per answer; the smallest packet, so no record that must be filled first. What
    is longer than this is a choice of somebody's. With jitter, a delay may be shorter by as much.

    Image bytes go before it without fault, too: an ideal server gives the link to the image while there is no script.
    That is what the link carries in script_delay, the image at most.
    """
    one_way_ns = max(0, delay_ns - jitter_ns)
    first_byte_ns = (
        2 * delay_up_ns
        + 2 * one_way_ns
        + script_delay_ns
        + _transmission_ns(page_bytes, rate_bit_s)
        + _transmission_ns(_FIRST_BYTE, rate_bit_s)
    )
    if rate_bit_s is None:
        return Bound(script_first_byte_ns=first_byte_ns, image_bytes=image_bytes)
    carried = int(unframed(rate_bit_s * script_delay_ns / (8 * 10**9)))
    return Bound(script_first_byte_ns=first_byte_ns, image_bytes=min(image_bytes, carried))


def _transmission_ns(answer_bytes: int, rate_bit_s: int | None) -> int:
    if rate_bit_s is None:
        return 0
    size_bytes = answer_bytes + _RECORD_BYTES + _FRAME_BYTES
    frames = size_bytes + HEADERS_BYTES * -(-size_bytes // SEGMENT_BYTES)
    return frames * 8 * 10**9 // rate_bit_s


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
