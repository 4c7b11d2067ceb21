"""The predictor: when the script's first byte should come, by arithmetic alone. Pure. docs/model.md has its error.

The link is busy from the image's first packet on, so what counts is how many bytes go before the script:

    first byte = image asked for + delay + transmission(bytes ahead + the script's own first record)

and never sooner than the oracle allows. The bytes ahead are what the front has let go of when the script comes to be:

    ahead = sent + unsent + begun,    the image at most

sent    What the congestion window lets out in the first round trip, and what acknowledgements let out after it. The
        window is ten segments on a fresh connection and one more for each that was acknowledged, until it has filled
        pipe and queue once; from then on it saws between that and the part of it that a loss leaves (cubic 0.7,
        RFC 9438; reno 0.5, RFC 5681). bbr paces at the link's rate instead.
unsent  Up to LOWAT in whole offload packets: the kernel looks at the limit only when it begins a new one, of 45
        segments or GSO. The send buffer binds in the same way; without SNDBUF it grows with the window, by twice (bbr:
        three times) 2304 bytes a segment, which is a full packet as the kernel accounts for it. Once acknowledgements
        come, the kernel asks for more only when less than half of LOWAT is left: half way between, on average.
begun   The rest of the TLS record that the kernel did not take all of: half of one, on average. A front that writes in
        batches, and waits to be asked before the next, has begun a whole one.

It leaves out loss but for its effect on the window, jitter, and a server's own mechanism: there is no prediction then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Self

from analysis.oracle import bound

MSS_BYTES = 1448
_FRAME_BYTES = 1514
_WIRE = _FRAME_BYTES / MSS_BYTES
_IN_RECORDS = 1 + (5 + 1 + 16 + 2 * 9) / 16_384  # of one TLS record and its two frames
_FIRST_WINDOW = 10  # segments (RFC 6928)
_OFFLOAD_SEGMENTS = 45  # what fits in 64 KiB
_SEGMENT_TRUESIZE = 2304
_AFTER_LOSS = {"cubic": 0.7, "reno": 0.5}
_BUFFER_PER_WINDOW = {"bbr": 3}
_PAGE_BYTES = 600


class NoPrediction(Exception):
    """The model does not cover the scenario; the text says what of it."""


@dataclass(frozen=True, kw_only=True)
class Writes:
    """How a front writes. record_bytes: of a TLS record. batch_bytes: what it writes at once, None until refused.

    strict: whether a stream of lower weight waits altogether.
    """

    record_bytes: int
    batch_bytes: int | None
    strict: bool

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """As run.json keeps it under `front`."""
        return cls(
            record_bytes=document["record_bytes"], batch_bytes=document["batch_bytes"], strict=document["strict"]
        )


def script_first_byte_ms(scenario: Mapping[str, Any], writes: Writes) -> float:
    """Milliseconds from the request of the measured load's page. Raises NoPrediction."""
    _check_covered(scenario)
    delay_s, up_s = scenario["delay_ns"] / 10**9, scenario["delay_up_ns"] / 10**9
    soonest_ms = (
        bound(
            rate_bit_s=scenario["rate_bit_s"],
            delay_ns=scenario["delay_ns"],
            delay_up_ns=scenario["delay_up_ns"],
            jitter_ns=0,
            page_bytes=_PAGE_BYTES,
            script_delay_ns=scenario["script_delay_ns"],
            image_bytes=scenario["size_bytes"],
        ).script_first_byte_ns
        / 10**6
    )
    if scenario["rate_bit_s"] is None:
        return soonest_ms
    line = _Line.of(scenario)
    record_s = line.transmission_s(writes.record_bytes)
    asked_s = 2 * up_s + delay_s + line.transmission_s(_PAGE_BYTES)
    ahead = _ahead_bytes(scenario, writes, line)
    crossed_s = asked_s + delay_s + line.delivery_s(ahead + writes.record_bytes)
    return max(soonest_ms + record_s * 1000, crossed_s * 1000)


def _check_covered(scenario: Mapping[str, Any]) -> None:
    for knob, covered in (
        ("NATIVE=on", scenario["native"] == "off"),
        ("LOSS", not scenario["loss"]),
        ("JITTER", not scenario["jitter_ns"]),
        ("BUFFERING=off", scenario.get("buffering", "on") == "on"),
    ):
        if not covered:
            raise NoPrediction(f"{knob} is not covered")


