"""Configurations and argument lists, exactly as a run uses them, equal the golden files."""

import re

import pytest

from priolab.proxy.server import catalogue
from tests.contract.fronts import levels
from tests.contract.rendered import GOLDEN, command, golden, golden_command, render


@pytest.mark.parametrize(("name", "native", "buffering"), levels())
def test_configuration(name: str, native: str, buffering: str) -> None:
    """The rendered configuration equals its golden file."""
    assert render(name, native, buffering) == golden(name, native, buffering).read_text()


@pytest.mark.parametrize("name", catalogue())
def test_command(name: str) -> None:
    """The argument list equals its golden file."""
    assert command(name) == golden_command(name).read_text()


def test_no_golden_file_is_left_over() -> None:
    """Every golden file is of an existing server and level."""
    configurations = {golden(*level) for level in levels()}
    assert set(GOLDEN.iterdir()) == configurations | {golden_command(name) for name in catalogue()}


def test_h2o_mechanism_is_the_only_difference() -> None:
    """h2o's configurations for NATIVE=on and off differ in one line, which switches the latency optimization."""
    on, off = (render("h2o", native).splitlines() for native in ("on", "off"))
    assert [pair for pair in zip(on, off, strict=True) if pair[0] != pair[1]] == [
        ("http2-latency-optimization-min-rtt: 50", "http2-latency-optimization-min-rtt: 4294967295")
    ]


def test_buffering_is_the_only_difference() -> None:
    """BUFFERING=off and on differ in nginx's line `proxy_buffering` alone."""
    on, off = (render("nginx", buffering=level).splitlines() for level in ("on", "off"))
    assert [pair for pair in zip(on, off, strict=True) if pair[0] != pair[1]] == [
        ("    proxy_buffering on;", "    proxy_buffering off;")
    ]


@pytest.mark.parametrize(
    ("name", "line"), [("nginx", "        ssl_buffer_size 1400;"), ("haproxy", "    tune.ssl.hard-maxrecord 1400")]
)
def test_a_record_size_is_the_only_difference(name: str, line: str) -> None:
    """RECORD sets one line, which is a comment for the server's default record size."""
    stock, sized = (render(name, record_bytes=size).splitlines() for size in (None, 1400))
    ((before, after),) = [pair for pair in zip(stock, sized, strict=True) if pair[0] != pair[1]]
    assert before.lstrip().startswith("#")
    assert after == line


@pytest.mark.parametrize("size_bytes", [2048, 16_384, 716_800, 64 * 2**20])
def test_nginx_holds_a_whole_response(size_bytes: int) -> None:
    """nginx's buffers hold the whole response, and busy buffers are smaller than all buffers but one, as nginx asks."""
    text = render("nginx", size_bytes=size_bytes)
    buffers = re.search(r"proxy_buffers (\d+) 16k;", text)
    busy = re.search(r"proxy_busy_buffers_size (\d+)k;", text)
    assert buffers
    assert busy
    held, busy_bytes = int(buffers[1]) * 16_384, int(busy[1]) * 1024
    assert size_bytes < busy_bytes < held - 16_384
