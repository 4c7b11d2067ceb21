"""Makes browser.json: the browser, its connections and priority signals, and the state of each page after its load."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from priolab.client.browsers.browser_events import Account, SentRequest, initial_window_bytes
from priolab.client.browsers.page_state import Shown, may_sandbox
from priolab.common.formats.plan import Plan
from priolab.common.priority_signals import Asked, Saying

FORMAT = 1
_NO_RFC7540_PRIORITIES = "id:9 "


@dataclass(frozen=True, kw_only=True)
class Browser:
    """The browser that loaded the pages.

    product: its name and version. switches: its command line; `...` replaces paths. driver: the Python package that
    drives it; None if the lab itself does. time_resolution_ns: the resolution of the times in its record. preferences:
    those that the lab sets.
    """

    product: str
    switches: Sequence[str]
    driver: str | None
    time_resolution_ns: int
    preferences: Mapping[str, bool | int | str] | None = None


def document(plan: Plan, browser: Browser, account: Account, shown: Sequence[Shown]) -> dict[str, Any]:
    """Returns the content of browser.json; docs/reference/results.md describes it."""
    names = {sent.stream_id: sent.resource for sent in account.requests}
    loads = range(1, plan.loads + 1)
    compared = [each[0].name for each in (plan.page.important, plan.page.others) if each]
    return {
        "format": FORMAT,
        "product": browser.product,
        "switches": browser.switches,
        **({} if browser.preferences is None else {"preferences": browser.preferences}),
        **({} if browser.driver is None else {browser.driver: version(browser.driver)}),
        "sandbox": may_sandbox(),
        "time_resolution_ns": browser.time_resolution_ns,
        "connections": [asdict(connection) for connection in account.connections],
        "settings": account.settings,
        "no_rfc7540_priorities": any(_NO_RFC7540_PRIORITIES in setting for setting in account.settings),
        "stream_window_bytes": account.stream_window_bytes or initial_window_bytes(account.settings),
        "connection_window_bytes": account.connection_window_bytes,
        "server_settings": account.server_settings,
        "frames_sent": dict(account.frames_sent),
        "requests": [_request(sent, account, names) for sent in account.requests],
        "asked_first": [_asked(number, account.asked(number, compared), names) for number in loads],
        "pages": [asdict(page) for page in shown],
    }


def _request(sent: SentRequest, account: Account, names: Mapping[int, str]) -> dict[str, Any]:
    with_request, *later = (saying for saying in account.sayings if saying.stream_id == sent.stream_id)
    return {
        "load": sent.load,
        "resource": sent.resource,
        "path": sent.path,
        "stream_id": sent.stream_id,
        **_said(with_request, names),
        "later": [_said(saying, names) for saying in later],
    }


def _said(saying: Saying, names: Mapping[int, str]) -> dict[str, Any]:
    """Returns a priority signal in the form that browser.json needs. names: the name of the resource of each stream.

    The value of `depends_on` is the name of the parent's resource. The value is None if the parent is the root or a
    stream without a resource, or if the signal does not change RFC 7540's tree.
    """
    found = {"t_ns": saying.t_ns, "weight": saying.weight, "exclusive": saying.exclusive, "field": saying.field}
    return found | {"depends_on": names.get(saying.depends_on), "parent_stream_id": saying.depends_on}


def _asked(number: int, asked: Asked | None, names: Mapping[int, str]) -> dict[str, Any]:
    if asked is None:
        return {"load": number, "first": None, "by_rfc7540": None, "by_rfc9218": None}

    def name(stream_id: int | None) -> str | None:
        return None if stream_id is None else names[stream_id]

    return {
        "load": number,
        "first": name(asked.first),
        "by_rfc7540": name(asked.by_tree),
        "by_rfc9218": name(asked.by_field),
    }
