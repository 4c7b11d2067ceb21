"""Experiments for the demo, to be damaged (tests/support/damaged_input.py)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx

from priolab.extras.demo.job_queue import JobQueue
from priolab.extras.demo.server import TOKEN_HEADER, application
from tests.support.damaged_input import KINDS as _CORE
from tests.support.damaged_input import Kind


def _demo(here: Path) -> int:
    """Requests an arm as the demo's page does; the server must respond without an internal error."""

    async def ask() -> httpx.Response:
        queue = JobQueue(here, {"FABRIC": "virtual"}, 1)
        queue._carry_out = _nothing  # type: ignore[assignment, method-assign]
        way = httpx.ASGITransport(application(queue, token))
        async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as page:
            return await page.post("/api/arms", json={"knobs": {"LOWAT": "16384"}}, headers={TOKEN_HEADER: token})

    token = "token"
    answer = asyncio.run(ask())
    assert answer.status_code in (200, 202), answer.text
    json.loads(answer.text, parse_constant=_no_constant)
    return 0


async def _nothing(*_: Any) -> None:
    pass


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_AGAIN = _CORE["an experiment to use again"]
KINDS = {"an experiment of the demo": Kind(make=_AGAIN.make, commands=(_demo,), guest=True)}
