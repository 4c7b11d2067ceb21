"""Tests of a front that sends nothing although it could."""

from collections.abc import Iterable
from typing import Any

import pytest

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.idle_checks import idle_contradictions
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import ServiceSpan, SocketSample
from tests.support.builders import MS, PAGE_CAME, load_of, maps, scenario, socket_sample

EXACT = Allowance(rate=0.03, moment_ns=MS, late_ns=6 * MS, is_exact=True)
LINK = scenario(delay_ns=0, jitter_ns=0)
NOTHING = "time for which the front had nothing to send, although the origin had handed over responses"
ROOM = "time for which the front had unsent bytes, and room for them in both windows"


def load() -> PageLoad:
    """Returns a load whose image is at the origin at 100 ms, and at the client from 200 to 900 ms."""
    payload = {"page": PAGE_CAME, "image": [(200, 350_000), (900, 350_000)], "script": [(1500, 1)]}
    return load_of(maps(), payload, {"page": 40, "image": 100, "script": 1490})


def told(
    samples: Iterable[SocketSample], *, is_stock: bool = True, service: Iterable[ServiceSpan] = (), **changes: Any
) -> list[str]:
    """Returns what is said about these samples."""
    layers = Layers(sockets=tuple(samples), queue=(), arrivals=(), service=tuple(service))
    link = scenario(delay_ns=0, jitter_ns=0, **changes)
    found = idle_contradictions([load()], layers, link, EXACT, is_stock=is_stock)
    return [f"{each.what}: {each.seen}" for each in found]


def busy(t_ms: int, **changes: int) -> SocketSample:
    """Returns a sample of a kernel with segments on their way."""
    return socket_sample(**{"t_ns": t_ms * MS, "bytes_sent": 1000 + t_ms, "unacked_segments": 5} | changes)


def empty(t_ms: int) -> SocketSample:
    """Returns a sample of a kernel in which nothing is left. All of these have sent the same number of bytes."""
    return socket_sample(t_ns=t_ms * MS, bytes_sent=1000)


def test_a_front_that_is_never_idle_while_it_has_a_response() -> None:
    """It may be idle before the origin has the response, and after the client has it."""
    spans = [*(empty(t_ms) for t_ms in range(50, 101, 10)), *(busy(t_ms) for t_ms in range(110, 900, 10))]
    assert told([*spans, *(empty(t_ms) for t_ms in range(900, 1490, 10))]) == []


def test_a_front_or_an_origin_that_stalls() -> None:
    """It is idle for 300 ms, although the client does not have the image."""
    stalls = [busy(t_ms) if not 400 <= t_ms <= 700 else empty(t_ms) for t_ms in range(100, 900, 10)]
    assert told(stalls) == [f"{NOTHING}: 300.0 ms"]
    assert told(stalls, via=object()) == told(stalls, plan="probe") == told(stalls, is_stock=False) == []


def test_a_window_update_that_waits_for_others() -> None:
    """With RATE_UP the front may wait for a window of the client's, if the page can use up half of one."""
    stalls = [busy(t_ms) if not 400 <= t_ms <= 700 else empty(t_ms) for t_ms in range(100, 900, 10)]
    assert told(stalls, rate_up_bit_s=64_000, window_bytes=65_535) == []
    assert told(stalls, rate_up_bit_s=64_000, window_bytes=2**30) == [f"{NOTHING}: 300.0 ms"]


def test_a_front_that_is_at_work_is_not_idle() -> None:
    """The time that SERVICE gives to the server's work does not count, and only this time."""
    stalls = [busy(t_ms) if not 400 <= t_ms <= 700 else empty(t_ms) for t_ms in range(100, 900, 10)]
    spans = [ServiceSpan(t_ns=from_ms * MS, until_ns=690 * MS) for from_ms in (300, 500)]
    assert told(stalls, service=spans) == [f"{NOTHING}: 10.0 ms"]
    assert told(stalls, service=[*spans, ServiceSpan(t_ns=690 * MS, until_ns=700 * MS)]) == []


def test_what_was_sent_between_two_samples() -> None:
    """A kernel that was empty at two samples, and sent something between them, was not idle."""
    samples = [socket_sample(t_ns=t_ms * MS, bytes_sent=t_ms) for t_ms in range(100, 900, 10)]
    assert told(samples) == []


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
    assert told(samples, congestion_control="bbr") == told(samples, shaper_at="front") == []
    assert told(samples, front_qdisc="fq") == []
    assert told(samples, congestion_control="cubic", front_qdisc="fq_codel") == lines


def test_a_window_that_the_kernel_counts_as_the_limit() -> None:
    """If rwnd_limited grows, the client's window was closed for a part of the time."""
    waits = {"notsent_bytes": 5000, "cwnd_segments": 20, "peer_window_bytes": 10**6}
    samples = [busy(t_ms, **waits, rwnd_limited_us=1000 * t_ms) for t_ms in range(100, 200, 10)]
    assert told(samples) == []
