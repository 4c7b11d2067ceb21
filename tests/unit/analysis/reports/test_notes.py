"""Tests of the advice on knobs that have no effect, or another effect than their name says."""

from dataclasses import fields, replace
from typing import Any

import pytest

from priolab.analysis.reports.notes import advice
from priolab.common.formats.run import LedgerRecord, LimitsRecord, OtherBytes
from tests.support.builders import load_record, run


def sentences(knobs: dict[str, str], **saw: Any) -> list[str]:
    return advice(run(knobs=knobs, **saw).record)


def test_the_maps_case_needs_no_advice() -> None:
    """If every knob has its effect, there is no advice, neither for the treatment nor for the control."""
    assert sentences({}) == []
    assert sentences({"LOWAT": "none"}, notsent_most_bytes=3_000_000) == []


def test_stock_send_buffer() -> None:
    """If the stock send buffer never grew beyond four times LOWAT, the advice is to set SNDBUF."""
    stock = {"SNDBUF": "stock"}
    (sentence,) = sentences(stock, sndbuf_most_bytes=4 * 131_072 - 1)
    assert sentence.startswith("SNDBUF=stock: LOWAT=131072")
    assert "524287 bytes" in sentence
    assert "SNDBUF=4M" in sentence
    assert sentences(stock, sndbuf_most_bytes=4 * 131_072) == []
    assert sentences(stock | {"LOWAT": "none"}, sndbuf_most_bytes=1) == []


def test_a_connection_for_each_response() -> None:
    """With HTTP/1.1 between the fronts, VIA_LOWAT hardly limits anything; with HTTP/2 it does."""
    limited = {"VIA": "nginx", "VIA_LOWAT": "16384"}
    (sentence,) = sentences(limited)
    assert sentence.startswith("VIA_LOWAT=16384 with VIA_HTTP=1.1: between the fronts each response has a connection")
    assert sentences(limited | {"SERVER": "caddy", "VIA_HTTP": "2"}) == []
    assert sentences({"VIA": "nginx"}) == []


def test_one_offload_packet() -> None:
    """If one offload packet exceeded LOWAT, the advice is to set GSO, unless GSO was set."""
    small = {"LOWAT": "16384"}
    (sentence,) = sentences(small, notsent_most_bytes=65_000)
    assert sentence.startswith("With LOWAT=16384 up to 65000 bytes were unsent")
    assert "GSO=2" in sentence
    assert sentences(small, notsent_most_bytes=16_384) == []
    assert sentences(small | {"GSO": "2"}, notsent_most_bytes=65_000) == []
    assert sentences({"LOWAT": "65536"}, notsent_most_bytes=130_000) == []


def test_too_few_samples() -> None:
    """Without two samples of the front's socket, the note says what the lab cannot tell."""
    (sentence,) = sentences({}, busy_us=None, rwnd_limited_us=None, unacked_most_bytes=None)
    assert sentence.startswith("Too few samples of the front's socket: the lab cannot tell if front, link and origin")
    assert sentences({}, busy_us=5_000_000, rwnd_limited_us=0) == []


def test_a_transfer_that_the_clients_window_limited() -> None:
    """The note says for how long the client's TCP window was the limit; a tenth of the time, and 0.1 s, are enough."""
    limited = {"busy_us": 5_000_000, "rwnd_limited_us": 3_010_000, "unacked_most_bytes": 3_980_552}
    (sentence,) = sentences({}, **limited)
    assert sentence.startswith("The client's TCP window limited the transfer for 3.0 s, 60% of the time")
    assert "at most 3,980,552 bytes" in sentence
    assert sentences({}, **limited | {"rwnd_limited_us": 500_000}) != []
    assert sentences({}, **limited | {"rwnd_limited_us": 490_000}) == []
    assert sentences({}, **limited | {"busy_us": 200_000, "rwnd_limited_us": 90_000}) == []


@pytest.mark.parametrize(("share", "notes"), [(0.1, 1), (0.09, 0)])
def test_a_full_window_is_no_limit_while_the_link_is_busy(share: float, notes: int) -> None:
    """If the link sent all the time, it was the limit, although the kernel counts the client's window as one."""
    limited = run(knobs={}, busy_us=5_000_000, rwnd_limited_us=3_010_000, unacked_most_bytes=3_980_552).record
    record = LimitsRecord(
        shares={"link": 1 - share, "receive_window": share},
        largest="link",
        goodput_bit_s=1,
        slow_start=0.0,
        goodput_after_bit_s=1,
    )
    loads = tuple(replace(load, limits=record) for load in limited.loads)
    assert len(advice(replace(limited, loads=loads))) == notes


