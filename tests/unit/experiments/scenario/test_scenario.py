"""Tests of scenarios made from knobs, and of their records in results."""

import json
from dataclasses import asdict

import pytest

from priolab.client.plan import PlanKind
from priolab.client.priorities import Priorities
from priolab.common.errors import ScenarioError
from priolab.common.formats.scenario import ClientKind, ScenarioRecord
from priolab.experiments.scenario.knobs import KNOBS, scenario_from
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem import link_options
from priolab.netem.link import Link
from priolab.netem.link_options import LINK_OPTIONS
from priolab.proxy.server import catalogue
from priolab.testbed.topology.end_settings import CongestionControl, FrontQdisc
from tests.support.pages import maps_page


def test_defaults_are_the_maps_case() -> None:
    """The default scenario is the Maps case."""
    assert scenario_from({}) == Scenario(
        server="nginx",
        via=None,
        program=None,
        config=None,
        native="off",
        buffering="on",
        record_bytes=None,
        lowat=131_072,
        target_delay_ns=None,
        sndbuf_bytes=4 * 2**20,
        congestion_control=CongestionControl.CUBIC,
        gso_segments=None,
        **Link(rate_bit_s=1_024_000, delay_ns=300_000_000, queue_packets=25).as_document(),
        cross=0,
        cross_cc=None,
        client=ClientKind.H2,
        page="maps",
        resources=maps_page().resources,
        full_page=maps_page(),
        plan=PlanKind.LOADS,
        first=None,
        priorities=Priorities.SPDY,
        dialect="plain",
        size_bytes=716_800,
        script_delay_ns=200_000_000,
        reloads=2,
        window_bytes=2**24,
        connection_window_bytes=None,
        front_qdisc=None,
    )


def test_over_spdy_there_is_one_dialect() -> None:
    """SPDY servers support only DIALECT=plain, and the error says so with the reason."""
    assert scenario_from({"SERVER": "spdy", "DIALECT": "plain"}).server == "spdy"
    with pytest.raises(ScenarioError, match=r"^DIALECT=chrome .* allowed: plain with SERVER=spdy-strict: a SPDY"):
        scenario_from({"SERVER": "spdy-strict", "DIALECT": "chrome"})


def test_each_default_is_allowed() -> None:
    """Giving every knob its default value changes nothing."""
    assert scenario_from({name: knob.default for name, knob in KNOBS.items()}) == scenario_from({})


@pytest.mark.parametrize(
    ("knobs", "field", "value"),
    [
        ({"LOWAT": "none"}, "lowat", None),
        ({"LOWAT": "16k"}, "lowat", 16_384),
        ({"LOWAT": "4294967295"}, "lowat", 4_294_967_295),
        ({"SNDBUF": "stock"}, "sndbuf_bytes", None),
        ({"SNDBUF": "4k"}, "sndbuf_bytes", 4096),
        ({"GSO": "2"}, "gso_segments", 2),
        ({"RECORD": "1400"}, "record_bytes", 1400),
        ({"RECORD": "16k"}, "record_bytes", 16_384),
        ({"FRONT_QDISC": "fq"}, "front_qdisc", FrontQdisc.FQ),
        ({"RATE": "128kbit"}, "rate_bit_s", 128_000),
        ({"RATE": "unlimited"}, "rate_bit_s", None),
        ({"DELAY": "0.2s"}, "delay_ns", 200_000_000),
        ({"DELAY_UP": "20ms"}, "delay_up_ns", 20_000_000),
        ({"QUEUE": "1bdp"}, "queue_bytes", 38_400),
        ({"QUEUE": "7"}, "queue_packets", 7),
        ({"LOSS": "1%"}, "loss", 0.01),
        ({"JITTER": "300ms"}, "jitter_ns", 300_000_000),
        ({"SERVER": "h2o", "NATIVE": "on"}, "native", "on"),
        ({"BUFFERING": "off"}, "buffering", "off"),
        ({"CC": " bbr "}, "congestion_control", "bbr"),
        ({"PRIORITY": "swap"}, "priorities", "swap"),
        ({"CLIENT": "chromium"}, "client", "chromium"),
        ({"SIZE": "64M"}, "size_bytes", 2**26),
        ({"JS_DELAY": "0ms"}, "script_delay_ns", 0),
        ({"RELOADS": "0"}, "reloads", 0),
        ({"WINDOW": "65535"}, "window_bytes", 65_535),
        ({"CONNECTION_WINDOW": "1M"}, "connection_window_bytes", 2**20),
    ],
)
def test_a_knob_reaches_its_field(knobs: dict[str, str], field: str, value: object) -> None:
    """Each knob changes its own field and no other."""
    document = asdict(scenario_from(knobs))
    assert document[field] == value
    defaults = asdict(scenario_from({}))
    others = {"server"} if "SERVER" in knobs else set()
    others |= {"resources"} if {"SIZE", "JS_DELAY"} & knobs.keys() else set()
    assert {name for name in document if document[name] != defaults[name]} == {field} | others