@dataclass(frozen=True, kw_only=True)
class _Line:
    """Link and congestion control together. window, pipe, most: segments; most: all that fits in pipe and queue."""

    byte_s: float
    round_trip_s: float
    pipe: float
    most: float
    window: float
    largest: float
    paced: bool

    @classmethod
    def of(cls, scenario: Mapping[str, Any]) -> Self:
        byte_s = scenario["rate_bit_s"] / 8
        round_trip_s = (scenario["delay_ns"] + scenario["delay_up_ns"]) / 10**9
        pipe = max(1.0, byte_s * round_trip_s / _FRAME_BYTES)
        most = pipe + scenario["queue_packets"]
        grown = _FIRST_WINDOW + scenario["reloads"] * 2 * scenario["size_bytes"] / MSS_BYTES
        control = scenario["congestion_control"]
        if control == "bbr":
            window = 2 * pipe if scenario["reloads"] else min(grown, 2 * pipe)
        elif grown < most:
            window = grown
        else:
            window = most * (1 + _AFTER_LOSS[control]) / 2
        return cls(
            byte_s=byte_s,
            round_trip_s=round_trip_s,
            pipe=pipe,
            most=most,
            window=max(window, 2.0),
            largest=min(grown, most),
            paced=control == "bbr",
        )

    def transmission_s(self, stream_bytes: float) -> float:
        return stream_bytes * _IN_RECORDS * _WIRE / self.byte_s

    def sent_bytes(self, elapsed_s: float) -> float:
        """Of a response that began so long ago."""
        let_out = self.window * MSS_BYTES
        clocked = self.byte_s / _WIRE * max(0.0, elapsed_s - self.round_trip_s)
        if self.paced:
            return min(let_out + clocked, self.byte_s / _WIRE * elapsed_s)
        return let_out + clocked

    def delivery_s(self, stream_bytes: float) -> float:
        """From the first packet's transmission to the last's: in slow start the link waits for the next round."""
        left, window, waited_s = stream_bytes * _IN_RECORDS, self.window, 0.0
        while window < self.pipe and left > window * MSS_BYTES:
            left -= window * MSS_BYTES
            waited_s += self.round_trip_s + _FRAME_BYTES / self.byte_s
            window *= 2
        return waited_s + left * _WIRE / self.byte_s


def _ahead_bytes(scenario: Mapping[str, Any], writes: Writes, line: _Line) -> float:
    """Image bytes that the script comes after."""
    image = scenario["size_bytes"]
    if writes.strict and scenario["priorities"] != "spdy":
        return float(image)  # the front has no reason to let the script go first
    elapsed_s = scenario["script_delay_ns"] / 10**9
    sent = line.sent_bytes(elapsed_s)
    offload = min(scenario["gso_segments"] or _OFFLOAD_SEGMENTS, _OFFLOAD_SEGMENTS) * MSS_BYTES
    is_clocked = elapsed_s > line.round_trip_s
    room = _buffer_bytes(scenario, line) - line.window * MSS_BYTES
    limits = [float(ceil(max(0.0, room) / offload) * offload)]
    lowat = scenario["lowat"]
    if lowat is not None:
        limits.append(_unsent_bytes(lowat, offload, writes, sent, is_clocked=is_clocked))
    begun = writes.record_bytes if writes.batch_bytes else writes.record_bytes / 2
    return min(float(image), sent + min(limits) + begun, float(scenario["window_bytes"]))


def _unsent_bytes(lowat: int, offload: int, writes: Writes, sent: float, *, is_clocked: bool) -> float:
    if writes.batch_bytes is not None:
        # It is asked for more while less than half of LOWAT is unsent.
        return ceil((sent + lowat / 2) / writes.batch_bytes) * writes.batch_bytes - sent
    most = ceil(lowat / offload) * offload
    return (most + lowat / 2) / 2 if is_clocked else float(most)


def _buffer_bytes(scenario: Mapping[str, Any], line: _Line) -> float:
    """The send buffer: as asked for at first, and larger if the window has grown."""
    per_window = _BUFFER_PER_WINDOW.get(scenario["congestion_control"], 2)
    grown = per_window * max(line.largest, _FIRST_WINDOW) * _SEGMENT_TRUESIZE
    return max(float(scenario["sndbuf_bytes"] or 0), grown)
