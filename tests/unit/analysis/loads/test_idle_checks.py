"""Tests of a front that does nothing although it could."""

from collections.abc import Iterable
from typing import Any

import pytest

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.idle_checks import idle_contradictions
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.samples import ServiceSpan, SocketSample
from tests.support.builders import MS, PAGE_CAME, load_of, maps, scenario, socket_sample

EXACT = Allowance(rate=0.03, moment_ns=MS, late_ns=6 * MS, is_exact=True)
KEPT = "time for which the front had bytes that it did not hand over, although its kernel took some"
ROOM = "time for which the front had unsent bytes, and room for them in both windows"
HALF, WHOLE = 352_000, 703_000
"""Where the two halves of the image end in the TCP stream."""


def load() -> PageLoad:
    """Returns a load whose image is at the origin at 100 ms, and at the client from 200 to 900 ms."""
    payload = {"page": PAGE_CAME, "image": [(200, 358_400), (900, 358_400)], "script": [(1500, 1)]}
    return load_of(maps(), payload, {"page": 40, "image": 100, "script": 1490})


def events() -> Evidence:
    """Returns the events of this load that tell where the image is in the TCP stream."""
    ends = ((200, HALF), (900, WHOLE))
    came = tuple(
        Event(t_ns=t_ms * MS, kind=Kind.DATA, load=1, stream_id=3, resource="image", size_bytes=358_400, tcp_bytes=end)
        for t_ms, end in ends
    )
    return Evidence(events=came, requests=(), page=maps())


def told(
    samples: Iterable[SocketSample], *, is_stock: bool = True, service: Iterable[ServiceSpan] = (), **changes: Any
) -> list[str]:
    """Returns what is said about these samples."""
    layers = Layers(sockets=tuple(samples), queue=(), arrivals=(), service=tuple(service))
    link = scenario(delay_ns=0, jitter_ns=0, **changes)
    found = idle_contradictions([load()], events(), layers, link, EXACT, is_stock=is_stock)
    return [f"{each.what}: {each.seen}" for each in found]


def sample(t_ms: int, handed: int, *, unsent: int = 0, queued: int = 0) -> SocketSample:
    """Returns a sample of a kernel that got so many bytes. unsent: those not sent. queued: the send buffer in use."""
    return socket_sample(
        t_ns=t_ms * MS,
        bytes_sent=handed - unsent,
        notsent_bytes=unsent,
        unacked_segments=5,
        wmem_queued_bytes=queued,
        sndbuf_bytes=4_000_000,
        cwnd_segments=5,
    )


def busy(t_ms: int, **changes: int) -> SocketSample:
    """Returns a sample of a kernel with segments on their way, and the whole image."""
    return socket_sample(**{"t_ns": t_ms * MS, "bytes_sent": WHOLE, "unacked_segments": 5} | changes)


def stalls(*, handed: int = HALF, **changes: int) -> list[SocketSample]:
    """Returns samples of a front that hands nothing over for 300 ms, though it has the image's second half."""
    before = [sample(t_ms, 0) for t_ms in range(0, 101, 10)]
    during = [sample(t_ms, handed, **changes) for t_ms in range(110, 411, 10)]
    return [*before, *during, *(sample(t_ms, WHOLE) for t_ms in range(420, 900, 10))]


def test_a_front_that_hands_over_what_it_has() -> None:
    """It has nothing before the origin has the response."""
    samples = [sample(t_ms, 0) for t_ms in range(0, 100, 10)]
    assert told([*samples, *(sample(t_ms, WHOLE) for t_ms in range(100, 900, 10))]) == []


def test_a_front_or_an_origin_that_stalls() -> None:
    """It keeps bytes for 300 ms that its kernel would take. With packets on their way the kernel is not empty."""
    assert told(stalls()) == [f"{KEPT}: 10.0 ms"]
    assert told(stalls(), via=object()) == told(stalls(), plan="probe") == told(stalls(), is_stock=False) == []


def test_a_kernel_that_takes_no_bytes() -> None:
    """It takes none while half of LOWAT is unsent, or two thirds of the send buffer are in use."""
    assert told(stalls(unsent=8_191), lowat=16_384) == [f"{KEPT}: 10.0 ms"]
    assert told(stalls(unsent=8_192), lowat=16_384) == []
    assert told(stalls(unsent=8_192), lowat=None) == [f"{KEPT}: 10.0 ms"]
    assert told(stalls(unsent=8_192, queued=2_700_000), lowat=None) == []


