"""A small origin: /page, /image, and /script, which is ready after a time.

    origin.py BYTES      BYTES: the size of image and script

The path /script/226 is a script that is ready 226 ms after its request.
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPES = {"page": "text/html", "image": "image/jpeg", "script": "text/javascript"}
PAGE_BYTES = 500


class Origin(BaseHTTPRequestHandler):
    """Answers a request with as many bytes as the command says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise a body can wait for the delayed acknowledgment of its header

    def do_GET(self) -> None:
        """Answers when the resource is ready."""
        name, _, wait_ms = self.path.strip("/").partition("/")
        time.sleep(int(wait_ms or 0) / 1000)
        body = bytes(PAGE_BYTES if name == "page" else int(sys.argv[1]))
        self.send_response(200)
        self.send_header("Content-Type", TYPES[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Writes no log."""


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Origin).serve_forever()