def test_how_much_a_small_window_lets_through() -> None:
    """With a WINDOW smaller than a resource the note has the bound that it sets, if the link's rate is higher."""
    small = {"WINDOW": "65535", "RATE": "200mbit", "DELAY": "16500us", "DELAY_UP": "16500us", "LOWAT": "16384"}
    (sentence,) = [each for each in sentences(small) if each.startswith("WINDOW=65535 is smaller")]
    assert "With a round trip of 33 ms no more than 1,986 kB/s can arrive." in sentence
    (sentence,) = [each for each in sentences(small | {"RATE": "10mbit"}) if each.startswith("WINDOW=65535")]
    assert "no more than" not in sentence


def test_which_window_is_small() -> None:
    """The note names the connection's window if this one is the smaller; many streams share a large one."""
    link = {"RATE": "200mbit", "DELAY": "16500us", "DELAY_UP": "16500us", "LOWAT": "16384"}
    (sentence,) = [each for each in sentences(link | {"CONNECTION_WINDOW": "65535"}) if "is smaller" in each]
    assert sentence.startswith("CONNECTION_WINDOW=65535 is smaller than a resource")
    assert "no more than 1,986 kB/s" in sentence
    assert sentence.endswith("A CONNECTION_WINDOW as large as the largest resource removes that limit.")
    several = {"WINDOW": "65535", "CONNECTION_WINDOW": "16M"}
    (sentence,) = [each for each in sentences(link | several) if each.startswith("WINDOW=65535")]
    assert "no more than 5,958 kB/s" in sentence


def test_a_send_buffer_that_grew() -> None:
    """The kernel doubles SNDBUF for its overhead; the note comes only when the buffer grew beyond that."""
    asked = {"SNDBUF": "1M"}
    (sentence,) = sentences(asked, sndbuf_most_bytes=2 * 2**20 + 1)
    assert sentence.startswith("SNDBUF=1048576 is only the initial size of the send buffer")
    assert sentences(asked, sndbuf_most_bytes=2 * 2**20) == []
    assert sentences({"SNDBUF": "stock"}, sndbuf_most_bytes=2 * 2**20 + 1) == []


def test_lowat_larger_than_the_buffer() -> None:
    """If LOWAT is not smaller than the send buffer, LOWAT is no limit; the advice names SNDBUF."""
    large = {"SIZE": "16M"}
    (sentence,) = sentences(large | {"LOWAT": "4M"})
    assert sentence.startswith("LOWAT=4194304 is no limit: the send buffer of 4194304 bytes")
    assert "SNDBUF" in sentence
    assert sentences(large | {"LOWAT": "4194303"}) == []


@pytest.mark.parametrize("others", [{}, {"SNDBUF": "stock"}, {"SIZE": "2048"}])
def test_the_kernels_own_value_is_no_limit(others: dict[str, str]) -> None:
    """LOWAT=4294967295 is the kernel's default, as in the control; the only advice says so."""
    (sentence,) = sentences({"LOWAT": "4294967295"} | others)
    assert sentence.startswith("LOWAT=4294967295 is the kernel's default")
    assert "the same as LOWAT=none" in sentence
    assert sentences({"LOWAT": "none"} | others) == []


@pytest.mark.parametrize("others", [{}, {"SNDBUF": "stock"}, {"LOWAT": "4M"}, {"LOWAT": "4294967294"}])
def test_lowat_not_less_than_the_image(others: dict[str, str]) -> None:
    """If the image is not larger than LOWAT, the advice says so.

    A larger send buffer would not help, so the advice does not name SNDBUF.
    """
    (sentence,) = sentences({"LOWAT": "716800"} | others)
    assert "is not less than the 716800 bytes of the image" in sentence
    assert "SNDBUF" not in sentence
    assert sentences({"LOWAT": "716799"}) == []


def test_small_window() -> None:
    """If WINDOW is smaller than the image, the advice is a larger WINDOW."""
    (sentence,) = sentences({"WINDOW": "65535"})
    assert sentence.startswith("WINDOW=65535 is smaller than a resource")
    assert "as large as the largest resource" in sentence
    assert sentences({"WINDOW": "716800"}) == []


@pytest.mark.parametrize(
    ("knobs", "told"),
    [({"QUEUE": "84"}, False), ({"QUEUE": "85"}, True), ({"QUEUE": "100000", "RATE": "unlimited"}, False)],
)
def test_deep_bottleneck(knobs: dict[str, str], told: bool) -> None:  # noqa: FBT001
    """There is advice on a queue that holds a second or more; without a rate a queue holds nothing."""
    assert [sentence.split(":")[0] for sentence in sentences(knobs)] == (["QUEUE=85"] if told else [])


