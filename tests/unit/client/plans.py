"""Plans of page loads."""

from typing import Any

from priolab.client.dialects import PLAIN
from priolab.client.plan import page_plan
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Plan


def plan_of(page: Page, **changes: Any) -> Plan:
    usual: dict[str, Any] = {
        "address": "198.18.1.2",
        "port": 443,
        "server_name": "mine.test",
        "priorities": Priorities.SPDY,
        "dialect": PLAIN,
        "reloads": 0,
        "window_bytes": 2**24,
        "load_deadline_ns": 1,
    }
    return page_plan(page, **usual | changes)
