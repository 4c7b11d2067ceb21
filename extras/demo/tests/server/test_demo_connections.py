"""Tests of the demo's connections: slow clients, many clients, and other clients that are served meanwhile."""

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.execution.request import Request
from priolab.extras.demo import connection
from priolab.extras.demo.connection import MOST, TimedConnection
from priolab.extras.demo.job import Claim, DemoJob, News
from priolab.extras.demo.job_queue import JobQueue
from priolab.extras.demo.listener import listening
from priolab.extras.demo.server import PAGE, TOKEN_HEADER, DemoServer
from priolab.extras.demo.summary import with_summary

_SOON_S = 30.0
_SHORT_S = 0.3
_TOKEN = "t0ken"
_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
_POST = f"POST /api/arms HTTP/1.1\r\nHost: localhost\r\n{TOKEN_HEADER}: {_TOKEN}\r\nContent-Length: 90\r\n\r\n".encode()
_REFUSED = _POST.replace(TOKEN_HEADER.encode(), b"x-other")
_NEWS = f"GET /api/jobs/1/news HTTP/1.1\r\nHost: localhost\r\n{TOKEN_HEADER}: {_TOKEN}\r\n\r\n".encode()
_PIECE = "x" * 2**15
_PIECES = 400
_BODY = with_summary((PAGE / "index.html").read_text()).encode().partition(b"<body")[2]

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Telling(JobQueue):
    """A job queue with one job, whose news are the texts that `tell` yields."""

    def __init__(self, tell: Callable[[], AsyncGenerator[str, None]]) -> None:
        super().__init__(Path("nowhere"), {}, 1)
        self._tell = tell

    def claim(self, number: str) -> Claim:
        """Return a claim on the queue's only job, under any number."""
        return Claim(number=number, job=DemoJob(request=Request.__new__(Request), words=()))

    async def news(self, claim: Claim) -> AsyncGenerator[News, None]:
        """Yield each text as one piece of news."""
        async for text in self._tell():
            yield News(state=claim.job.state, text=text, wall_s=0.0, shown=None)


async def _long() -> AsyncGenerator[str, None]:
    for _ in range(_PIECES):
        yield _PIECE


@asynccontextmanager
async def _served(
    queue: JobQueue | None = None,
) -> AsyncIterator[tuple[DemoServer, Callable[[], Coroutine[Any, Any, Client]]]]:
    """Start a server; return it and a function that opens a connection to it."""
    server = DemoServer(queue or JobQueue(Path("nowhere"), {}, 1), _TOKEN, idle=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        opened: list[asyncio.StreamWriter] = []

        async def opening() -> Client:
            client = await asyncio.open_connection("127.0.0.1", port)
            opened.append(client[1])
            return client

        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield server, opening
        finally:
            for writer in opened:
                writer.transport.abort()
            server.should_exit = True
            await serving


def _run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, _SOON_S))


async def _head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def _is_closed(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(2**16):
            pass
    except ConnectionResetError:
        pass


async def _page_is_there(opening: Callable[[], Coroutine[Any, Any, Client]]) -> None:
    reader, writer = await opening()
    writer.write(_GET)
    head = await _head(reader)
    assert head.startswith(b"HTTP/1.1 200 ")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None, head
    body = await reader.readexactly(int(length[1]))
    assert body.partition(b"<body")[2] == _BODY


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"", []),
        (_GET[:-2], []),
        (_GET, [b"200"]),
        (_GET + _GET[:-2], [b"200"]),
        (_POST + b'{"knobs"', []),
        (_REFUSED, [b"403"]),
    ],
    ids=["nothing", "half a header", "one request", "one and a half", "half a body", "no body, refused"],
)
def test_a_request_that_does_not_come(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], sent: bytes, statuses: list[bytes]
) -> None:
    """The server closes a connection if its request stays incomplete, even if bytes keep trickling in.
    It first answers the requests that were complete.
    """
    monkeypatch.setattr(connection, "_REQUEST_S", _SHORT_S)

    async def trickle(writer: asyncio.StreamWriter) -> None:
        while sent and sent != _GET:  # another byte, so that uvicorn's own time-out does not expire
            await asyncio.sleep(_SHORT_S / 10)
            writer.write(b"x")

    async def scene() -> None:
        async with _served() as (_, opening):
            reader, writer = await opening()
            writer.write(sent)
            trickling = asyncio.create_task(trickle(writer))
            for status in statuses:
                head = await _head(reader)
                assert head.startswith(b"HTTP/1.1 " + status)
            await _is_closed(reader)
            trickling.cancel()

    _run(scene())
    assert "Traceback" not in capfd.readouterr().err


def test_many_slow_clients() -> None:
    """The server keeps at most MOST connections. It closes the oldest slow one, and a new client gets the page."""

    async def scene() -> None:
        async with _served() as (server, opening):
            slow = [await opening() for _ in range(3 * MOST)]
            for _, writer in slow:
                writer.write(_GET[:-2])
            await _page_is_there(opening)
            assert len(server.server_state.connections) <= MOST
            await _is_closed(slow[0][0])
            assert not slow[-1][0].at_eof()

    _run(scene())


def _news_go_on_while_another_connection_is_closed() -> None:
    """Opens a connection for news, and another one, which the server closes. Then the news have their end."""
    closed = asyncio.Event()

    async def waiting() -> AsyncGenerator[str, None]:
        yield "first"
        await closed.wait()
        yield "last"

    async def scene() -> None:
        async with _served(_Telling(waiting)) as (_, opening):
            reader, writer = await opening()
            writer.write(_NEWS)
            await reader.readuntil(b'"first"')
            other, _ = await opening()
            await _is_closed(other)
            closed.set()
            await reader.readuntil(b'"last"')

    _run(scene())


def test_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the connection limit, the server closes a new connection and not one with a response in progress."""
    monkeypatch.setattr(connection, "MOST", 1)
    _news_go_on_while_another_connection_is_closed()


def test_an_answer_may_take_longer_than_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit for a request does not apply to a response.
    A response with news goes on while a connection that was opened later times out before its request is complete.
    """
    monkeypatch.setattr(connection, "_REQUEST_S", _SHORT_S)
    _news_go_on_while_another_connection_is_closed()


def test_a_slow_reader_holds_nobody_up() -> None:
    """While one client reads none of the news, another client receives all of them, and the page is served."""

    async def scene() -> None:
        async with _served(_Telling(_long)) as (server, opening):
            slow, its_writer = await opening()
            slow._transport.pause_reading()  # type: ignore[attr-defined]
            its_writer.write(_NEWS)
            quick, writer = await opening()
            writer.write(_NEWS)
            for _ in range(_PIECES):
                await quick.readuntil(b'"shown": null}\n')
            await _page_is_there(opening)
            connections = [each for each in server.server_state.connections if isinstance(each, TimedConnection)]
            assert any(each.flow.write_paused for each in connections)

    _run(scene())


async def _nodelay() -> int:
    """Returns TCP_NODELAY of a connection that asyncio has accepted on the demo's socket."""
    found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listening("0") as listener:
        async with await asyncio.start_server(accepted, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            async with asyncio.timeout(_SOON_S):
                value = await found
            writer.close()
            await writer.wait_closed()
    return value


def test_the_end_of_an_answer_does_not_wait() -> None:
    """The demo's connections send small writes at once: with Nagle's algorithm each answer would end 40 ms later."""
    assert asyncio.run(_nodelay()) != 0
