"""Uploads that share a bottleneck: `upload.py serve`, or `upload.py send SECONDS`.

At the end of an upload the server says how much has come from each place since that upload began.
"""

import socket
import socketserver
import sys
import time
from collections import Counter

PORT = 9000
received: Counter[str] = Counter()


class Upload(socketserver.BaseRequestHandler):
    """An upload."""

    def handle(self) -> None:
        """Take it, and answer."""
        name = socket.gethostbyaddr(self.client_address[0])[0]
        begun, before = time.monotonic(), received.copy()
        while data := self.request.recv(65536):
            received[name] += len(data)
        took = time.monotonic() - begun
        for place in sorted(received):
            rate = (received[place] - before[place]) * 8 / took / 1e6
            self.request.sendall(f"from {place}: {rate:.2f} Mbit/s\n".encode())


def serve() -> None:
    """Take uploads."""
    with socketserver.ThreadingTCPServer(("", PORT), Upload) as server:
        server.serve_forever()


def send(seconds: float) -> None:
    """Send for so long, and print the server's answer."""
    with socket.create_connection(("server", PORT)) as connection:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.sendall(bytes(65536))
        connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(65536):
            print(data.decode(), end="")


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else send(float(sys.argv[2]))
