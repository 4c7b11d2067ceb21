"""Writes notes for the user on knobs that had no effect in a run, or an unexpected effect. Pure.

A note says why, and in most cases which knob changes that. Each rule is a function that returns one note, or None if
the rule does not apply. It compares the run's scenario with the settings that the run observed, or with its outcome.
"""

from collections.abc import Callable

from priolab.analysis.records.rate import Rate
from priolab.common.formats.page import called
from priolab.common.formats.run import Observed, RunRecord
from priolab.common.formats.scenario import AUTO, PROBE, ScenarioRecord
from priolab.common.tuning import NO_LIMIT

_GSO_BYTES = 65_536
_STRICT = "strict: a stream waits"  # the beginning of `scheduling` in a server.toml
_KEEP_SHORT = ("fq_codel", "cake", "pie", "dualpi2")
"""Queueing disciplines that keep a queue short, whatever its limit."""
_LONG_QUEUE_S = 1.0
_LONG_RECORD_MS = 250.0
_COARSE_NS = 10**6
_LIMITED_PART, _LEAST_LIMITED_US = 0.1, 100_000
"""A transfer is limited by the client's window if the window was the limit for a tenth of the time, and for 0.1 s. The
kernel counts this time in its ticks of at most 10 ms."""
_NO_TCP = (
    "This connection uses QUIC, not TCP. QUIC keeps unsent data in the server, and chooses a packet's stream when it "
    "sends the packet. So LOWAT, the TCP send buffer and the kernel's congestion control have no effect."
)
_PROBED = (
    "PLAN=probe tests only the front's scheduler: all streams wait for the client's flow-control window, so LOWAT, the "
    "send buffer and the link have no effect. PLAN=loads tests their effect, too."
)


def advice(run: RunRecord) -> list[str]:
    """Returns the notes on a run that is ok."""
    if run.scenario.plan == PROBE:
        return [_PROBED]
    if run.seen.sndbuf_most_bytes is None:
        return [_NO_TCP]
    found = [rule(run.scenario, run.seen) for rule in _RULES]
    found += [rule(run.scenario, run) for rule in _RULES_OF_OUTCOMES]
    return [sentence for sentence in found if sentence]


def _fixed(scenario: ScenarioRecord) -> int | None:
    """Returns LOWAT in bytes; None if LOWAT is unset or auto."""
    lowat = scenario.lowat
    return lowat if isinstance(lowat, int) else None


def _can_bind(scenario: ScenarioRecord) -> bool:
    """True if LOWAT is a number of bytes, and smaller than all other resources together, so that it can limit them.

    Other notes explain that a larger LOWAT has no effect.
    """
    lowat = _fixed(scenario)
    return lowat is not None and lowat < min(NO_LIMIT, _others_bytes(scenario))


def _others_bytes(scenario: ScenarioRecord) -> int:
    return sum(each.size_bytes for each in scenario.whole_page.others)


def _others(scenario: ScenarioRecord) -> str:
    """Returns the name of the page's only other resource, or "other resources" if there are several."""
    return called(scenario.whole_page.others, "other resources")


