"""A small HTTP/2 client: prints when the first byte of the script came, for each time at which it is ready.

    client.py LOADS WAIT_MS...

For each WAIT_MS it makes a connection, loads the page on it LOADS times, and prints the milliseconds from the last
load's begin to the first byte of its script. The script has the larger weight (RFC 7540).
"""

import socket
import ssl
import sys
import time

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, StreamEnded
from h2.settings import SettingCodes
from hyperframe.frame import DataFrame

WEIGHTS = {"page": 256, "image": 147, "script": 183}
WINDOW_BYTES = 16 * 1024**2
DataFrame.__repr__ = object.__repr__  # type: ignore[method-assign]  # h2 formats each received frame, for no log


def connected() -> tuple[ssl.SSLSocket, H2Connection]:
    """Returns a connection to the server, whose certificate nobody checks."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    tls = context.wrap_socket(socket.create_connection(("server", 443)), server_hostname="server")
    http = H2Connection(H2Configuration(client_side=True))
    http.initiate_connection()
    http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES, SettingCodes.ENABLE_PUSH: 0})
    http.increment_flow_control_window(WINDOW_BYTES)
    return tls, http


def first_byte_s(tls: ssl.SSLSocket, http: H2Connection, wait_ms: str) -> float:
    """Loads the page; returns the time from its request to the first byte of its script."""
    names: dict[int, str] = {}

    def ask(name: str, path: str) -> None:
        stream = http.get_next_available_stream_id()
        fields = ((":method", "GET"), (":scheme", "https"), (":authority", "server"), (":path", path))
        http.send_headers(stream, fields, end_stream=True, priority_weight=WEIGHTS[name])
        names[stream] = name

    begun_s, first_s, left = time.monotonic(), 0.0, {"page", "image", "script"}
    ask("page", "/page")
    while left:
        tls.sendall(http.data_to_send())
        read = tls.recv(65_536)
        if not read:
            sys.exit(f"the server closed the connection; still expected: {', '.join(sorted(left))}")
        for event in http.receive_data(read):
            name = names.get(getattr(event, "stream_id", 0))
            if isinstance(event, DataReceived):
                first_s = first_s or (time.monotonic() - begun_s if name == "script" else 0.0)
                http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded) and name:
                left.remove(name)
                if name == "page":
                    ask("image", "/image")
                    ask("script", f"/script/{wait_ms}")
    return first_s


if __name__ == "__main__":
    for each in sys.argv[2:]:
        connection = connected()
        times_s = [first_byte_s(*connection, each) for _ in range(int(sys.argv[1]))]
        print(f"{times_s[-1] * 1000:.3f}")
        connection[0].close()
