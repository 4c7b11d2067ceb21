"""A gRPC call beside a large message on the same connection. `rpc.py serve`, or `rpc.py ping BYTES`.

Needs the Python package grpcio.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

ADDRESS, SERVICE = "server:7004", "lab.Messages"


def serve() -> None:
    """Answers a call of Ping with its own message, and one of Fetch with as many bytes as it asks for."""
    methods = {
        "Ping": grpc.unary_unary_rpc_method_handler(lambda message, _: message),
        "Fetch": grpc.unary_unary_rpc_method_handler(lambda message, _: bytes(int(message))),
    }
    server = grpc.server(ThreadPoolExecutor(4), handlers=[grpc.method_handlers_generic_handler(SERVICE, methods)])
    server.add_insecure_port(ADDRESS)
    server.start()
    server.wait_for_termination()


def ping(size_bytes: int) -> None:
    """Fetches a message, and prints how long calls take before and meanwhile."""
    with grpc.insecure_channel(ADDRESS, options=[("grpc.max_receive_message_length", -1)]) as channel:
        call, fetch = (channel.unary_unary(f"/{SERVICE}/{name}") for name in ("Ping", "Fetch"))

        def took_ms() -> float:
            begun = time.monotonic()
            call(b"ping")
            return (time.monotonic() - begun) * 1000

        call(b"connect")
        alone = took_ms()
        message = fetch.future(str(size_bytes).encode())
        beside = []
        while not message.done():
            beside.append(took_ms())
        print(f"{alone:.1f} ms alone, {max(beside):.1f} ms at most beside {len(message.result())} bytes")


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else ping(int(sys.argv[2]))
