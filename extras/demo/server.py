"""The demo's HTTP server, for one user of this machine.

Rules:
1. The server listens on 127.0.0.1, and refuses requests to other host names, because another site's name could resolve
   to 127.0.0.1.
2. Every request except for the page's own files needs a token. The token follows the `#` in the printed address;
   browsers do not send this part of an address. The page sends the token in a header field that pages of other sites
   cannot set.
3. A request names knobs of a scenario, or the number of a claim on a job. The page's files are read once, when the
   server starts; no request can name another file. Browsers keep nothing but the page's files, whose addresses in the
   front page have a digest of all files.
4. No client can delay another client: see connection.py.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from priolab.common.errors import LabError, ScenarioError, Unavailable
from priolab.common.formats.reading import FolderError
from priolab.extras.demo.arm_view import FinishedArm, document
from priolab.extras.demo.choices import live
from priolab.extras.demo.connection import TimedConnection
from priolab.extras.demo.finale import finale
from priolab.extras.demo.job import Claim, JobState, News
from priolab.extras.demo.job_queue import Busy, JobQueue
from priolab.extras.demo.listener import HOST
from priolab.extras.demo.recorded import in_tree, recorded, recorded_before
from priolab.extras.demo.story import steps
from priolab.extras.demo.summary import with_summary

NAMES = (HOST, "localhost")
TOKEN_HEADER = "x-priolab-token"  # noqa: S105  the name of a header field
PAGE = Path(__file__).resolve().parent / "page"

_KINDS: Mapping[str, str] = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_MOST_BYTES = 16 * 1024
_FIRST: tuple[dict[str, str], ...] = ({"LOWAT": "none"}, {})
_AHEAD_S = 1.0
"""Seconds to wait before reading ahead, so that the page itself is served first."""
_LAST_WORDS_S = 1
_GZIP_LEVEL = 4
"""The answers are hardly larger than with level 9, and take a quarter of the time."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_START = '<script type="module" src="/page/boot.js"></script>'
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_KEPT = {"cache-control": "private, max-age=31536000, immutable"}
"""For files whose address changes with their content."""

_Answer = Callable[[Request], Awaitable[Response]]


