"""Tests of the demo's server: permissions, and effects that requests must not have."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import httpx
import pytest
from starlette.routing import Route

from priolab.common.errors import Unavailable
from priolab.experiments.execution.local import bearable
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.scenario.knobs import scenario_from
from priolab.extras.demo.job_queue import JobQueue
from priolab.extras.demo.server import PAGE, TOKEN_HEADER, application
from priolab.extras.demo.summary import with_summary
from priolab.extras.demo.tests.demonstration import Demo, demonstration
from tests.support.endings import Traces, nothing_is_left, words_of
from tests.support.lab import Lab, make_lab
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("guest")

_MOST_JOBS = 16
_SETTLE_S = 60.0
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECTED")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def _routes() -> list[Route]:
    """Return all routes of the demo, so that the tests cover new routes."""
    routes = application(JobQueue(Path("nowhere"), {}, 1), "").routes
    assert all(isinstance(route, Route) for route in routes)
    return [route for route in routes if isinstance(route, Route)]


def _path(route: Route) -> str:
    return (
        route.path.replace("{name}", "main.js")
        .replace("{name:path}", "main.js")
        .replace("{number}", "1")
        .replace("{digest}", "0")
    )


FILES = ("/", "/page/{name}", "/page/{digest}/{name:path}")
ACTIONS = [route for route in _routes() if route.path not in FILES]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Start a demo without any results."""
    with demonstration(make_lab(tmp_path_factory.mktemp("demo")), "FABRIC=virtual") as begun:
        yield begun


@pytest.fixture
def client(demo: Demo) -> Iterator[httpx.Client]:
    """Return an HTTP client that sends the demo's token."""
    with _client(demo) as asking:
        yield asking


def _client(demo: Demo) -> httpx.Client:
    return httpx.Client(base_url=demo.origin, headers={TOKEN_HEADER: demo.token}, timeout=60)


