"""The demo's listening socket on 127.0.0.1: on the usual port, a free port, or the port that the user chooses."""

import socket

from priolab.common.errors import ScenarioError, StepFailed

HOST = "127.0.0.1"
USUAL_PORT = 8399
_LARGEST_PORT = 65535


def listening(asked: str | None) -> socket.socket:
    """Listens on a port, and returns the socket. Raises ScenarioError, StepFailed.

    asked: the port; None for the usual port, or a free port if the usual one is taken.
    """
    if asked is None:
        try:
            return _bound(USUAL_PORT)
        except OSError:  # the port is taken
            return _bound(0)
    if not asked.isascii() or not asked.isdigit() or int(asked) > _LARGEST_PORT:
        raise ScenarioError("--port", asked, f"0 to {_LARGEST_PORT}")
    try:
        return _bound(int(asked))
    except OSError as error:
        raise StepFailed(
            "the demo", f"port {asked} of {HOST}: {error.strerror}; --port chooses another port"
        ) from error


def _bound(port: int) -> socket.socket:
    # asyncio sends small writes at once (TCP_NODELAY) only for a socket that says that it is one of TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # so that the address can be used as soon as it is shown
    except OSError:
        listener.close()
        raise
    return listener