def test_the_target_is_autos() -> None:
    """TARGET_DELAY is recorded with LOWAT=auto, and is null otherwise."""
    document = asdict(scenario_from({"LOWAT": "auto", "TARGET_DELAY": "20ms"}))
    assert (document["lowat"], document["target_delay_ns"]) == ("auto", 20_000_000)
    assert scenario_from({"LOWAT": "auto"}).lowat_bytes is None
    assert asdict(scenario_from({"TARGET_DELAY": "20ms"}))["target_delay_ns"] is None
    for wrong in ("0ms", "11s", "50", "auto"):
        with pytest.raises(ScenarioError, match="TARGET_DELAY"):
            scenario_from({"TARGET_DELAY": wrong})


@pytest.mark.parametrize(
    ("knobs", "culprit", "allowed"),
    [
        ({"LOWAT": "abc"}, "LOWAT=abc", "1 to 4294967295 bytes, or none"),
        ({"LOWAT": "-1"}, "LOWAT=-1", "1 to 4294967295 bytes, or none"),
        ({"LOWAT": "0"}, "LOWAT=0", "1 to 4294967295 bytes, or none"),
        ({"LOWAT": "5e9"}, "LOWAT=5e9", "1 to 4294967295 bytes, or none"),
        ({"LOWAT": "4294967296"}, "LOWAT=4294967296", "1 to 4294967295 bytes, or none"),
        ({"LOWAT": ""}, "LOWAT=", "1 to 4294967295 bytes, or none"),
        ({"RATE": "fast"}, "RATE=fast", "128kbps (kilobytes) or 128kbit (kilobits)"),
        ({"RATE": "0"}, "RATE=0", "from 1kbit to 100gbit; or unlimited"),
        ({"RATE": "128"}, "RATE=128", "a tc rate"),
        ({"SERVER": "iis"}, "SERVER=iis", ", ".join(catalogue())),
        ({"QUEUE": "0"}, "QUEUE=0", "1 to 100000 packets"),
        ({"QUEUE": "100001"}, "QUEUE=100001", "1 to 100000 packets"),
        ({"DELAY": "300"}, "DELAY=300", "a tc time such as 300ms or 0.3s"),
        ({"DELAY": "61s"}, "DELAY=61s", "0ms, or 1us to 60s"),
        ({"NATIVE": "on"}, "NATIVE=on", "off with SERVER=nginx"),
        ({"NATIVE": "maybe"}, "NATIVE=maybe", "on, off"),
        ({"BUFFERING": "maybe"}, "BUFFERING=maybe", "on, off"),
        ({"BUFFERING": "off", "SERVER": "h2o"}, "BUFFERING=off", "on with SERVER=h2o"),
        ({"JITTER": "400ms"}, "JITTER=400ms", "at most DELAY"),
        ({"DELAY": "10ms", "JITTER": "11ms"}, "JITTER=11ms", "at most DELAY"),
        ({"LOSS_BURST": "5"}, "LOSS_BURST=5", "none, the only value with LOSS=0%"),
        ({"REORDER": "1%", "DELAY": "0ms"}, "REORDER=1%", "0% is the only value with DELAY=0ms"),
        ({"FRONT_QDISC": "mq"}, "FRONT_QDISC=mq", "fq, fq_codel, pfifo_fast, or stock"),
        ({"QDISC": "codel"}, "QDISC=codel", "fifo, fq_codel, fq, cake, pie, dualpi2"),
        ({"QDISC": "pie", "RATE": "unlimited"}, "QDISC=pie", "fifo is the only value with RATE=unlimited"),
        ({"QDISC": "pie", "QUEUE": "1"}, "QDISC=pie", "fifo is the only value with RATE=unlimited or QUEUE=1"),
        ({"ECN": "on"}, "ECN=on", "off; or on, with QDISC=fq_codel or cake or pie or dualpi2"),
        ({"ECN": "on", "QDISC": "fq"}, "ECN=on", "off; or on, with QDISC=fq_codel"),
        ({"CROSS": "33"}, "CROSS=33", "0 to 32 flows"),
        ({"CROSS": "1", "RATE": "unlimited"}, "CROSS=1", "0 with RATE=unlimited"),
        ({"CROSS": "1", "PLAN": "probe", "RELOADS": "0"}, "CROSS=1", "0 with PLAN=probe"),
        ({"CROSS_CC": "vegas"}, "CROSS_CC=vegas", "cubic, bbr, reno"),
        ({"LOSS": "1"}, "LOSS=1", "0% to 50%, with the percent sign"),
        ({"LOSS": "51%"}, "LOSS=51%", "0% to 50%"),
        ({"SNDBUF": "4095"}, "SNDBUF=4095", "4k to 1024M bytes, or stock"),
        ({"CC": "vegas"}, "CC=vegas", "cubic, bbr, reno"),
        ({"GSO": "65536"}, "GSO=65536", "1 to 65535 segments, or stock"),
        ({"PRIORITY": "high"}, "PRIORITY=high", "spdy, swap, none"),
        ({"SIZE": "2047"}, "SIZE=2047", "2048 bytes to 64M"),
        ({"JS_DELAY": "200"}, "JS_DELAY=200", "whole milliseconds such as 200ms"),
        ({"JS_DELAY": "0.5ms"}, "JS_DELAY=0.5ms", "whole milliseconds such as 200ms"),
        ({"QUEUE": "1kb"}, "QUEUE=1kb", "from 1514b (a full packet) to 151400000b"),
        ({"QUEUE": "0bdp"}, "QUEUE=0bdp", "such as 1bdp or 0.5bdp"),
        ({"QUEUE": "0ms"}, "QUEUE=0ms", "a time at the rate, such as 200ms"),
        ({"QUEUE": "200ms", "RATE": "unlimited"}, "QUEUE=200ms", "such as 25 or 30kb, with an unlimited rate"),
        ({"QUEUE": "1bdp", "RATE": "unlimited"}, "QUEUE=1bdp", "such as 25 or 30kb, with an unlimited rate"),
        ({"QUEUE": "50bdp", "RATE": "1gbit"}, "QUEUE=50bdp", "at most 151400000 bytes; with this link it would have"),
        ({"QUEUE": "30kb", "QDISC": "fq_codel"}, "QUEUE=30kb", "with QDISC=fq_codel, whose limit counts packets"),
        ({"QUEUE": "1bdp", "QDISC": "cake"}, "QUEUE=1bdp", "with QDISC=cake, whose limit counts memory"),
        ({"VIA": "nginx", "VIA_QUEUE": "1bdp"}, "VIA_QUEUE=1bdp", "with an unlimited rate"),
        ({"RELOADS": "101"}, "RELOADS=101", "0 to 100"),
        ({"RATE_STEPS": "fast@2s"}, "RATE_STEPS=fast@2s", "up to 16 steps RATE@TIME"),
        ({"RATE_STEPS": "1mbit@2s", "QUEUE": "1"}, "RATE_STEPS=1mbit@2s", "the only value with RATE=unlimited"),
        ({"JITTER": "301ms"}, "JITTER=301ms", "at most DELAY"),
        ({"CONNECTION_WINDOW": "64000"}, "CONNECTION_WINDOW=64000", "65535 bytes to 2047M, or as-window"),
        (
            {"CONNECTION_WINDOW": "1M", "PLAN": "probe", "RELOADS": "0"},
            "CONNECTION_WINDOW=1M",
            "as-window with PLAN=probe",
        ),
        ({"WINDOW": "2g"}, "WINDOW=2g", "65535 bytes to 2047M"),
        ({"DIALECT": "plain+chrome"}, "DIALECT=plain+chrome", "parts joined by +: at most one of plain, chrome"),
        ({"CLIENT": "lynx"}, "CLIENT=lynx", "h2, chromium, firefox, webkit"),
        (
            {"CLIENT": "firefox", "SIZE": "13M"},
            "SIZE=13M",
            "at most 12M per resource with CLIENT=firefox: Firefox's flow",
        ),
        (
            {"CLIENT": "webkit", "SIZE": "33M"},
            "SIZE=33M",
            "at most 32M per resource with CLIENT=webkit: WebKitGTK's flow",
        ),
        (
            {"CLIENT": "firefox", "DIALECT": "firefox"},
            "DIALECT=firefox",
            "plain with CLIENT=firefox: Firefox has its own",
        ),
        (
            {"CLIENT": "chromium", "PRIORITY": "swap"},
            "PRIORITY=swap",
            "spdy with CLIENT=chromium: Chromium has its own",
        ),
        ({"CLIENT": "chromium", "DIALECT": "chrome"}, "DIALECT=chrome", "plain with CLIENT=chromium: Chromium has its"),
        ({"CLIENT": "chromium", "FIRST": "script"}, "FIRST=script", "as-written with CLIENT=chromium: Chromium keeps"),
        ({"CLIENT": "chromium", "CONNECTION_WINDOW": "1M"}, "CONNECTION_WINDOW=1M", "as-window with CLIENT=chromium"),
        ({"CLIENT": "chromium", "WINDOW": "1M"}, "WINDOW=1M", "16M with CLIENT=chromium: Chromium sets its"),
        (
            {"CLIENT": "chromium", "SIZE": "7M"},
            "SIZE=7M",
            "at most 6M per resource with CLIENT=chromium: Chromium's flow-control window",
        ),
        (
            {"CLIENT": "chromium", "RATE_STEPS": "1mbit@2s", "RELOADS": "0"},
            "RATE_STEPS=1mbit@2s",
            "none with CLIENT=chromium and RELOADS=0: the first load begins before the connection exists",
        ),
        ({"CLIENT": "chromium", "SERVER": "spdy"}, "SERVER=spdy", "with CLIENT=chromium, a server that uses HTTP/2"),
        ({"CLIENT": "chromium", "SERVER": "caddy-h3"}, "SERVER=caddy-h3", "a server that uses HTTP/2 over TCP"),
        ({"CLIENT": "chromium", "PLAN": "probe", "RELOADS": "0"}, "PLAN=probe", "loads with CLIENT=chromium: Chromium"),
        ({"PLAN": "race"}, "PLAN=race", "loads, probe"),
        ({"FIRST": "page"}, "FIRST=page", "image, script, or as-written"),
        (
            {"PAGE": "nobody"},
            "PAGE=nobody",
            "downloads, late, maps, mixed, news, pair, signals, six, strong, tokens, turns, twins, or a path that ends",
        ),
        ({"PAGE": "news", "SIZE": "1M"}, "SIZE=1M", "the default with PAGE=news, which does not use SIZE"),
        ({"PAGE": "six", "CLIENT": "chromium"}, "PAGE=six", "with CLIENT=chromium, a page that begins with HTML"),
        ({"PAGE": "news", "PLAN": "probe", "RELOADS": "0"}, "PAGE=news", "a page with one important resource"),
        ({"PLAN": "probe"}, "RELOADS=2", "0 with PLAN=probe; SCENARIO=probe sets what a probe needs"),
        ({"DISTURB": "reset"}, "DISTURB=reset", "none with PLAN=loads"),
        ({"DISTURB": "resets"}, "DISTURB=resets", "reset, connection, or none"),
        (
            {"PLAN": "probe", "RELOADS": "0", "DISTURB": "reset"},
            "DISTURB=reset",
            "with a page on which no resource waits",
        ),
        ({"PLAN": "probe", "RELOADS": "0", "SIZE": "100k"}, "SIZE=100k", "at least 262144 bytes with PLAN=probe"),
        ({"PLAN": "probe", "RELOADS": "0", "RATE_STEPS": "1mbit@2s"}, "RATE_STEPS=1mbit@2s", "none with PLAN=probe"),
        ({"PLAN": "probe", "RELOADS": "0", "LOSS": "1%"}, "LOSS=1%", "0% with PLAN=probe"),
    ],
)
def test_bad_input(knobs: dict[str, str], culprit: str, allowed: str) -> None:
    """The error names the knob, the value, and what is allowed."""
    with pytest.raises(ScenarioError) as caught:
        scenario_from(knobs)
    text = str(caught.value)
    assert text.startswith(f"{culprit} is not allowed; allowed: ")
    assert allowed in text


