"""Tests of WebDriver BiDi with a stand-in for the browser, over a real WebSocket."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from priolab.client.firefox.bidi import BidiError, session

_SOON_S = 5.0
_BROWSER = {"capabilities": {"browserName": "firefox", "browserVersion": "1.2"}}


def _answers(connection: ServerConnection) -> None:
    """Answers commands: `echo` after an event, `refuse` with an error, `hang` never; at `leave` the browser is gone."""
    for text in connection:
        asked = json.loads(text)
        number, method = asked["id"], asked["method"]
        match method:
            case "session.new":
                answer: dict[str, Any] = {"type": "success", "id": number, "result": _BROWSER}
            case "echo":
                connection.send(json.dumps({"type": "event", "method": "heard", "params": {"of": number}}))
                answer = {"type": "success", "id": number, "result": asked["params"]}
            case "refuse":
                answer = {"type": "error", "id": number, "error": "unknown command", "message": "no such\nline 2"}
            case "leave":
                connection.close()
                return
            case _:
                continue
        connection.send(json.dumps(answer))


@contextmanager
def _browser() -> Iterator[str]:
    with serve(_answers, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_results_and_events() -> None:
    """A command returns its result; an event that comes before the answer is passed on."""
    heard: list[tuple[str, Any]] = []
    with _browser() as address, session(address, lambda *event: heard.append(event)) as opened:
        assert opened.product == "Firefox 1.2"
        assert opened.command("echo", _SOON_S, word="x") == {"word": "x"}
    assert heard == [("heard", {"of": 2})]


@pytest.mark.parametrize(
    ("method", "timeout_s", "words"),
    [
        ("refuse", _SOON_S, "refuse: unknown command: no such"),
        ("hang", 0.05, "hang: no answer within 0.05 s"),
        ("leave", _SOON_S, "leave: the browser has gone"),
    ],
)
def test_what_goes_wrong_is_one_line(method: str, timeout_s: float, words: str) -> None:
    """An error, silence, and a browser that has gone are named with their command."""
    with _browser() as address, session(address, lambda *_: None) as opened, pytest.raises(BidiError) as caught:
        opened.command(method, timeout_s)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_nobody_listens() -> None:
    """Without a browser there is no connection."""
    with pytest.raises(BidiError, match="no connection to the browser"), session("ws://127.0.0.1:9", lambda *_: None):
        raise AssertionError
