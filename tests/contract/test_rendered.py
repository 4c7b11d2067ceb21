"""Configurations and argument lists exactly as a run would use them, compared with golden files."""

import re
from pathlib import Path

import pytest

from tests.contract.fronts import front, levels

GOLDEN = Path(__file__).parent / "golden"


def render(name: str, native: str = "off", buffering: str = "on", *, size_bytes: int = 716_800) -> str:
    described = front(name, native, buffering, size_bytes=size_bytes)
    return described.settings.server.render(described._values)


def golden(name: str, native: str, buffering: str) -> Path:
    template = front(name).settings.server.template
    unusual = "" if buffering == "on" else f"-buffering-{buffering}"
    return GOLDEN / f"{template.stem}-native-{native}{unusual}{template.suffix}"


@pytest.mark.parametrize(("name", "native", "buffering"), levels())
def test_configuration(name: str, native: str, buffering: str) -> None:
    """The rendered configuration is the golden one, to the letter."""
    assert render(name, native, buffering) == golden(name, native, buffering).read_text()


def test_no_golden_file_is_left_over() -> None:
    """Every golden file belongs to a server and a level that exist."""
    assert set(GOLDEN.iterdir()) == {golden(*level) for level in levels()}


def test_nginx_command() -> None:
    """nginx is started with its own prefix and error log, so that nothing of the system's is touched."""
    assert front("nginx").command == (
        "/usr/sbin/nginx",
        "-p",
        "/run/priolab/front/state",
        "-e",
        "/run/priolab/front/error.log",
        "-c",
        "/run/priolab/asked/nginx.conf",
    )


def test_h2o_command() -> None:
    """h2o stays in the foreground, with the configuration of the run."""
    assert front("h2o").command == ("/usr/sbin/h2o", "-m", "worker", "-c", "/run/priolab/asked/h2o.yaml")


def test_h2o_mechanism_is_the_only_difference() -> None:
    """NATIVE=on and off differ in the one line that switches the latency optimization."""
    on, off = (render("h2o", native).splitlines() for native in ("on", "off"))
    assert [pair for pair in zip(on, off, strict=True) if pair[0] != pair[1]] == [
        ("http2-latency-optimization-min-rtt: 50", "http2-latency-optimization-min-rtt: 4294967295")
    ]


def test_buffering_is_the_only_difference() -> None:
    """BUFFERING=off and on differ in the one line that switches nginx's."""
    on, off = (render("nginx", buffering=level).splitlines() for level in ("on", "off"))
    assert [pair for pair in zip(on, off, strict=True) if pair[0] != pair[1]] == [
        ("    proxy_buffering on;", "    proxy_buffering off;")
    ]


@pytest.mark.parametrize("size_bytes", [2048, 16_384, 716_800, 64 * 2**20])
def test_nginx_holds_a_whole_response(size_bytes: int) -> None:
    """Buffers hold the whole response, and the busy part fits nginx's rule: under all buffers but one."""
    text = render("nginx", size_bytes=size_bytes)
    buffers = re.search(r"proxy_buffers (\d+) 16k;", text)
    busy = re.search(r"proxy_busy_buffers_size (\d+)k;", text)
    assert buffers
    assert busy
    held, busy_bytes = int(buffers[1]) * 16_384, int(busy[1]) * 1024
    assert size_bytes < busy_bytes < held - 16_384
