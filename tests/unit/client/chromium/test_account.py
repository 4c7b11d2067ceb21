"""Tests of a browser's net log converted to a client's events.

The log is a real one of two small page loads, without the entries that the conversion does not read.
"""

import base64
import copy
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from priolab.client.browsers.browser_events import Account
from priolab.client.browsers.page_state import Shown
from priolab.client.browsers.record import Browser, document
from priolab.client.browsers.tls13 import (
    APPLICATION_DATA,
    Direction,
    Secrets,
    Unreadable,
    client_random,
    read_secrets,
)
from priolab.client.chromium.account import account
from priolab.client.chromium.browser import arguments
from priolab.client.chromium.netlog import RESOLUTION_NS, Netlog, NetlogError, keep, netlog_from, read
from priolab.client.http2.frames import priority_update
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Plan, read_plan
from priolab.proxy.certificates import issue

_FOLDER = Path(__file__).parent / "recorded"
_SIZE = 4096
_PAGE_SIZE = 558
_STREAM_WINDOW = 6_291_456

Log = dict[str, Any]


@pytest.fixture
def log() -> Log:
    """Returns a copy of the net log, which a test may change."""
    return copy.deepcopy(_LOG)


_LOG: Log = json.loads((_FOLDER / "netlog.json").read_text())


@pytest.fixture
def plan() -> Plan:
    """Returns the plan of the log: two loads."""
    return read_plan(_FOLDER / "plan.json")


@pytest.fixture
def secrets() -> Secrets:
    """Returns the TLS secrets of all connections in the log."""
    return read_secrets(_FOLDER / "keys.log")


@pytest.fixture
def made(log: Log, secrets: Secrets, plan: Plan) -> Account:
    """Returns the account of the whole log."""
    return account(netlog_from(log), secrets, plan)


def _browser(netlog: Netlog) -> Browser:
    """Returns the browser of the log, as browser.json describes it."""
    return Browser(
        product=netlog.product, switches=netlog.switches, driver="playwright", time_resolution_ns=RESOLUTION_NS
    )


def _of(made: Account, kind: Kind, load: int | None = None) -> list[Event]:
    return [event for event in made.events if event.kind is kind and load in (None, event.load)]


def test_loads_are_those_of_a_client(made: Account) -> None:
    """Each load begins with the page's request, ends with the last stream, and has all payload but no padding."""
    assert made.trouble is None
    assert made.events[0].kind is Kind.CONNECTED
    assert made.events[1].kind is Kind.SECURED
    assert [event.load for event in _of(made, Kind.LOAD_FINISHED)] == [1, 2]
    for load in (1, 2):
        sizes: dict[str | None, int] = {}
        for event in _of(made, Kind.DATA, load):
            sizes[event.resource] = sizes.get(event.resource, 0) + (event.size_bytes or 0)
        assert sizes == {"page": _PAGE_SIZE, "image": _SIZE, "script": _SIZE}
        assert next(event.resource for event in _of(made, Kind.ENDED, load)) == "page"
        assert {event.detail for event in _of(made, Kind.HEADERS, load)} == {"200"}


def test_what_came_has_its_place_in_the_stream(made: Account) -> None:
    """Events have the end of their TLS record in the TCP stream.

    The ends never decrease, and the last is the number of bytes that the socket received.
    """
    places = [event.tcp_bytes for event in made.events if event.kind in (Kind.HEADERS, Kind.DATA, Kind.DATA_HEADER)]
    assert all(earlier <= later for earlier, later in pairwise(place or 0 for place in places))
    (carrying,) = (each for each in made.connections if each.requests)
    assert places[-1] == made.arrivals[-1][1] == carrying.received_bytes
    assert all((event.record_ns or 0) <= event.t_ns for event in _of(made, Kind.DATA))
    assert all(earlier.t_ns <= later.t_ns for earlier, later in pairwise(made.events))


def test_priorities_are_told_with_the_requests(made: Account) -> None:
    """Requests have the signals of RFC 7540 and RFC 9218.

    The PRIORITY frame for the script, sent when the parser reaches it, is an event.
    """
    asked = {event.resource: event.detail for event in _of(made, Kind.REQUEST_SENT, 1)}
    assert asked == {
        "page": "weight=256 exclusive; priority: u=0, i",
        "image": "weight=183 exclusive; priority: u=2, i",
        "script": "weight=183 exclusive on image; priority: u=2",
    }
    assert [(event.resource, event.detail) for event in _of(made, Kind.PRIORITY_SENT, 1)] == [
        ("script", "weight=220 exclusive")
    ]
    assert made.frames_sent["PRIORITY"] == len(_of(made, Kind.PRIORITY_SENT))
    assert made.frames_sent["PRIORITY_UPDATE"] == 0