@pytest.mark.parametrize(
    ("qdisc", "told"),
    [("fq", ["QUEUE=1000"]), ("fq_codel", []), ("cake", []), ("pie", []), ("dualpi2", [])],
)
def test_deep_bottleneck_with_a_discipline(qdisc: str, told: list[str]) -> None:
    """There is no such advice if the discipline keeps the queue short; fq does not."""
    assert [sentence.split(":")[0] for sentence in sentences({"QUEUE": "1000", "QDISC": qdisc})] == told


def test_deep_bottleneck_with_bbr() -> None:
    """With CC=bbr the advice on a deep queue does not name bbr."""
    (sentence,) = sentences({"QUEUE": "85"})
    assert "A smaller QUEUE, or CC=bbr, keeps" in sentence
    (sentence,) = sentences({"QUEUE": "85", "CC": "bbr"})
    assert "A smaller QUEUE keeps" in sentence
    assert "bbr" not in sentence


def test_own_mechanism() -> None:
    """If the server sets the socket option itself, the advice has the values of the option that were sampled."""
    (sentence,) = sentences({"SERVER": "h2o", "NATIVE": "on"}, socket_lowat=[0, 1460])
    assert sentence.startswith("NATIVE=on: ")
    assert "seen: 0, 1460" in sentence


def test_auto() -> None:
    """LOWAT=auto has no advice on a fixed LOWAT."""
    auto, saw = {"LOWAT": "auto"}, {"socket_lowat": [17_954], "notsent_most_bytes": 65_160}
    assert sentences(auto, tuner="bpf", **saw) == []


def test_a_ferry_that_was_not_asked_for() -> None:
    """If SHAPER=auto took the ferry, the advice has the reason."""
    assert sentences({}, shaper="ferry", shaper_reason=None) == []
    (sentence,) = sentences({}, shaper="ferry", shaper_reason="this kernel has no sch_netem")
    assert sentence.startswith("SHAPER=auto chose the ferry, not the kernel's netem: this kernel has no sch_netem.")


def test_a_machine_with_settings_of_its_own() -> None:
    """If the machine's kernel began with another sysctl than Linux has by default, the advice names it."""
    assert sentences({}, unusual=[]) == []
    (sentence,) = sentences({}, unusual=["net.ipv4.tcp_sack=0"])
    assert "net.ipv4.tcp_sack=0" in sentence


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"LOSS": "1%"}, "LOSS=1%: "),
        ({"JITTER": "20ms"}, "JITTER=20ms: "),
        ({"LOSS": "0.5%", "JITTER": "2ms"}, "LOSS=0.5% and JITTER=2ms: "),
        ({"REORDER": "2%"}, "REORDER=2%: "),
    ],
)
def test_chance(knobs: dict[str, str], words: str) -> None:
    """With LOSS, JITTER or REORDER the advice is to repeat the run."""
    (sentence,) = sentences(knobs)
    assert sentence.startswith(words)
    assert "REPEAT=5" in sentence


@pytest.mark.parametrize(
    ("step_ns", "told"), [(None, []), (256, []), (10**6, []), (10**6 + 1, ["1"]), (4 * 10**6, ["4"])]
)
def test_coarse_clock(step_ns: int | None, told: list[str]) -> None:
    """If the clock's step is longer than 1 ms, the advice has the step. Older folders have no step, and no advice."""
    saw = {} if step_ns is None else {"clock_resolution_ns": step_ns}
    found = sentences({}, **saw)
    assert [sentence.split(" steps of ")[1].split(" ms")[0] for sentence in found] == told
    assert all("FABRIC=virtual" in sentence for sentence in found)


def came_of(knobs: dict[str, str], **changes: Any) -> list[str]:
    """Returns the advice for a run whose record has these changes."""
    return advice(replace(run(knobs=knobs).record, **changes))


def waited(
    largest: str = "front_committed", *, unsent: int = 10**6, pending: int = 0, **parts_ms: float
) -> LedgerRecord:
    none = dict.fromkeys((field.name for field in fields(OtherBytes)), 0)
    return LedgerRecord(
        focal="script",
        wait_ms=4000.0,
        parts_ms={"tls_record": 100.0} | parts_ms,
        largest=largest,
        explained=1.0,
        other_bytes_at_available=OtherBytes(**none | {"unsent": unsent, "pending": pending}),
    )


