"""Tests of the origin as a single process: its responses, their times, and its log."""

import http.client
import io
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from priolab.common.formats.page import Chunk, Page, Resource
from priolab.common.process.search_path import find
from tests.support.origins import _ORIGIN, running_origin
from tests.support.pages import MS, maps_page, page_file


def _get(port: int, path: str, method: str = "GET") -> tuple[int, bytes, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read(), response
    finally:
        connection.close()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Return the port of an origin with default settings."""
    with running_origin(tmp_path_factory.mktemp("origin") / "access.jsonl") as port:
        yield port


def test_the_page_links_the_image_before_the_script(port: int) -> None:
    """The HTML names the image before the script, so that a server without priorities serves the image first."""
    status, body, response = _get(port, "/")
    assert status == 200
    assert response.getheader("content-type") == "text/html; charset=utf-8"
    assert 0 < body.index(b"/image.jpg") < body.index(b"/script.js")


def test_the_image_is_a_picture_of_the_size_asked_for(port: int) -> None:
    """The image is a JPEG of exactly 700 KiB that can be decoded to its end, with a scan in every 72 KiB."""
    status, body, _ = _get(port, "/image.jpg")
    assert (status, len(body)) == (200, 700 * 1024)
    with Image.open(io.BytesIO(body)) as picture:
        assert picture.format == "JPEG"
        assert picture.info["progressive"]
        picture.load()
        assert picture.size == (240, 150)
    scan = b"\xff\xda"
    assert [body[: part * 72 * 1024].count(scan) for part in range(1, 11)] == list(range(1, 11))


@pytest.mark.parametrize("size", [2048, 2049, 2050, 2051, 2052, 2053, 65_537, 100_001])
def test_every_size_is_met_to_the_byte(tmp_path: Path, size: int) -> None:
    """Image and script have exactly the requested size, even if the size is hard to reach with padding."""
    with running_origin(tmp_path / "access.jsonl", PAGE=str(page_file(tmp_path, maps_page(size, 0)))) as port:
        image, script = _get(port, "/image.jpg")[1], _get(port, "/script.js")[1]
    assert (len(image), len(script)) == (size, size)
    with Image.open(io.BytesIO(image)) as picture:
        picture.load()


def test_the_script_is_valid_javascript(port: int, tmp_path: Path) -> None:
    """The script has exactly 700 KiB, and Node parses it."""
    status, body, _ = _get(port, "/script.js")
    assert (status, len(body)) == (200, 700 * 1024)
    (tmp_path / "script.js").write_bytes(body)
    node = find("node")
    assert node is not None
    subprocess.run([node, "--check", str(tmp_path / "script.js")], check=True)


def test_the_script_is_held_back_and_the_image_is_not(tmp_path: Path) -> None:
    """The log gives the times at which a request came, its response was ready, and the last byte was written.
    The script is ready 200 ms after its request, the image at once.
    """
    log = tmp_path / "access.jsonl"
    with running_origin(log) as port:
        _get(port, "/image.jpg")
        _get(port, "/script.js")
    image, script = (json.loads(line) for line in log.read_text().splitlines())
    assert (image["path"], script["path"]) == ("/image.jpg", "/script.js")
    for entry in (image, script):
        assert entry["received_ns"] <= entry["available_ns"] <= entry["handed_over_ns"] <= time.monotonic_ns()
    assert image["available_ns"] - image["received_ns"] < 100_000_000
    assert script["available_ns"] - script["received_ns"] >= 199_000_000


def test_readiness_says_what_the_clock_is_worth(port: int) -> None:
    """The origin's `/ready` describes the clock of its own process, and `ready.mjs` prints the same description."""
    node = find("node")
    assert node is not None
    clock = json.loads(_get(port, "/ready")[1])["clock"]
    assert set(clock) == {"source", "resolution_ns", "read_cost_ns", "reasons"}
    assert 0 < clock["resolution_ns"] < 10**9
    ready = [node, str(_ORIGIN.with_name("ready.mjs")), "10"]  # seconds, as the machine may be busy
    passed_on = subprocess.check_output(ready, env=os.environ | {"PORT": str(port)}, timeout=20)
    assert json.loads(passed_on)["clock"] == clock


def test_connections_are_kept(port: int) -> None:
    """Two HTTP/1.1 requests use the same connection (keep-alive)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    ports = []
    for _ in range(2):
        connection.request("GET", "/ready")
        connection.getresponse().read()
        ports.append(connection.sock.getsockname())
    connection.close()
    assert ports[0] == ports[1]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/", 405), ("HEAD", "/", 200)]
)
def test_other_requests(port: int, method: str, path: str, status: int) -> None:
    """The origin answers unknown paths with 404 and unknown methods with 405."""
    assert _get(port, path, method)[0] == status


@pytest.mark.parametrize(
    ("setting", "why"),
    [({"PORT": "99999"}, "; allowed:"), ({"PAGE": "nothing.json"}, ": ENOENT"), ({"PAGE": "map.jpg"}, ": Unexpected")],
)
def test_a_bad_setting_is_refused(setting: dict[str, str], why: str) -> None:
    """The origin prints one line with the value and the reason, and exits with code 2."""
    node = find("node")
    assert node is not None
    environment = os.environ | {"PORT": "0"} | setting
    done = subprocess.run(
        [node, str(_ORIGIN)], env=environment, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 2
    ((name, value),) = setting.items()
    assert f"{name}={value}{why}" in done.stderr


def test_pieces_come_in_their_time(tmp_path: Path) -> None:
    """The first chunk comes after its delay, and the last chunk not before its own time.
    The log's `available_ns` is the time at which the first chunk was ready.
    """
    chunks = (Chunk(at_ns=100 * MS, size_bytes=40, every_ns=50 * MS, count=4), Chunk(at_ns=300 * MS, size_bytes=7))
    stream = Resource(name="s", path="/s", content_type="text/event-stream", size_bytes=167, weight=1, chunks=chunks)
    other = Resource(name="o", path="/o", content_type="text/plain", size_bytes=3, weight=1)
    page = Page(name="mine", title="", resources=(stream, other))
    log = tmp_path / "access.jsonl"
    with running_origin(log, PAGE=str(page_file(tmp_path, page))) as port:
        began = time.monotonic()
        status, body, response = _get(port, "/s")
        took_s = time.monotonic() - began
        assert _get(port, "/o")[1] == b"..."
        assert len(_get(port, "/s", "HEAD")[1]) == 0
    assert (status, len(body), response.getheader("x-accel-buffering")) == (200, 167, "no")
    assert took_s >= 0.3
    entry = json.loads(log.read_text().splitlines()[0])
    assert entry["available_ns"] - entry["received_ns"] >= 100 * MS
    assert entry["handed_over_ns"] - entry["received_ns"] >= 300 * MS


@pytest.mark.parametrize("is_in_chunks", [True, False])
def test_headers_come_in_their_own_time(tmp_path: Path, *, is_in_chunks: bool) -> None:
    """The headers come at their own time, before the first byte, and the log has both times."""
    chunks = (Chunk(at_ns=600 * MS, size_bytes=4),) if is_in_chunks else ()
    events = Resource(
        name="s",
        path="/s",
        content_type="text/event-stream",
        size_bytes=4,
        weight=1,
        chunks=chunks,
        delay_ns=0 if is_in_chunks else 600 * MS,
        headers_ns=50 * MS,
        header_bytes=2000,
    )
    other = Resource(name="o", path="/o", content_type="text/plain", size_bytes=3, weight=1, delay_ns=100 * MS)
    page = Page(name="mine", title="", resources=(events, other))
    log = tmp_path / "access.jsonl"
    with running_origin(log, PAGE=str(page_file(tmp_path, page))) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        began = time.monotonic()
        connection.request("GET", "/s")
        response = connection.getresponse()
        headers_s = time.monotonic() - began
        assert (response.getheader("content-length"), len(response.read())) == ("4", 4)
        assert len(response.getheader("x-filler") or "") == 2000
        body_s = time.monotonic() - began
        connection.close()
        assert _get(port, "/o")[1] == b"..."
    assert 0.05 <= headers_s < 0.6 <= body_s
    entry, usual = (json.loads(line) for line in log.read_text().splitlines())
    assert 50 * MS <= entry["headers_ns"] - entry["received_ns"] < 600 * MS
    assert entry["available_ns"] - entry["received_ns"] >= 600 * MS
    assert list(usual) == ["method", "path", "received_ns", "available_ns", "status", "handed_over_ns", "aborted"]


def test_each_piece_comes_in_its_own_time(tmp_path: Path) -> None:
    """Each chunk arrives at its own time or later, and does not wait for the chunks after it."""
    chunks = (Chunk(at_ns=50 * MS, size_bytes=4, every_ns=150 * MS, count=3), Chunk(at_ns=500 * MS, size_bytes=9))
    stream = Resource(name="s", path="/s", content_type="text/event-stream", size_bytes=21, weight=1, chunks=chunks)
    other = Resource(name="o", path="/o", content_type="text/plain", size_bytes=3, weight=1, important=True)
    page = Page(name="mine", title="", resources=(stream, other))
    came_ms: list[float] = []
    with running_origin(tmp_path / "log", PAGE=str(page_file(tmp_path, page))) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        began = time.monotonic()
        connection.request("GET", "/s")
        response = connection.getresponse()
        for size in (4, 4, 4, 9):
            assert len(response.read(size)) == size
            came_ms.append((time.monotonic() - began) * 1000)
        assert response.read() == b""
        connection.close()
    due_ms = [50, 200, 350, 500]
    assert all(came >= due for came, due in zip(came_ms, due_ms, strict=True))
    assert came_ms[0] < due_ms[-1]


def test_a_header_field_of_a_given_size(tmp_path: Path) -> None:
    """Each response has the field with its size and another value, which no table can replace; others have none."""
    large = Resource(name="l", path="/l", content_type="text/plain", size_bytes=3, weight=1, header_bytes=3072)
    other = Resource(name="o", path="/o", content_type="text/plain", size_bytes=3, weight=1)
    page = Page(name="mine", title="", resources=(large, other))
    with running_origin(tmp_path / "access.jsonl", PAGE=str(page_file(tmp_path, page))) as port:
        first, second, none = (_get(port, path)[2].getheader("x-filler") for path in ("/l", "/l", "/o"))
    assert first is not None
    assert second is not None
    assert first != second
    assert (len(first), len(second), none) == (3072, 3072, None)