def _no_limit(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del observed
    if scenario.lowat != NO_LIMIT:
        return None
    return (
        f"LOWAT={NO_LIMIT} is the kernel's default, which is no limit. So this arm is the same as LOWAT=none. "
        f"Only a smaller LOWAT limits the unsent bytes."
    )


def _larger_than_image(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del observed
    lowat, size = _fixed(scenario), _others_bytes(scenario)
    if lowat is None or not 0 < size <= lowat < NO_LIMIT:
        return None
    return (
        f"LOWAT={lowat} is not less than the {size} bytes of the {_others(scenario)}: nearly all of these "
        f"bytes may be unsent in the kernel at the same time, so LOWAT does not limit them. With a smaller LOWAT, or "
        "larger resources, LOWAT takes effect."
    )


def _own_connections(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del observed
    via = scenario.via
    if via is None or via.lowat is None or via.http != "1.1":
        return None
    return (
        f"VIA_LOWAT={via.lowat} with VIA_HTTP=1.1: between the fronts each response has a connection of its own, so "
        "none waits behind another in the second front's kernel. With VIA_HTTP=2 they share a connection."
    )


def _stock_send_buffer(scenario: ScenarioRecord, observed: Observed) -> str | None:
    lowat = _fixed(scenario)
    if lowat is None or scenario.sndbuf_bytes is not None or not _can_bind(scenario):
        return None
    if not scenario.reloads:
        return None  # _fresh_connection gives the reason
    most = observed.sndbuf_most_bytes or 0
    if most >= 4 * lowat:
        return None
    return (
        f"SNDBUF=stock: LOWAT={lowat} changes little here, because the kernel's send buffer is small: it grew to at "
        f"most {most} bytes, overhead included. SNDBUF=4M makes the send buffer as large as that of a busy connection."
    )


def _grown_send_buffer(scenario: ScenarioRecord, observed: Observed) -> str | None:
    asked, most = scenario.sndbuf_bytes, observed.sndbuf_most_bytes or 0
    if asked is None or most <= 2 * asked:
        return None
    return (
        f"SNDBUF={asked} is only the initial size of the send buffer: the kernel let the buffer grow with the "
        f"congestion window to {most} bytes. Only the third value of net.ipv4.tcp_wmem (max) bounds its size."
    )


def _one_offload_packet(scenario: ScenarioRecord, observed: Observed) -> str | None:
    lowat, most = _fixed(scenario), observed.notsent_most_bytes or 0
    if lowat is None or lowat >= _GSO_BYTES or most <= lowat or scenario.gso_segments is not None:
        return None
    if any(observed.socket_lowat):
        return None  # the server's own value applied part of the time
    return (
        f"With LOWAT={lowat} up to {most} bytes were unsent: the kernel checks LOWAT only when it begins a new packet "
        f"buffer, and a packet buffer holds up to 64 KiB (GSO). GSO=2 limits packet buffers to two segments, so that "
        "such a small LOWAT takes effect."
    )


def _larger_than_buffer(scenario: ScenarioRecord, observed: Observed) -> str | None:
    lowat, buffer = _fixed(scenario), observed.sndbuf_most_bytes or 0
    if lowat is None or not _can_bind(scenario) or scenario.sndbuf_bytes is None or lowat < buffer:
        return None
    return (
        f"LOWAT={lowat} is no limit: the send buffer of {buffer} bytes fills up before so many bytes are unsent. "
        "A larger SNDBUF makes a larger send buffer."
    )


def _small_window(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del observed
    page = scenario.whole_page
    is_of_all = scenario.whole_window_bytes < scenario.window_bytes
    name, window_bytes = (
        ("CONNECTION_WINDOW", scenario.whole_window_bytes) if is_of_all else ("WINDOW", scenario.window_bytes)
    )
    if window_bytes >= max(each.size_bytes for each in page.resources):
        return None
    round_s, rate = (scenario.delay_ns + scenario.delay_up_ns) / 10**9, Rate.of(scenario)
    streams = len(page.resources) if scenario.whole_window_bytes > window_bytes else 1
    most_bytes_s = min(streams * window_bytes, scenario.whole_window_bytes) / round_s if round_s else None
    bound = ""
    if most_bytes_s is not None and (rate is None or most_bytes_s < rate.slowest_bit_s / 8):
        bound = f" With a round trip of {round_s * 1000:g} ms no more than {most_bytes_s / 1000:,.0f} kB/s can arrive."
    return (
        f"{name}={window_bytes} is smaller than a resource: HTTP/2 flow control limits the bytes that the "
        f"front may give to the kernel, with and without LOWAT.{bound} A {name} as large as the largest resource "
        "removes that limit."
    )


def _limited_by_the_client(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    del scenario
    busy_us, limited_us = run.seen.busy_us, run.seen.rwnd_limited_us
    limits = run.measured.limits
    if limits is not None and limits.shares["receive_window"] < _LIMITED_PART:
        return None  # the link was busy meanwhile
    if not busy_us or limited_us is None or limited_us < max(_LIMITED_PART * busy_us, _LEAST_LIMITED_US):
        return None
    return (
        f"The client's TCP window limited the transfer for {limited_us / 10**6:.1f} s, {limited_us / busy_us:.0%} of "
        f"the time in which the front's kernel had data to send: at most {run.seen.unacked_most_bytes or 0:,} bytes "
        "were on their way at once. The client's receive buffer (net.ipv4.tcp_rmem) bounds this window, and no knob "
        "changes it."
    )


def _deep_bottleneck(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del observed
    rate = Rate.of(scenario)
    if rate is None or scenario.qdisc in _KEEP_SHORT:
        return None
    queue_s = rate.longest_wait_s(scenario.queue_packets)
    if queue_s < _LONG_QUEUE_S:
        return None
    remedy = "A smaller QUEUE" if scenario.congestion_control == "bbr" else "A smaller QUEUE, or CC=bbr,"
    return (
        f"QUEUE={scenario.queue_knob}: the bottleneck queue can hold so many packets that a new one waits "
        f"{queue_s:.1f} s. Packets in this queue are already sent, so LOWAT does not bound them. {remedy} keeps the "
        "queue short."
    )


def _own_mechanism(scenario: ScenarioRecord, observed: Observed) -> str | None:
    if not any(observed.socket_lowat) or scenario.lowat == AUTO:
        return None
    seen = ", ".join(str(value) for value in observed.socket_lowat)
    return (
        f"NATIVE=on: the server itself set the socket option TCP_NOTSENT_LOWAT (values seen: {seen}). The knob LOWAT "
        f"sets the sysctl tcp_notsent_lowat, which applies only while the socket's own value is 0. So the limit can "
        "differ between the loads of a run."
    )


def _of_the_machine(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del scenario
    if not observed.unusual:
        return None
    return (
        f"This machine's kernel began with {', '.join(observed.unusual)}, which are not Linux's defaults. "
        f"FABRIC=virtual has a kernel of its own."
    )


def _ferry_instead(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del scenario
    if not (reason := observed.shaper_reason):
        return None
    return f"SHAPER=auto chose the ferry, not the kernel's netem: {reason}. SHAPER=ferry avoids this note."


def _random(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del observed
    words = []
    if scenario.loss:
        words.append(f"LOSS={scenario.loss * 100:g}%")
    if scenario.jitter_ns:
        words.append(f"JITTER={scenario.jitter_ns / 10**6:g}ms")
    if scenario.reorder:
        words.append(f"REORDER={scenario.reorder * 100:g}%")
    if not words:
        return None
    return f"{' and '.join(words)}: results depend on chance and differ between repetitions. REPEAT=5 shows the spread."


def _coarse_clock(scenario: ScenarioRecord, observed: Observed) -> str | None:
    del scenario
    step_ns = observed.clock_resolution_ns
    if step_ns is None or step_ns <= _COARSE_NS:
        return None
    return (
        f"The clock of this run moves in steps of {step_ns / 10**6:g} ms, so no time is more precise than a step. "
        f"FABRIC=virtual uses the guest's virtual clock instead."
    )


def _unread_dialect(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    dialect, ledger = scenario.dialect, run.ledger
    if dialect == "plain" or scenario.lowat is None or scenario.priorities != "spdy":
        return None
    if not ledger or ledger.largest != "front_committed" or run.verdict != "inverted":
        return None
    return (
        f"DIALECT={dialect}: the front itself put the {_others(scenario)} first, although the {ledger.focal} has a "
        "higher priority. So the front seems not to read this dialect. It may read DIALECT=plain; "
        "docs/measured/matrix.md shows which dialects each server reads."
    )


def _not_buffered(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    if scenario.buffering == "on" or scenario.priorities != "spdy" or not run.loads:
        return None
    if not str(run.front.get("scheduling", "")).startswith(_STRICT):
        return None  # this server shares the link in any case
    load = run.measured
    size = _others_bytes(scenario)
    left = size - load.other_bytes_before
    if left < size / 4 or load.other_bytes_during < left / 4:
        return None
    return (
        f"BUFFERING=off: the front held little of the {load.focal} at a time, so it sent the {_others(scenario)} while "
        f"it waited for more of the {load.focal} from the origin. With BUFFERING=on the front holds whole responses."
    )


def _large_record(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    ledger = run.ledger
    if not ledger or scenario.lowat is None or run.verdict == "nothing-to-prioritize":
        return None
    waited_ms = ledger.parts_ms.get("tls_record", 0.0)
    if waited_ms < _LONG_RECORD_MS or waited_ms < ledger.wait_ms / 4:
        return None
    return (
        f"The first byte of the {ledger.focal} waited {waited_ms / 1000:.2f} s for its TLS record to be complete. "
        "LOWAT cannot shorten that wait. RECORD=1400 shortens it, if the server has a setting for the size of records."
    )


def _fresh_connection(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    lowat, account = _fixed(scenario), run.ledger
    if lowat is None or scenario.sndbuf_bytes is not None or scenario.reloads or not _can_bind(scenario):
        return None
    at_available = account.other_bytes_at_available if account else None
    # If LOWAT is the limit, the kernel wakes the front when less than half of it is unsent (tcp_stream_memory_free).
    if not at_available or not at_available.pending or 2 * at_available.unsent >= lowat:
        return None
    return (
        f"RELOADS=0 with SNDBUF=stock: LOWAT={lowat} changes little on a fresh connection, because its send buffer "
        f"fills up first: when the important resource was available, only {at_available.unsent} bytes of the other "
        f"resources were unsent. SNDBUF=4M makes the send buffer as large as that of a busy connection. With RELOADS, "
        "and a long enough QUEUE, the send buffer grows by itself."
    )


def _unsampled(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    del scenario
    if run.observed.get("busy_us", 0) is not None:
        return None
    return (
        "Too few samples of the front's socket: the lab cannot tell if front, link and origin kept pace during the "
        "load. So the verdict holds only if nothing disturbed them. SAMPLE=auto, or a smaller SAMPLE, takes more."
    )


def _nothing_left(scenario: ScenarioRecord, run: RunRecord) -> str | None:
    if run.verdict != "nothing-to-prioritize":
        return None
    load = run.measured
    late = f"The origin had the {load.focal} {load.available_ms / 1000:.2f} s after the load's begin"
    remedy = "A limited RATE" if scenario.rate_bit_s is None else "A shorter delay, or larger other resources,"
    return f"{late}: the front had sent the other resources by then. {remedy} makes the resources compete for the link."


_RULES: tuple[Callable[[ScenarioRecord, Observed], str | None], ...] = (
    _no_limit,
    _larger_than_image,
    _own_connections,
    _stock_send_buffer,
    _grown_send_buffer,
    _one_offload_packet,
    _larger_than_buffer,
    _small_window,
    _deep_bottleneck,
    _own_mechanism,
    _ferry_instead,
    _of_the_machine,
    _random,
    _coarse_clock,
)
_RULES_OF_OUTCOMES: tuple[Callable[[ScenarioRecord, RunRecord], str | None], ...] = (
    _limited_by_the_client,
    _unread_dialect,
    _not_buffered,
    _large_record,
    _fresh_connection,
    _unsampled,
    _nothing_left,
)