def _raw(demo: Demo, method: str, target: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Send a request with exactly this target and these headers, and return status, headers, and body."""
    connection = http.client.HTTPConnection("127.0.0.1", demo.port, timeout=60)
    try:
        connection.putrequest(method, "/", skip_host=True, skip_accept_encoding=True)
        connection._buffer[0] = f"{method} {target} HTTP/1.1".encode()  # type: ignore[attr-defined]
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def _is_guarded(headers: Mapping[str, str]) -> None:
    assert {name: headers.get(name) for name in _HEADERS} == _HEADERS
    policy = headers["content-security-policy"]
    assert re.match("default-src 'none'; script-src 'self'( 'sha256-[^' ]+')?; ", policy)
    assert "frame-ancestors 'none'" in policy
    assert not [name for name in headers if name.startswith("access-control-")]


def test_it_listens_on_this_machine_only(demo: Demo) -> None:
    """The demo listens on one socket, of 127.0.0.1."""
    inodes = {os.readlink(link) for link in Path(f"/proc/{demo.process.pid}/fd").iterdir() if link.is_symlink()}
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{demo.process.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                listening.append((table, fields[1]))
    assert listening == [("tcp", f"0100007F:{demo.port:04X}")]
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", demo.port))


@pytest.mark.parametrize(
    "host",
    ["elsewhere.example", "127.0.0.1.elsewhere.example", "localhost.elsewhere.example", "0.0.0.0", "[::1]", ""],
)
def test_it_answers_to_no_other_name(demo: Demo, host: str) -> None:
    """A request with another host name gets status 400 and no data, even if it has the token."""
    for port in ("", f":{demo.port}"):
        named = {"Host": f"{host}{port}"}
        for route in _routes():
            for method in route.methods or ():
                status, headers, body = _raw(demo, method, _path(route), {**named, TOKEN_HEADER: demo.token})
                assert status == 400, (route.path, body)
                _is_guarded(headers)
                assert demo.token.encode() not in body


_WITH_DIGEST = r'(?<="/page/)([0-9a-f]{16})/(?=(?:first\.js|style\.css|explain/explain\.css)")'


def _without_digest(front_page: str) -> str:
    text, count = re.subn(_WITH_DIGEST, "", front_page)
    assert count == 3
    start = (PAGE / "boot.js").read_text().replace('"./', '"/page/')
    return text.replace(f'<script type="module">{start}<', '<script type="module" src="/page/boot.js"><')


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:80"])
def test_it_answers_to_its_own(demo: Demo, host: str) -> None:
    """The demo accepts its own host names with any port, because a user may forward the port."""
    status, headers, body = _raw(demo, "GET", "/", {"Host": host})
    assert (status, _without_digest(body.decode())) == (200, with_summary((PAGE / "index.html").read_text()))
    _is_guarded(headers)


@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_nothing_is_done_without_the_token(demo: Demo, route: Route) -> None:
    """An action needs the complete token in the demo's own header.
    A token in a cookie, in the query or in `Authorization` does not count: other sites could make a browser send these.
    """
    token = demo.token
    tries: list[tuple[str, dict[str, str]]] = [
        ("", {}),
        ("", {TOKEN_HEADER: ""}),
        ("", {TOKEN_HEADER: token[:-1]}),
        ("", {TOKEN_HEADER: f"{token}x"}),
        ("", {TOKEN_HEADER: token.swapcase()}),
        ("", {"Cookie": f"{TOKEN_HEADER}={token}; token={token}"}),
        ("", {"Authorization": f"Bearer {token}"}),
        (f"?{TOKEN_HEADER}={token}&token={token}", {}),
    ]
    for method in route.methods or ():
        for query, headers in tries:
            status, answered, body = _raw(demo, method, _path(route) + query, {"Host": "127.0.0.1", **headers})
            assert status == 403, (method, query, headers, body)
            _is_guarded(answered)
            assert token.encode() not in body


@pytest.mark.parametrize("route", _routes(), ids=lambda route: route.path)
def test_other_methods_are_not_there(demo: Demo, client: httpx.Client, route: Route) -> None:
    """A method that a route does not have gets status 405 and changes nothing."""
    for method in set(_METHODS) - (route.methods or set()):
        response = client.request(method, _path(route))
        assert response.status_code == 405
        _is_guarded(response.headers)
    assert not list(demo.lab.results.iterdir())


def test_the_token_stands_in_no_answer(demo: Demo, client: httpx.Client) -> None:
    """The token is in no response. In the demo's output it is only in the line that gives it to the user."""
    for route in _routes():
        for method in route.methods or ():
            response = client.request(method, _path(route), content=b"{}")
            assert demo.token not in response.text + str(response.headers)
    for file in PAGE.iterdir():
        assert demo.token not in client.get(f"/page/{file.name}").text
    assert demo.log.read_text().count(demo.token) == 1


@pytest.mark.parametrize(
    "target",
    [
        "/page/../server.py",
        "/page/..%2fserver.py",
        "/page/..%2F..%2Fcli.py",
        "/page/%2e%2e/server.py",
        "/page/%2e%2e%2fserver.py",
        "/page/%252e%252e%252fserver.py",
        "/page/..%5cserver.py",
        "/page/....//server.py",
        "/page/%c0%ae%c0%ae/server.py",
        "/page//etc/passwd",
        "/page/%2fetc%2fpasswd",
        "/page/main.js%00.html",
        "/page/%00",
        "/page/",
        "/page/.",
        "/page/main.js/",
        "/page/MAIN.JS",
        "/page/jsconfig.json",
        "/page/types.d.ts",
        "/page",
        "//etc/passwd",
        "/../../../../etc/passwd",
        "/etc/passwd",
        "/story.toml",
        "/static/main.js",
        "/docs",
        "/openapi.json",
    ],
)
def test_no_request_names_a_file(demo: Demo, target: str) -> None:
    """The page's own files are served by their names. Any other path gets status 404, with any spelling."""
    status, headers, body = _raw(demo, "GET", target, {"Host": "127.0.0.1", TOKEN_HEADER: demo.token})
    assert status == 404, body
    assert set(json.loads(body)) == {"error"}
    _is_guarded(headers)


def test_the_page_is_there(client: httpx.Client) -> None:
    """Every file of the page is served with its content type, without a token."""
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
    served = [file for file in PAGE.iterdir() if file.suffix in kinds]
    assert len(served) > 10
    for file in served:
        response = client.get(f"/page/{file.name}", headers={TOKEN_HEADER: ""})
        assert (response.status_code, response.content) == (200, file.read_bytes())
        assert response.headers["content-type"].partition(";")[0] == kinds[file.suffix]
        _is_guarded(response.headers)


def test_browsers_keep_the_pages_files(client: httpx.Client) -> None:
    """The front page names files by a digest. Browsers may keep these; files with another digest are not there."""
    (digest,) = set(re.findall(_WITH_DIGEST, client.get("/").text))
    for name in ("boot.js", "main.js", "style.css", "explain/explanation.js"):
        response = client.get(f"/page/{digest}/{name}", headers={TOKEN_HEADER: ""})
        assert (response.status_code, response.content) == (200, (PAGE / name).read_bytes())
        assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
        _is_guarded({**response.headers, "cache-control": "no-store"})
        gone = client.get(f"/page/{digest[::-1]}/{name}")
        assert gone.status_code == 404
        _is_guarded(gone.headers)


BAD_KNOBS = [
    {"RESULTS": "/tmp/elsewhere"},
    {"FABRIC": "netns"},
    {"SHAPER": "ferry"},
    {"SCENARIO": "modem"},
    {"CONTROL": "yes"},
    {"REPEAT": "1000"},
    {"CAPTURE": "yes"},
    {"REUSE": "no"},
    {"LD_PRELOAD": "x"},
    {"--print-folder": ""},
    {"lowat": "131072"},
    {"": ""},
    {"LOWAT": "none,131072"},
    {"LOWAT": "131072,"},
    {"SERVER": "nginx,h2o"},
    {"RATE": "128kbps,256kbps"},
    {"SERVER": "../../../bin/sh"},
    {"SERVER": "nginx\nh2o"},
    {"LOWAT": "131072\nRESULTS=/tmp/elsewhere"},
    {"LOWAT": "131072 RESULTS=/tmp/elsewhere"},
    {"LOWAT": "131072\0"},
    {"LOWAT": "$(touch elsewhere)"},
    {"LOWAT": "`id`"},
    {"LOWAT": "1;id"},
    {"LOWAT": "| id"},
    {"LOWAT": "-1"},
    {"LOWAT": "9" * 5000},
    {"LOWAT": "\ud800"},
    {"LOWAT": "１３１０７２"},  # noqa: RUF001
    {"LOWAT": ""},
    {"DELAY": "1e400ms"},
    {"LOSS": "NaN%"},
    {"SIZE": "999999999999999999"},
]


@pytest.mark.parametrize("knobs", BAD_KNOBS, ids=lambda knobs: ascii(knobs)[:50])
def test_knobs_are_what_a_scenario_takes(demo: Demo, client: httpx.Client, knobs: Mapping[str, str]) -> None:
    """The demo refuses execution options, lists of values, and knobs that give no scenario.
    The error is one line, and nothing is started.
    """
    response = client.post("/api/arms", content=json.dumps({"knobs": knobs}))
    _is_refused(demo, response)


BAD_BODIES: Sequence[bytes] = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"knobs"',
    b"{}",
    b'{"knobs": null}',
    b'{"knobs": []}',
    b'{"knobs": "LOWAT"}',
    b'{"knobs": {"LOWAT": 131072}}',
    b'{"knobs": {"LOWAT": null}}',
    b'{"knobs": {"LOWAT": ["131072"]}}',
    b'{"knobs": {"LOWAT": {"a": "b"}}}',
    b'{"knobs": ' + b"9" * 10_000 + b"}",
    b'{"knobs": ' + b"[" * 16_000,
    b'{"a":' * 3000,
    b'{"knobs": {"LOWAT": "\xff\xfe"}}',
    b"\xff\xfe\x00",
    b"knobs=LOWAT",
    b" " * 17_000 + b'{"knobs": {}}',
    b"x" * 5_000_000,
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: f"{body[:24]!r} {len(body)}")
def test_a_body_is_one_object_of_texts(demo: Demo, client: httpx.Client, body: bytes) -> None:
    """The demo refuses a body that is too large or is not an object of texts."""
    _is_refused(demo, client.post("/api/arms", content=body))


