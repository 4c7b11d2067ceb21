"""Tests of WebDriver with a stand-in for the browser's driver, over real HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from priolab.client.webkit.webdriver import WebDriverError, ask, session

_SOON_S = 5.0
_ASKED = {"acceptInsecureCerts": False}
_LATE_S = 0.3


class _Driver(BaseHTTPRequestHandler):
    """Answers commands: `echo` with its parameters, `refuse` with an error, `hang` late, and `leave` not at all."""

    heard: list[tuple[str, str]]

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        self.heard.append((self.command, self.path))
        status, value = 200, body
        match self.path.rpartition("/")[2]:
            case "session":
                value = {"sessionId": "7", "capabilities": {"asked": body["capabilities"]["alwaysMatch"]}}
            case "refuse":
                status, value = 404, {"error": "unknown command", "message": "no such\nline 2", "stacktrace": ""}
            case "hang":
                time.sleep(_LATE_S)
            case "leave":
                self.close_connection = True
                return
        answer = json.dumps({"value": value}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - names of the library

    def log_message(self, *_: Any) -> None:
        """Writes no log."""


@contextmanager
def _driver() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yields the stand-in's port, and the commands that it has heard."""
    heard: list[tuple[str, str]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Driver", (_Driver,), {"heard": heard})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()
            thread.join()


def test_a_session_and_its_end() -> None:
    """A session asks for its capabilities, carries out commands, and ends the browser."""
    with _driver() as (port, heard):
        with session(port, _ASKED) as opened:
            assert opened.capabilities == {"asked": _ASKED}
            assert opened.command("echo", _SOON_S, word="x") == {"word": "x"}
            opened.set_timeout(1.5)
        assert heard == [
            ("POST", "/session"),
            ("POST", "/session/7/echo"),
            ("POST", "/session/7/timeouts"),
            ("DELETE", "/session/7"),
        ]


def test_a_session_that_fails_ends_the_browser() -> None:
    """The browser is ended after an exception, too, which is passed on."""
    with _driver() as (port, heard):
        with pytest.raises(ZeroDivisionError), session(port, _ASKED):
            raise ZeroDivisionError
        assert heard[-1] == ("DELETE", "/session/7")


@pytest.mark.parametrize(
    ("path", "timeout_s", "words"),
    [
        ("/session/7/refuse", _SOON_S, "refuse: unknown command: no such"),
        ("/session/7/hang", 0.05, "hang: no answer within 0.05 s"),
        ("/session/7/leave", _SOON_S, "leave: the browser's driver has gone"),
    ],
)
def test_what_goes_wrong_is_one_line(path: str, timeout_s: float, words: str) -> None:
    """An error, silence, and a driver that has gone are named with their command."""
    with _driver() as (port, _), pytest.raises(WebDriverError) as caught:
        ask(port, "POST", path, timeout_s, {})
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_nobody_listens() -> None:
    """Without a driver there is no session."""
    with pytest.raises(WebDriverError, match="session: the browser's driver has gone"), session(9, _ASKED):
        raise AssertionError
