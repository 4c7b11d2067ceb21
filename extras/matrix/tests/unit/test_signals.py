"""Tests of the words for what a client sends."""

import pytest

from priolab.client import dialects
from priolab.client.plan import page_plan
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.plan import Plan
from priolab.extras.matrix.signals import signal_words

PAGE = Page(
    name="two",
    title="two",
    resources=(
        Resource(
            name="image", path="/i", content_type="image/jpeg", size_bytes=1, urgency=5, incremental=True, weight=147
        ),
        Resource(
            name="script",
            path="/s",
            content_type="text/javascript",
            size_bytes=1,
            urgency=2,
            weight=183,
            important=True,
        ),
    ),
)


def plan_in(dialect: str) -> Plan:
    """Return the plan of a client that asks for the script first."""
    return page_plan(
        PAGE,
        address="10.0.0.1",
        port=443,
        server_name="front",
        authority="front",
        priorities=Priorities.SPDY,
        dialect=dialects.parse(dialect),
        reloads=0,
        window_bytes=65536,
        steps=None,
        load_deadline_ns=1,
    )


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        (
            "chrome",
            [
                "HEADERS, image: weight 147, depends on the root, exclusive",
                "HEADERS, script: weight 183, depends on the root, exclusive",
            ],
        ),
        (
            "header+no7540",
            [
                "SETTINGS: SETTINGS_NO_RFC7540_PRIORITIES=1",
                "HEADERS, image: priority: u=5, i",
                "HEADERS, script: priority: u=2",
            ],
        ),
        (
            "update",
            [
                "HEADERS, image: no priority",
                "HEADERS, script: no priority",
                "PRIORITY_UPDATE, script: u=2",
                "PRIORITY_UPDATE, image: u=5, i",
            ],
        ),
    ],
)
def test_words(dialect: str, words: list[str]) -> None:
    """Settings, requests and later changes are told in the order in which the client sends them."""
    assert list(signal_words(plan_in(dialect))) == words


def test_groups() -> None:
    """Firefox's groups are told before the requests, with their streams."""
    told = signal_words(plan_in("firefox"))
    assert told[0] == "PRIORITY, stream 3, group leader: weight 201, depends on the root"
    assert told[-1] == "HEADERS, script: weight 32, depends on leader"