def test_the_record_says_what_was_asked(made: Account, plan: Plan, log: Log) -> None:
    """RFC 7540's tree puts the script first; RFC 9218's field puts neither image nor script first."""
    netlog = netlog_from(log)
    found = document(plan, _browser(netlog), made, [])
    assert found["asked_first"] == [
        {"load": load, "first": "script", "by_rfc7540": "script", "by_rfc9218": None} for load in (1, 2)
    ]
    assert [each["requests"] for each in found["connections"]] == [6, 0][: len(found["connections"])]
    assert any(f"value:{_STREAM_WINDOW}" in setting for setting in found["settings"])
    assert found["stream_window_bytes"] == _STREAM_WINDOW
    assert document(plan, _browser(netlog), replace(made, settings=[]), [])["stream_window_bytes"] == 65_535
    assert found["no_rfc7540_priorities"] is False
    script = next(each for each in found["requests"] if each["resource"] == "script")
    assert (script["weight"], script["depends_on"], script["field"]) == (183, "image", "u=2")
    assert [(later["weight"], later["depends_on"]) for later in script["later"]] == [(220, None)]
    json.dumps(found)


def _entries(log: Log, kind: str) -> list[dict[str, Any]]:
    number = log["constants"]["logEventTypes"][kind]
    return [event for event in log["events"] if event["type"] == number]


def test_what_is_said_in_one_millisecond_keeps_its_order(log: Log, secrets: Secrets, plan: Plan) -> None:
    """Signals with the same time count in the log's order.

    The script is raised, and then the image is put above it, so the image is first.
    """
    raised = _entries(log, "HTTP2_STREAM_SEND_PRIORITY")[-1]
    image = _entries(log, "HTTP2_SESSION_SEND_HEADERS")[-2]["params"]["stream_id"]
    above = copy.deepcopy(raised)
    above["params"] |= {"stream_id": image, "parent_stream_id": 0, "exclusive": True}
    log["events"].insert(log["events"].index(raised) + 1, above)
    for event in log["events"]:
        event["time"] = raised["time"]
    found = account(netlog_from(log), secrets, plan).asked(2, ("script", "image"))
    assert found is not None
    assert found.first == image


def test_the_command_line_is_told_without_paths_and_passwords(log: Log, plan: Plan, made: Account) -> None:
    """The record has the browser's switches; `...` replaces paths, and values with an @. Values may hold blanks."""
    log["constants"]["clientInfo"]["command_line"] = (
        "/usr/lib/chromium/chromium --headless --rules=MAP a 198.18.1.2:443, MAP * ~NOTFOUND --log=/home/me/netlog.json"
        " --proxy-server=me:secret@198.18.0.9 --flag-switches-begin"
    )
    netlog = netlog_from(log)
    told = ("--headless", "--rules=MAP a 198.18.1.2:443, MAP * ~NOTFOUND", "--log=...", "--proxy-server=...")
    assert document(plan, _browser(netlog), made, [])["switches"] == (*told, "--flag-switches-begin")


def _another_status(log: Log) -> None:
    last = _entries(log, "HTTP2_SESSION_RECV_HEADERS")[-1]
    last["params"]["headers"] = [":status: 502"]


def _no_end(log: Log) -> None:
    log["events"].remove(_entries(log, "SOCKET_BYTES_RECEIVED")[-1])


def _no_request(log: Log) -> None:
    for event in _entries(log, "HTTP2_SESSION_SEND_HEADERS"):
        log["events"].remove(event)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_another_status, "load 2 of 2: the front answered script with status 502"),
        (_no_end, "load 2 of 2: not all responses are complete; unfinished: script"),
        (_no_request, "the browser requested no page over HTTP/2 (ALPN: h2"),
    ],
)
def test_a_load_that_came_to_nothing_is_told(
    log: Log, secrets: Secrets, plan: Plan, spoil: Callable[[Log], None], words: str
) -> None:
    """`trouble` has the reason for a failed load: a status other than 200, an incomplete response, or no request."""
    spoil(log)
    made = account(netlog_from(log), secrets, plan)
    assert str(made.trouble).startswith(words)


def test_a_load_that_was_not_made_is_told(log: Log, secrets: Secrets, plan: Plan) -> None:
    """If the plan has three loads and the log has two, `trouble` names the third load."""
    trouble = account(netlog_from(log), secrets, replace(plan, loads=3)).trouble
    assert str(trouble) == "load 3 of 3: the browser did not request the page"


def test_without_its_secrets_a_connection_cannot_be_read(log: Log, plan: Plan) -> None:
    """Without TLS secrets the message names the missing secret."""
    with pytest.raises(Unreadable, match="no SERVER_HANDSHAKE_TRAFFIC_SECRET"):
        account(netlog_from(log), {}, plan)


def test_an_older_tls_cannot_be_read(log: Log, secrets: Secrets, plan: Plan) -> None:
    """A cipher suite older than TLS 1.3 is refused, with its number in the message."""
    for event in _entries(log, "SSL_CONNECT"):
        event.get("params", {}).update(cipher_suite=0xC02F)
    with pytest.raises(Unreadable, match="cipher suite 0xc02f"):
        account(netlog_from(log), secrets, plan)


def test_wrong_secrets_are_noticed(log: Log, secrets: Secrets, plan: Plan) -> None:
    """Wrong secrets raise Unreadable, because authenticated encryption detects another key."""
    wrong = {name: bytes(len(secret)) for name, secret in secrets.items()}
    with pytest.raises(Unreadable, match="do not decrypt"):
        account(netlog_from(log), wrong, plan)


