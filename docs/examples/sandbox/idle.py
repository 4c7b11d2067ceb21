"""A connection that the server closes when it was idle for 5 s. `idle.py serve`, or `idle.py ask`."""

import select
import sys
import time
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

IDLE_S = 5


class Page(BaseHTTPRequestHandler):
    """Answers every request with an empty page."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    def do_GET(self) -> None:
        """Answers a request."""
        self.send_response(204)
        self.end_headers()


def answered(pause_s: float) -> bool:
    """Returns False if a second request on a connection fails that was still open, after a pause."""
    connection = HTTPConnection("server", timeout=30)
    connection.request("GET", "/")
    connection.getresponse().read()
    time.sleep(pause_s)
    is_closed = connection.sock in select.select([connection.sock], [], [], 0)[0]
    try:
        if not is_closed:
            connection.request("GET", "/")
            connection.getresponse()
        return True
    except (HTTPException, OSError):
        return False
    finally:
        connection.close()


def ask() -> None:
    """Tries pauses of 4.8 s to 5.2 s, and prints those after which a request fails."""
    pauses = [pause / 1000 for pause in range(4800, 5200, 10)]
    lost = [pause for pause in pauses if not answered(pause)]
    print(f"requests fail after pauses of {lost[0]:.2f} s to {lost[-1]:.2f} s")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        ThreadingHTTPServer(("", 80), Page).serve_forever()
    ask()
