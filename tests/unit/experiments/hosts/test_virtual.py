"""Tests of the settings of guests."""

from priolab.experiments.hosts.virtual import _tcp_words, memory_mib
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import Scenario
from tests.support.pages import page_of_parts, part

_MIB = 2**20


def test_pages_of_usual_sizes_can_share_a_guest() -> None:
    """Guests for pages of up to 2 MiB, image and script together, have the same memory. Larger pages have more."""
    usual = {memory_mib(scenario_from({"SIZE": size})) for size in ("2048", "20000", "600000", "1000000")}
    assert len(usual) == 1
    assert max(usual) < memory_mib(scenario_from({"SIZE": "3M"})) < memory_mib(scenario_from({"SIZE": "30M"}))


def _with_bulk(size_bytes: int, **knobs: str) -> Scenario:
    page = page_of_parts(part("html"), part("bulk", after="html", size_bytes=size_bytes), part("a", important=True))
    return scenario_from(knobs, page)


def test_the_memory_for_tcp_follows_the_send_buffer_and_the_window() -> None:
    """TCP gets more than its usual share if SNDBUF, the page, and WINDOW allow the buffers to be larger."""
    large = _with_bulk(64 * _MIB, SNDBUF="64M", WINDOW="256M")
    (words,) = _tcp_words([large])
    name, _, values = words.partition("=")
    low, pressure, high = map(int, values.strip('"').split())
    assert name == "sysctl.net.ipv4.tcp_mem"
    assert low == pressure < high
    assert pressure * 4096 >= (64 + 6) * _MIB  # the front's send buffer, and the client's receive buffer
    assert memory_mib(large) - memory_mib(_with_bulk(64 * _MIB)) >= 64
    assert _tcp_words([_with_bulk(64 * _MIB), large]) == [words]
    for usual in (
        _with_bulk(64 * _MIB),  # SNDBUF=4M
        _with_bulk(_MIB, SNDBUF="1024M"),  # the page is never so large
        _with_bulk(64 * _MIB, SNDBUF="64M", WINDOW="1M"),
        scenario_from({}),
        scenario_from({"CROSS": "4"}),
    ):
        assert _tcp_words([usual]) == []