@pytest.mark.parametrize(
    ("kind", "lacking"), [("SOCKET_BYTES_RECEIVED", "bytes"), ("HTTP2_SESSION_SEND_HEADERS", "weight")]
)
def test_a_log_that_lacks_something_is_refused(log: Log, secrets: Secrets, plan: Plan, kind: str, lacking: str) -> None:
    """A log without a required parameter, as of another version, is refused; the message names the parameter."""
    del _entries(log, kind)[0]["params"][lacking]
    with pytest.raises(NetlogError, match=f"not a net log of the expected form: KeyError\\('{lacking}'\\)"):
        account(netlog_from(log), secrets, plan)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"constants": {}, "events": []}'])
def test_what_is_no_net_log_is_refused(tmp_path: Path, text: str) -> None:
    """An incomplete or missing net log is refused; a browser that was killed leaves half of one."""
    file = tmp_path / "netlog.json"
    file.write_text(text)
    with pytest.raises(NetlogError):
        read(file)
    with pytest.raises(NetlogError, match="there is no net log"):
        read(tmp_path / "missing.json")


def test_it_is_kept_without_the_bytes(log: Log, tmp_path: Path) -> None:
    """The net log is kept compressed, with all entries, but without the sockets' bytes and without paths."""
    file = tmp_path / "netlog.json.gz"
    events = len(log["events"])
    log["constants"]["clientInfo"]["command_line"] = "/usr/bin/chromium --log=/home/me/netlog.json --headless"
    keep(log, file)
    kept = json.loads(gzip.decompress(file.read_bytes()))
    assert len(kept["events"]) == events
    assert kept["constants"]["clientInfo"]["command_line"] == "--log=... --headless"
    assert not any("bytes" in event.get("params", {}) for event in kept["events"])
    assert any("byte_count" in event.get("params", {}) for event in kept["events"])


def test_only_the_front_is_resolved_and_trusted(plan: Plan, tmp_path: Path) -> None:
    """The browser resolves the front's name alone, trusts its certificate's key, and uses no proxy of the user."""
    words = arguments(plan, issue(tmp_path, plan.server_name, seed=1).chain, tmp_path)
    assert "--host-resolver-rules=MAP maps.test 198.18.1.2:443, MAP * ~NOTFOUND" in words
    (trusted,) = (word for word in words if "spki" in word)
    assert len(trusted.partition("=")[2]) == 44
    assert "--no-proxy-server" in words


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, None),
        ({"image_complete": False}, "load 1: the page did not render the picture"),
        ({"scripts_ran": False}, "load 1: the script did not run"),
        ({"styled": False}, "load 1: a style sheet does not apply"),
        ({"fetched": False}, "load 1: the page did not receive all resources that its script fetched"),
    ],
)
def test_what_a_page_must_show(changed: dict[str, Any], words: str | None) -> None:
    """`trouble` names the first thing that is missing from the page after a load."""
    shown = Shown(
        load=1,
        image_complete=True,
        image_width=8,
        image_height=8,
        image_painted_ms=None,
        script_output="the script ran 1.00 s after the page was asked for",
        scripts_ran=True,
        styled=True,
        fetched=True,
    )
    assert replace(shown, **changed).trouble == words


def _encrypted(log: Log, secrets: Secrets, plaintext: bytes) -> bytes:
    """Returns the TLS record with this plaintext that the browser would have sent next."""
    sent = b"".join(base64.b64decode(event["params"]["bytes"]) for event in _entries(log, "SOCKET_BYTES_SENT")[:-2])
    direction = Direction(secrets, "CLIENT", client_random(sent), 0x1301)
    list(direction.feed(sent, 0))
    (key,) = direction._keys
    inner = plaintext + bytes([APPLICATION_DATA])
    header = bytes([APPLICATION_DATA, 3, 3]) + (len(inner) + 16).to_bytes(2)
    nonce = (key._iv ^ key._opened).to_bytes(12)
    return header + key._cipher.encrypt(nonce, inner, header)


def test_a_priority_update_is_read_from_what_was_sent(log: Log, secrets: Secrets, plan: Plan) -> None:
    """A PRIORITY_UPDATE frame is read from the bytes sent, because the net log has no entry for it."""
    last = _entries(log, "HTTP2_SESSION_SEND_HEADERS")[-1]["params"]["stream_id"]
    *earlier, one, other = _entries(log, "SOCKET_BYTES_SENT")
    record = _encrypted(log, secrets, priority_update(last, "u=1"))
    one["params"] = {"byte_count": len(record), "bytes": base64.b64encode(record).decode()}
    log["events"].remove(other)
    assert earlier
    made = account(netlog_from(log), secrets, plan)
    assert made.frames_sent["PRIORITY_UPDATE"] == 1
    assert "u=1" in [saying.field for saying in made.sayings if saying.stream_id == last]
    found = made.asked(2, ("script", "image"))
    assert found is not None
    assert found.by_field == last
    assert (last, "priority: u=1") in [(event.stream_id, event.detail) for event in _of(made, Kind.PRIORITY_SENT)]