def test_lowat_that_was_lowered_for_a_while() -> None:
    """With LOWAT unset a front that has a response hands all of it over, so a few unsent bytes tell of a limit."""
    slowly = [sample(t_ms, min(WHOLE, 2_000 * t_ms), unsent=6_000) for t_ms in range(0, 900, 10)]
    assert told(slowly, lowat=None) == [f"{KEPT}: 10.0 ms"]


@pytest.mark.parametrize("knobs", [{"native": "on"}, {"lowat": "auto"}])
def test_a_limit_that_others_set(knobs: dict[str, Any]) -> None:
    """If the server or a tuner sets LOWAT, only an empty kernel is known to take bytes."""
    assert told(stalls(unsent=100), **knobs) == []
    empty = [each for each in stalls() if each.t_ns <= 100 * MS]
    empty += [socket_sample(t_ns=t_ms * MS, bytes_sent=HALF, sndbuf_bytes=1) for t_ms in (110, 130)]
    assert told(empty, **knobs) == [f"{KEPT}: 20.0 ms"]


SMALL = "most bytes unsent in the front's kernel, which are more than LOWAT=16384 by a packet buffer"


@pytest.mark.parametrize(
    ("most", "often", "changes", "lines"),
    [
        (19_280, 60, {}, [f"{SMALL}: 19280"]),
        (65_160, 60, {}, []),
        (35_292, 60, {}, []),
        (19_280, 40, {}, []),
        (19_280, 60, {"gso_segments": 2}, []),
        (19_280, 60, {"lowat": 32_768}, []),
        (19_280, 60, {"lowat": "auto"}, []),
        (19_280, 60, {"window_bytes": 65_535}, []),
        (19_280, 60, {"is_stock": False}, []),
    ],
)
def test_segmentation_that_the_connection_alone_lacks(
    most: int, often: int, changes: dict[str, Any], lines: list[str]
) -> None:
    """A front that writes eagerly fills packet buffers. With two segments each, little more than LOWAT is unsent."""
    samples = [sample(900 + 10 * number, WHOLE, unsent=most - 100 * number) for number in range(often)]
    assert told(samples, **{"lowat": 16_384} | changes) == lines


def test_a_window_update_that_waits_for_others() -> None:
    """With RATE_UP the front may wait for a window of the client's, if the page can use up half of one."""
    assert told(stalls(), rate_up_bit_s=64_000, window_bytes=65_535) == []
    assert told(stalls(), rate_up_bit_s=64_000, window_bytes=2**30) == [f"{KEPT}: 10.0 ms"]


def test_a_window_that_is_used_up() -> None:
    """The front may not send more than the client's windows allow."""
    assert told(stalls(), window_bytes=358_400) == []
    assert told(stalls(), window_bytes=400_000) == [f"{KEPT}: 10.0 ms"]


def test_a_front_that_is_at_work_is_not_idle() -> None:
    """The time that SERVICE gives to the server's work does not count, and only this time."""
    spans = [ServiceSpan(t_ns=from_ms * MS, until_ns=390 * MS) for from_ms in (0, 300)]
    assert told(stalls(), service=spans) == [f"{KEPT}: 10.0 ms"]
    assert told(stalls(), service=[*spans, ServiceSpan(t_ns=390 * MS, until_ns=420 * MS)]) == []


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, [f"{ROOM}: 40.0 ms"]),
        ({"unacked_segments": 11}, []),
        ({"notsent_bytes": 100}, []),
        ({"peer_window_bytes": 5 * 1448}, []),
    ],
)
def test_unsent_bytes(changes: dict[str, int], lines: list[str]) -> None:
    """Unsent bytes wait only for a window: the congestion window, or the client's."""
    waits = {"notsent_bytes": 5000, "cwnd_segments": 20, "peer_window_bytes": 10**6}
    samples = [busy(t_ms, **waits | changes) for t_ms in range(100, 200, 10)]
    assert told(samples, congestion_control="cubic") == lines
    assert told(samples, congestion_control="bbr") == []
    assert told(samples, front_qdisc="fq") == []
    assert told(samples, congestion_control="cubic", front_qdisc="fq_codel") == lines


def test_a_window_that_the_kernel_counts_as_the_limit() -> None:
    """If rwnd_limited grows, the client's window was closed for a part of the time."""
    waits = {"notsent_bytes": 5000, "cwnd_segments": 20, "peer_window_bytes": 10**6}
    samples = [busy(t_ms, **waits, rwnd_limited_us=1000 * t_ms) for t_ms in range(100, 200, 10)]
    assert told(samples) == []