@pytest.mark.parametrize("name", ["LOWATT", "lowat", "CONTROL", ""])
def test_unknown_knob(name: str) -> None:
    """The error for an unknown knob lists all knobs."""
    with pytest.raises(ScenarioError) as caught:
        scenario_from({name: "1"})
    assert str(caught.value).startswith(name)
    assert all(known in str(caught.value) for known in KNOBS)


@pytest.mark.parametrize(("lowat", "recorded"), [("131072", 131_072), ("none", None)])
def test_document_is_flat_json(lowat: str, recorded: int | None) -> None:
    """The record consists of plain values, except for the page's resources. `lowat` is in bytes or null."""
    document = asdict(scenario_from({"LOWAT": lowat, "RATE_STEPS": "1mbit@2s"}))
    resources = document.pop("resources")
    assert [each["name"] for each in resources] == ["page", "image", "script"]
    assert all(value is None or isinstance(value, str | int | float) for value in document.values())
    assert document["lowat"] == recorded
    assert document["rate_steps"] == "1000000bit@2000000000ns"
    assert {"server", "rate_bit_s", "delay_ns", "queue_packets", "congestion_control"} <= set(document)
    assert not {"link", "lowat_bytes"} & set(document)


@pytest.mark.parametrize(
    "knobs", [{}, {"RATE_STEPS": "1mbit@2s", "ECN": "on", "QDISC": "pie"}, {"VIA": "h2o", "VIA_RATE": "1mbit"}]
)
def test_a_scenario_is_what_is_read_back(knobs: dict[str, str]) -> None:
    """The record that is read from a scenario's document has its fields, and makes the same link."""
    scenario = scenario_from(knobs)
    record = ScenarioRecord.read(json.loads(json.dumps(asdict(scenario))))
    assert asdict(record) == asdict(scenario)
    assert list(asdict(record)) == list(asdict(scenario))
    assert scenario.link == link_options.link_from({name: each for name, each in knobs.items() if name in LINK_OPTIONS})


@pytest.mark.parametrize("value", ["511", "16385", "17k", "none"])
def test_a_record_is_as_large_as_tls_allows(value: str) -> None:
    """RECORD is at most the 16384 bytes that TLS allows, and at least 512, so that headers stay a small part."""
    with pytest.raises(ScenarioError, match=f"^RECORD={value} is not allowed; allowed: 512 to 16384 bytes, or stock"):
        scenario_from({"RECORD": value})


def test_not_every_server_has_a_record_size() -> None:
    """The error for a server without RECORD names the servers that have it."""
    with pytest.raises(ScenarioError, match=r"^RECORD=1400 .* stock with SERVER=h2o.* SERVER=haproxy or nginx"):
        scenario_from({"SERVER": "h2o", "RECORD": "1400"})
    assert scenario_from({"SERVER": "h2o", "RECORD": "stock"}).record_bytes is None