def test_a_body_without_end(demo: Demo) -> None:
    """The demo answers as soon as the body is over the limit, without waiting for its end."""
    with socket.create_connection(("127.0.0.1", demo.port), timeout=60) as connection:
        head = f"POST /api/arms HTTP/1.1\r\nHost: 127.0.0.1\r\n{TOKEN_HEADER}: {demo.token}\r\n"
        connection.sendall(f"{head}Content-Length: 1000000000000\r\n\r\n".encode() + b"x" * 20_000)
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")


def _is_refused(demo: Demo, response: httpx.Response) -> None:
    assert response.status_code == 400, response.text
    assert set(response.json()) == {"error"}
    assert response.json()["error"]
    _is_guarded(response.headers)
    assert demo.token not in response.text
    assert not list(demo.lab.results.iterdir())
    assert _children(demo) == []
    assert not Path("/tmp/elsewhere").exists()


@pytest.mark.parametrize("number", ["0", "-1", "999999", "1.0", "x", "%00", "%0A", "1%20", "%D9%A1", "..", "a" * 5000])
def test_a_job_that_there_is_not(demo: Demo, client: httpx.Client, number: str) -> None:
    """News and cancellation of an unknown job get status 400."""
    for method, action in (("GET", "news"), ("POST", "cancel")):
        path = f"/api/jobs/{number}/{action}"
        status, headers, body = _raw(demo, method, path, {"Host": "127.0.0.1", TOKEN_HEADER: demo.token})
        assert status == 400, body
        assert len(body) < 300
        _is_guarded(headers)
    assert client.get("/api/choices").status_code == 200


