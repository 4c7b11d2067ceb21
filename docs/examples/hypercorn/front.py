"""A reverse proxy, as an ASGI application for hypercorn. The environment variable ORIGIN has the origin's HOST:PORT."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import h11

_HOST, _, _PORT = os.environ["ORIGIN"].rpartition(":")
_READ_BYTES = 65_536
_NOT_PASSED_ON = (b"connection", b"keep-alive", b"transfer-encoding")
"""Header fields that HTTP/2 does not have."""


async def app(scope: dict[str, Any], _: object, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    """Answers a request for a resource with the origin's response. Passes the response on as it comes."""
    if scope["type"] != "http":
        return
    http = h11.Connection(h11.CLIENT)
    reader, writer = await asyncio.open_connection(_HOST, int(_PORT))
    try:
        writer.write((http.send(_request(scope)) or b"") + (http.send(h11.EndOfMessage()) or b""))
        while not isinstance(event := http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                http.receive_data(await reader.read(_READ_BYTES))
            elif isinstance(event, h11.Response):
                fields = [each for each in event.headers if each[0] not in _NOT_PASSED_ON]
                await send({"type": "http.response.start", "status": event.status_code, "headers": fields})
            elif isinstance(event, h11.Data):
                await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        writer.close()


def _request(scope: dict[str, Any]) -> h11.Request:
    """Returns the request for the origin: for the path and the query that the client requests."""
    query = scope["query_string"]
    target = scope["raw_path"] + (b"?" + query if query else b"")
    fields = [(b"host", dict(scope["headers"])[b"host"]), (b"connection", b"close")]
    return h11.Request(method=scope["method"], target=target, headers=fields)