def test_a_dialect_that_is_not_read() -> None:
    """If the front put the image first despite DIALECT, and LOWAT is set, the advice is DIALECT=plain."""
    header = {"DIALECT": "header"}
    (sentence,) = came_of(header, verdict="inverted", ledger=waited())
    assert sentence.startswith("DIALECT=header: ")
    assert "DIALECT=plain" in sentence
    assert came_of({}, verdict="inverted", ledger=waited()) == []
    assert came_of(header, verdict="kept", ledger=waited()) == []
    assert came_of(header, verdict="inverted", ledger=waited("kernel_unsent")) == []
    assert came_of(header, verdict="inverted", ledger=None) == []
    assert came_of(header | {"LOWAT": "none"}, verdict="inverted", ledger=waited()) == []
    assert came_of(header | {"PRIORITY": "swap"}, verdict="inverted", ledger=waited()) == []


def test_a_front_that_had_not_enough_in_hand() -> None:
    """If a strict front sends much of the image during the script with BUFFERING=off, the advice is BUFFERING=on."""
    off, strict = {"BUFFERING": "off"}, {"scheduling": "strict: a stream waits for every stream of higher weight"}
    shared = replace(load_record((900, 5000), (100, 4000), before=100_000), other_bytes_during=500_000)
    (sentence,) = came_of(off, front=strict, loads=(shared,))
    assert sentence.startswith("BUFFERING=off: ")
    assert "BUFFERING=on" in sentence
    assert came_of(off, front={"scheduling": "by turns"}, loads=(shared,)) == []
    assert came_of({}, front=strict, loads=(shared,)) == []
    assert came_of(off, front=strict, loads=(replace(shared, other_bytes_during=0),)) == []
    assert came_of(off, front=strict, loads=(replace(shared, other_bytes_before=716_800),)) == []
    assert came_of(off | {"PRIORITY": "none"}, front=strict, loads=(shared,)) == []


def test_a_large_record() -> None:
    """The advice is a smaller RECORD if the wait for the TLS record is 250 ms or more.

    This wait must also be at least a quarter of the whole wait.
    """
    (sentence,) = came_of({}, ledger=waited(tls_record=1000.0))
    assert "waited 1.00 s for its TLS record" in sentence
    assert "RECORD=1400" in sentence
    assert came_of({}, ledger=waited(tls_record=999.0)) == []
    assert came_of({}, ledger=replace(waited(tls_record=240.0), wait_ms=500.0)) == []
    assert came_of({"LOWAT": "none"}, ledger=waited(tls_record=1000.0)) == []


def test_fresh_connection() -> None:
    """Without reloads SNDBUF is advised if less than half of LOWAT was unsent while the front had more data."""
    fresh = {"SNDBUF": "stock", "RELOADS": "0"}

    def stood(unsent: int, pending: int = 600_000) -> dict[str, Any]:
        return {"ledger": waited(unsent=unsent, pending=pending)}

    (sentence,) = came_of(fresh, **stood(65_535))
    assert sentence.startswith("RELOADS=0 with SNDBUF=stock: LOWAT=131072 changes little on a fresh connection")
    assert "65535 bytes of the other resources were unsent" in sentence
    assert "SNDBUF=4M" in sentence
    assert came_of(fresh, **stood(65_536)) == []
    assert came_of(fresh | {"LOWAT": "16384", "GSO": "2"}, **stood(23_111)) == []
    assert came_of(fresh, **stood(10, pending=0)) == []
    assert came_of(fresh, ledger=waited()) == []
    assert came_of(fresh, ledger=None) == []
    assert came_of(fresh | {"LOWAT": "none"}, **stood(1)) == []
    assert came_of(fresh | {"SNDBUF": "4M"}, **stood(1)) == []


def test_nothing_left() -> None:
    """If nothing was left to prioritize, the advice depends on the link: a shorter delay, or a limited RATE."""
    nothing = {"verdict": "nothing-to-prioritize", "ledger": waited(tls_record=1000.0)}
    (sentence,) = came_of({"JS_DELAY": "8s"}, **nothing)
    assert sentence.startswith("The origin had the script 0.20 s after the load's begin: the front had sent the other")
    assert "A shorter delay" in sentence
    (sentence,) = came_of({"RATE": "unlimited", "DELAY": "0ms"}, **nothing)
    assert "A limited RATE" in sentence


def test_several_at_once() -> None:
    """Several rules may apply to a run; each adds its own sentence."""
    found = sentences({"WINDOW": "65535", "LOSS": "1%", "QUEUE": "1000"})
    assert [sentence.split("=")[0] for sentence in found] == ["WINDOW", "QUEUE", "LOSS"]