def _children(demo: Demo) -> list[str]:
    """Return the command lines of the demo's child processes that carry out runs."""
    own = Path(f"/proc/{demo.process.pid}/task/{demo.process.pid}/children").read_text().split()
    return [words for pid in own if "priolab.experiments.command_server" in (words := words_of(int(pid)))]


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Demo, httpx.Client]]:
    """Start a demo for tests that start runs, and return it with an HTTP client."""
    with demonstration(make_lab(tmp_path), "FABRIC=virtual") as begun, _client(begun) as asking:
        yield begun, asking


def _at_once() -> int:
    return bearable([scenario_from({})], FABRICS["virtual"])


def test_only_so_many_at_once(busy: tuple[Demo, httpx.Client]) -> None:
    """The demo limits its child processes and its queue, and equal requests share a job.
    Cancelled jobs leave nothing behind.
    """
    demo, client = busy
    wishes = [{"knobs": {"LOWAT": str(5000 + number), "SIZE": "20M"}} for number in range(_MOST_JOBS + 1)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda wish: client.post("/api/arms", json=wish), wishes))
    accepted = [answer.json()["job"] for answer in answers if answer.status_code == 202]
    assert sorted(answer.status_code for answer in answers) == [202] * _MOST_JOBS + [429]
    assert len(set(accepted)) == _MOST_JOBS
    first = next(wish for wish, answer in zip(wishes, answers, strict=True) if answer.status_code == 202)
    again = client.post("/api/arms", json=first)
    assert again.status_code == 202, "it needs no job of its own"
    accepted.append(again.json()["job"])
    until(lambda: len(_children(demo)) == _at_once(), "they begin", limit_s=_SETTLE_S)
    for _ in range(20):
        assert len(_children(demo)) <= _at_once()
        time.sleep(0.05)
    for number in accepted:
        assert client.post(f"/api/jobs/{number}/cancel").status_code == 200
    until(lambda: not _children(demo), "they end", limit_s=_SETTLE_S)
    for number in accepted:
        (*_, last) = client.get(f"/api/jobs/{number}/news").text.splitlines()
        assert json.loads(last)["state"] == "cancelled"
    assert not list(demo.lab.results.glob("*.partial"))
    assert demo.experiments() == set()
    until(lambda: not any(demo.lab.temporary.iterdir()), "their scratch folders go", limit_s=_SETTLE_S)
    assert demo.end() == 128 + signal.SIGTERM
    nothing_is_left(demo.lab)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_nothing_outlives_the_demo(lab: Lab, number: signal.Signals) -> None:
    """If the demo ends by any signal, its run ends, too, and undoes its changes.
    Except after SIGKILL, a client that follows the news learns that the job was cancelled.
    """
    traces = Traces()
    with demonstration(lab, "FABRIC=virtual") as demo, _client(demo) as client:
        job = client.post("/api/arms", json={"knobs": {}}).json()["job"]
        heard = []
        with client.stream("GET", f"/api/jobs/{job}/news") as news:
            lines = news.iter_lines()
            for line in lines:
                heard.append(json.loads(line))
                traces.look(demo.process.pid)
                if "load 2" in heard[-1]["text"]:
                    break
            code = demo.end(number)
            if number is not signal.SIGKILL:
                heard += [json.loads(line) for line in lines]
        if number is signal.SIGKILL:
            assert code == -signal.SIGKILL
        else:
            assert code == 128 + number
            assert heard[-1]["state"] == "cancelled"
            assert "Traceback" not in demo.log.read_text()
            assert f"interrupted by {number.name}; results are in {lab.results}" in demo.log.read_text()
    nothing_is_left(lab)
    traces.must_be_gone()
    assert demo.experiments() == set()


def test_what_cannot_be_run_here_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm of a server that is not installed is answered with the recording of the tree, and with the reason."""
    lack = Unavailable("SERVER=haproxy", "haproxy is not installed", "install it")
    monkeypatch.setattr(JobQueue, "ask", lambda *_, **__: _raise(lack))

    async def asked(knobs: Mapping[str, str]) -> httpx.Response:
        way = httpx.ASGITransport(application(JobQueue(tmp_path, {}, 1), "token"))
        async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as page:
            return await page.post("/api/arms", json={"knobs": knobs}, headers={TOKEN_HEADER: "token"})

    answer = asyncio.run(asked({"SERVER": "haproxy", "LOWAT": "16384"}))
    assert answer.status_code == 200
    shown = answer.json()["shown"]
    assert shown["knobs"]["SERVER"] == "haproxy"
    assert shown["instead"] == str(lack)
    refused = asyncio.run(asked({"SERVER": "haproxy", "LOWAT": "12345"}))
    assert (refused.status_code, refused.json()) == (409, {"error": str(lack)})


def _raise(error: Exception) -> NoReturn:
    raise error
