"""Speaks WebDriver with the program that drives a browser: commands and their results.

The protocol is JSON over HTTP. See https://www.w3.org/TR/webdriver2/.
"""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

_OPEN_S = 120.0
_CLOSE_S = 20.0
_SPARE_S = 5.0


class WebDriverError(Exception):
    """The browser refused a command, did not answer in time, or has gone. The text says which command, and why."""


class Session:
    """A session with a browser. capabilities: the browser's description of itself."""

    def __init__(self, port: int, number: str, capabilities: Mapping[str, Any]) -> None:
        self.capabilities = capabilities
        self._port = port
        self._path = f"/session/{number}"

    def set_timeout(self, timeout_s: float) -> None:
        """Sets the longest time for a page load, and for a script. Raises WebDriverError."""
        timeout_ms = round(timeout_s * 1000)
        self.command("timeouts", _SPARE_S, pageLoad=timeout_ms, script=timeout_ms)

    def command(self, name: str, timeout_s: float, **params: Any) -> Any:
        """Carries out a command; returns its result. Raises WebDriverError.

        timeout_s: the time in which the browser ends the command; the answer may take some seconds more.
        """
        return ask(self._port, "POST", f"{self._path}/{name}", timeout_s + _SPARE_S, params)

    def close(self) -> None:
        """Ends the session, and with it the browser. Raises WebDriverError."""
        ask(self._port, "DELETE", self._path, _CLOSE_S)


def ask(port: int, method: str, path: str, timeout_s: float, body: Mapping[str, Any] | None = None) -> Any:
    """Carries out a command of the driver on this port of this machine; returns its result. Raises WebDriverError."""
    name = path.rpartition("/")[2] if body is not None else f"{method} {path.split('/')[1]}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        value = json.loads(connection.getresponse().read())["value"]
    except TimeoutError:
        raise WebDriverError(f"{name}: no answer within {timeout_s:g} s") from None
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        raise WebDriverError(f"{name}: the browser's driver has gone: {error!r}") from error
    finally:
        connection.close()
    if isinstance(value, dict) and "error" in value:
        raise WebDriverError(": ".join(filter(None, (name, value["error"], _first_line(value.get("message"))))))
    return value


def _first_line(text: str | None) -> str:
    return next(iter((text or "").splitlines()), "")


@contextmanager
def session(port: int, capabilities: Mapping[str, Any]) -> Iterator[Session]:
    """Opens a session, which starts the browser. Ends the session, if the context closes without an exception.

    port: the driver's. Raises WebDriverError.
    """
    made = ask(port, "POST", "/session", _OPEN_S, {"capabilities": {"alwaysMatch": capabilities}})
    opened = Session(port, made["sessionId"], made["capabilities"])
    try:
        yield opened
    except BaseException:
        with suppress(WebDriverError):
            opened.close()
        raise
    opened.close()
