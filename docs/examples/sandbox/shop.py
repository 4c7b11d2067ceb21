"""A shop that takes orders by POST. One with a header Idempotency-Key that it knows is the same order."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


class Shop(BaseHTTPRequestHandler):
    """Numbers the orders, and answers with the number."""

    orders: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        """Takes an order."""
        key = self.headers["Idempotency-Key"]
        if key is None or key not in self.orders:
            self.orders.append(key)
        number = f"order {len(self.orders)}\n".encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(number)))
        self.end_headers()
        self.wfile.write(number)


if __name__ == "__main__":
    ThreadingHTTPServer(("", 80), Shop).serve_forever()
