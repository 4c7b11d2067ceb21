"""Speaks WebDriver BiDi with a browser: commands and their results, and events in between.

The protocol is JSON over a WebSocket. See https://www.w3.org/TR/webdriver-bidi/.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

_MOST_BYTES = 2**24
_OPEN_S = 60.0

Event = Mapping[str, Any]


class BidiError(Exception):
    """The browser refused a command, did not answer in time, or has gone. The text says which command, and why."""


class Session:
    """A session with a browser. product: the browser's name and version."""

    def __init__(self, connection: ClientConnection, heard: Callable[[str, Event], None]) -> None:
        """heard: called with the name and the parameters of each event, as soon as it arrives."""
        self.product = ""
        self._connection = connection
        self._heard = heard
        self._last = 0

    def command(self, method: str, timeout_s: float, **params: Any) -> Mapping[str, Any]:
        """Carries out a command; returns its result. Events that arrive before the answer are passed on.

        Raises BidiError.
        """
        self._last += 1
        try:
            self._connection.send(json.dumps({"id": self._last, "method": method, "params": params}))
            due_s = time.monotonic() + timeout_s
            while True:
                message = json.loads(self._connection.recv(timeout=max(0.0, due_s - time.monotonic())))
                if message.get("id") == self._last:
                    break
                if message.get("type") == "event":
                    self._heard(message["method"], message["params"])
        except TimeoutError:
            raise BidiError(f"{method}: no answer within {timeout_s:g} s") from None
        except (OSError, WebSocketException) as error:
            raise BidiError(f"{method}: the browser has gone: {error}") from error
        if message["type"] == "error":
            raise BidiError(f"{method}: {message['error']}: {message['message'].splitlines()[0]}")
        result: Mapping[str, Any] = message["result"]
        return result


@contextmanager
def session(address: str, heard: Callable[[str, Event], None]) -> Iterator[Session]:
    """Opens a session. address: the WebSocket that the browser named. Raises BidiError."""
    try:
        connection = connect(
            f"{address}/session", max_size=_MOST_BYTES, open_timeout=_OPEN_S, proxy=None, compression=None
        )
    except (OSError, WebSocketException) as error:
        raise BidiError(f"no connection to the browser: {error}") from error
    with connection:
        opened = Session(connection, heard)
        browser = opened.command("session.new", _OPEN_S, capabilities={})["capabilities"]
        opened.product = f"{browser['browserName'].capitalize()} {browser['browserVersion']}"
        yield opened