class DemoServer(uvicorn.Server):
    """The HTTP server. At a signal, it ends the jobs first, and then the responses that report the jobs' progress."""

    def __init__(self, queue: JobQueue, token: str, *, idle: bool, last: Mapping[str, Any] | None = None) -> None:
        """idle: True to run nothing before a visitor wants it; False to run the first arms at once, and stops ahead.

        last: the closing slide; None for one without an address.
        """
        self._queue = queue
        self._idle = idle
        config = uvicorn.Config(
            application(queue, token, ahead=not idle, last=last),
            http=TimedConnection,
            ws="none",
            log_level="warning",
            lifespan="on",
            timeout_graceful_shutdown=_LAST_WORDS_S,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the server, and the page's first arms unless idle."""
        await super().startup(sockets)
        for knobs in () if self._idle else _FIRST:
            with contextlib.suppress(LabError):  # the page gets the error when it requests the arm
                self._queue.ask(knobs)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Closes the queue, then the server."""
        await self._queue.close()
        await super().shutdown(sockets)


def application(
    queue: JobQueue, token: str, *, ahead: bool = False, last: Mapping[str, Any] | None = None
) -> Starlette:
    """Builds the application, for one event loop. The caller closes the queue.

    ahead: True to let the page run the stops of its slider beforehand. last: as in DemoServer.
    """
    files = {str(path.relative_to(PAGE)): path.read_bytes() for path in PAGE.rglob("*") if path.suffix in _KINDS}
    told = json.dumps({name: content.decode() for name, content in sorted(files.items())})
    digest = hashlib.sha256(told.encode()).hexdigest()[:16]
    front_page, policy = _front_page(files, digest)

    async def page(request: Request) -> Response:
        name = request.path_params.get("name")
        content = front_page if name is None else files.get(name)
        asked = request.path_params.get("digest")
        if content is None or asked not in (None, digest):
            raise HTTPException(404, "there is no such file")
        kind = _KINDS[Path(name or "index.html").suffix]
        own = _KEPT if asked else {} if name else {"content-security-policy": policy}
        return Response(content, media_type=kind, headers=own)

    async def choices(_: Request) -> Response:
        story = {"story": [step.as_document() for step in steps()], "closing": last or finale(None)}
        return _json({**await run_in_threadpool(live), **story, "ahead": ahead})

    async def before(_: Request) -> Response:
        return _json({"arms": await run_in_threadpool(recorded)})

    async def all_before(_: Request) -> Response:
        return _json({"arms": (await run_in_threadpool(in_tree)).arms})

    async def ask(request: Request) -> Response:
        knobs, background = await _wish(request)
        while True:
            try:
                answer = queue.ask(knobs, background=background)
            except Unavailable as lack:
                if (before := recorded_before(knobs)) is None:
                    raise
                return _json({"shown": {**before, "instead": str(lack)}})
            if isinstance(answer, Claim):
                return _json({"job": answer.number}, 202)
            try:
                return _json({"shown": await _shown(answer)})
            except FolderError:
                queue.forget(answer)

    async def news(request: Request) -> Response:
        claim = queue.claim(request.path_params["number"])
        return StreamingResponse(_lines(queue, claim), media_type="application/x-ndjson")

    async def cancel(request: Request) -> Response:
        queue.cancel(queue.claim(request.path_params["number"]))
        return _json({})

    def guarded(answer: _Answer) -> _Answer:
        async def guard(request: Request) -> Response:
            if not hmac.compare_digest(request.headers.get(TOKEN_HEADER, "").encode(), token.encode()):
                raise HTTPException(403, "the token is missing; open the address that the demo printed")
            return await answer(request)

        return guard

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        reading = asyncio.create_task(_read_ahead(queue))
        yield
        reading.cancel()

    made = Starlette(
        routes=[
            Route("/", page),
            Route("/page/{name}", page),
            Route("/page/{digest}/{name:path}", page),
            Route("/api/choices", guarded(choices)),
            Route("/api/recorded", guarded(before)),
            Route("/api/recordings", guarded(all_before)),
            Route("/api/arms", guarded(ask), methods=["POST"]),
            Route("/api/jobs/{number}/news", guarded(news)),
            Route("/api/jobs/{number}/cancel", guarded(cancel), methods=["POST"]),
        ],
        middleware=[
            Middleware(_Guarded),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(NAMES), www_redirect=False),
            Middleware(GZipMiddleware, compresslevel=_GZIP_LEVEL),
        ],
        exception_handlers={
            HTTPException: _refusal,
            Busy: _in_words(429),
            ScenarioError: _in_words(400),
            LabError: _in_words(409),
            FolderError: _in_words(500),
            ClientDisconnect: _in_words(400),  # the client does not read the answer
            Exception: _broken,
        },
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False
    return made


def _front_page(files: Mapping[str, bytes], digest: str) -> tuple[bytes, str]:
    """Returns the front page, which names files with their digest, and its policy.

    The module that loads the page again if a request is lost is in the page: so it is not lost itself.
    """
    place = f'"/page/{digest}/'
    start = files["boot.js"].decode().replace('"./', place)
    before, after = (
        text.replace('"/page/', place) for text in with_summary(files["index.html"].decode()).split(_START)
    )
    hashed = base64.b64encode(hashlib.sha256(start.encode()).digest()).decode()
    policy = _POLICY.replace("script-src 'self'", f"script-src 'self' 'sha256-{hashed}'")
    return f'{before}<script type="module">{start}</script>{after}'.encode(), policy


class _Guarded:
    """Adds to every answer header fields that restrict what the page may do in a browser."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({name: value for name, value in _HEADERS.items() if name not in headers})
            await send(message)

        await self._app(scope, receive, guarded)


async def _read_ahead(queue: JobQueue) -> None:
    """Reads the finished arms of the steps of a talk (story.toml) before the browser requests them."""
    await asyncio.sleep(_AHEAD_S)
    for step in steps():
        for knobs in step.arms:
            with contextlib.suppress(LabError, FolderError):
                if shown := queue.find(knobs):
                    await _shown(shown)


def _json(document: Any, status: int = 200) -> Response:
    # In ASCII, because text that a user typed may not be valid Unicode.
    return Response(json.dumps(document), status, media_type="application/json")


def _refusal(_: Request, error: Exception) -> Response:
    status, text = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, str(error))
    return _json({"error": text}, status)


def _broken(_: Request, __: Exception) -> Response:
    """Answers after a bug; the terminal has the traceback. Middleware adds no headers to this answer."""
    return Response('{"error": "the demo has failed; the terminal that runs it shows the error"}', 500, _HEADERS)


def _in_words(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _, error: _json({"error": str(error)}, status)


async def _wish(request: Request) -> tuple[dict[str, str], bool]:
    """Returns the knobs, and whether the arm is to be run beforehand. Raises ScenarioError.

    The body is `{"knobs": {NAME: VALUE}, "background": true}`; `background` may be missing.
    """
    allowed = 'a JSON object {"knobs": {NAME: "VALUE"}} of at most 16 KiB'
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise ScenarioError("the request", f"{len(body)} bytes and more", allowed)
    try:
        document = json.loads(body)
        knobs, background = document["knobs"], document.get("background", False)
        if not all(isinstance(value, str) for value in knobs.values()) or not isinstance(background, bool):
            raise TypeError("a value has the wrong type")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ScenarioError("the request", body[:40].decode(errors="replace"), allowed) from None
    return dict(knobs), background


async def _shown(shown: FinishedArm) -> dict[str, Any]:
    return await run_in_threadpool(document, shown)


async def _lines(queue: JobQueue, claim: Claim) -> AsyncIterator[str]:
    """Yields the job's progress, one line of JSON for each change; the last line has the finished arm, if any."""
    async with contextlib.aclosing(queue.news(claim)) as news:
        async for each in news:
            try:
                line = await _news(each)
            except FolderError as error:
                line = {"state": JobState.FAILED, "text": str(error), "wall_s": each.wall_s, "shown": None}
            yield json.dumps(line) + "\n"


async def _news(news: News) -> dict[str, Any]:
    shown = None if news.shown is None else await _shown(news.shown)
    return {"state": news.state, "text": news.text, "wall_s": news.wall_s, "shown": shown}
