"""The record of a run's scenario: the key `scenario` of run.json."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import msgspec

from priolab.common.formats.conversion import convert
from priolab.common.formats.page import MAPS, Page, Resource, check_order
from priolab.common.packets import ACKNOWLEDGMENT_BYTES, PACKET_BYTES

AUTO: Literal["auto"] = "auto"
"""The value of `lowat` if a tuner sets LOWAT for each connection."""

PROBE = "probe"
"""The value of `plan` for a probe."""

LEFT_OUT = ("program", "config", "via", "disturb", "service", "queue_bytes", "queue_up_bytes")
"""The fields that run.json leaves out if they are None: files of the user's own, the second front, the disturbance of a
probe, the time that the server needs, queues in bytes."""

FIFO = "fifo"
"""The value of `qdisc` for a bottleneck with a single queue."""

STEPS_PATTERN = r"^\d{1,12}bit@\d{1,19}ns(\+\d{1,12}bit@\d{1,19}ns){0,15}$"
"""The regular expression that rate_steps matches, such as `10240000bit@2000000000ns+1024000bit@6000000000ns`."""


class ClientKind(StrEnum):
    """The client that loads the pages."""

    H2 = "h2"
    """The lab's own client, which uses the protocol of the server: HTTP/2, HTTP/3 or SPDY."""
    CHROMIUM = "chromium"
    """A real browser, with its own priorities and windows."""
    FIREFOX = "firefox"
    """Another real browser: Firefox ESR."""
    WEBKIT = "webkit"
    """A third real browser: WebKitGTK, with the network of libsoup."""

    @property
    def is_browser(self) -> bool:
        """True for a real browser."""
        return self is not ClientKind.H2

    @property
    def product(self) -> str:
        """The client's name for people."""
        if self is ClientKind.WEBKIT:
            return "WebKitGTK"
        return self.value.capitalize() if self.is_browser else "the lab's own client"


@dataclass(frozen=True, kw_only=True)
class ViaRecord:
    """The second front of a scenario, between the front and the origin, and the link between the two fronts.

    server: the second front's server. lowat: its net.ipv4.tcp_notsent_lowat in bytes; None for no limit. http: the
    protocol between the fronts, "1.1" or "2". rate_bit_s: the link's rate toward the front; None for no limit.
    delay_ns: its delay in each direction. queue_packets: its bottleneck queue, in full-size packets. queue_bytes: the
    same in bytes, if it is limited in bytes.
    """

    server: str
    lowat: int | None
    http: str
    rate_bit_s: int | None
    delay_ns: int
    queue_packets: int
    queue_bytes: int | None = None

    @property
    def round_trip_ns(self) -> int:
        """The delay between the fronts in both directions together."""
        return 2 * self.delay_ns


def bytes_in_words(size_bytes: int | None, up_bytes: int | None) -> str | None:
    """Returns the size of queues in words; None if they are not limited in bytes.

    size_bytes, up_bytes: the most bytes toward the client and toward the front; None without such a limit. A queue
    toward the front is named if it has another size.
    """
    down = [] if size_bytes is None else [f"{size_bytes:,} bytes"]
    up = [] if up_bytes in (None, size_bytes) else [f"{up_bytes:,} bytes toward the front"]
    return ", ".join([*down, *up]) or None


def _named(knob: str, *, usual: str | None) -> Any:
    """Declares a field that figures name, as KNOB=VALUE, unless it has its usual value."""
    return field(metadata={"knob": knob, "usual": usual})


def _named_later(knob: str, *, usual: str | None) -> Any:
    """Declares such a field, which folders of earlier versions lack: it has its usual value there."""
    return field(default=usual, metadata={"knob": knob, "usual": usual})


@dataclass(frozen=True, kw_only=True)
class ScenarioRecord:
    """A scenario as run.json has it: everything that may change a result.

    experiments/scenario/scenario.py is the same value with the types and the parts that a run needs.

    server: name of the front's server. via: the second front, between this front and the origin.
    native, buffering: `on` or `off`, as the knobs NATIVE and BUFFERING say.
    record_bytes: the front's largest TLS record; None leaves the server's default.
    lowat: net.ipv4.tcp_notsent_lowat of the front's namespace or container, in bytes. None leaves the kernel's default,
    no limit. AUTO also leaves the default, and a tuner sets TCP_NOTSENT_LOWAT of each connection.
    target_delay_ns: the longest time that a byte should wait unsent in the kernel, at which the tuner aims.
    sndbuf_bytes: the middle value of the front's net.ipv4.tcp_wmem; None leaves the kernel's default.
    front_qdisc: the queueing discipline of the front's interface; None leaves it without one, as virtual devices are.
    gso_segments: gso_max_segs of the front's interface; None leaves the kernel's default.
    cross: competing bulk flows through the bottleneck. cross_cc: their congestion control.
    client: the client that loads the pages. page: the page's name. plan: page loads, or a probe. first: the resource
    that the client requests first; None for the page's order. priorities: the order that the client asks for. dialect:
    the signals by which the client asks for this order.
    size_bytes, script_delay_ns: the parameters of the page; None if the page does not use the parameter.
    reloads: page loads before the measured one, on the same connection.
    window_bytes: flow-control window per stream. connection_window_bytes: that of the connection; None for the same.
    rate_bit_s to ecn, trace and queue_bytes: the link (netem/link.py).

    program, config: None unless PROGRAM and CONFIG name files. via: None without a second front. disturb: None without
    a disturbance of the probe. service: the time that the server needs, such as 20us+1us/KB; None for none.
    target_delay_ns: None unless `lowat` is AUTO. cross_cc: None without cross traffic.
    queue_bytes, queue_up_bytes: None unless the queue toward the client, or the one toward the front, is limited in
    bytes; queue_packets then counts the full-size packets that have room in it.
    rate_steps: None for a constant rate. trace, trace_up: packed traces (common/trace.py).
    Raises ValueError if the page has no important resource, or if rate_steps does not match STEPS_PATTERN.
    """

    server: str
    native: str = _named("NATIVE", usual="off")
    buffering: str = _named("BUFFERING", usual="on")
    record_bytes: int | None = _named("RECORD", usual=None)
    lowat: int | Literal["auto"] | None
    target_delay_ns: int | None
    sndbuf_bytes: int | None
    congestion_control: str
    gso_segments: int | None = _named("GSO", usual=None)
    front_qdisc: str | None = _named_later("FRONT_QDISC", usual=None)
    client: ClientKind
    page: str = _named("PAGE", usual=MAPS)
    plan: str = _named("PLAN", usual="loads")
    first: str | None = _named("FIRST", usual=None)
    priorities: str = _named("PRIORITY", usual="spdy")
    dialect: str = _named("DIALECT", usual="plain")
    size_bytes: int | None
    script_delay_ns: int | None
    reloads: int
    window_bytes: int
    connection_window_bytes: int | None = _named_later("CONNECTION_WINDOW", usual=None)
    rate_bit_s: int | None
    delay_ns: int
    delay_up_ns: int
    rate_up_bit_s: int | None = None
    queue_packets: int
    loss: float
    jitter_ns: int
    rate_steps: str | None
    loss_burst_packets: float | None = None
    reorder: float = 0.0
    qdisc: str = FIFO
    ecn: bool = False
    cross: int = 0
    cross_cc: str | None = None
    trace: str | None = None
    trace_up: str | None = None
    resources: Annotated[tuple[Resource, ...], msgspec.Meta(min_length=1)]
    program: str | None = None
    config: str | None = None
    via: ViaRecord | None = None
    disturb: str | None = None
    service: str | None = field(default=None, metadata={"knob": "SERVICE", "usual": None})
    queue_bytes: int | None = None
    queue_up_bytes: int | None = None

    @classmethod
    def read(cls, document: Any) -> Self:
        """Reads the record from a document of JSON. Raises msgspec.ValidationError."""
        return convert(document, cls)

    def __post_init__(self) -> None:
        if self.rate_steps is not None and not re.search(STEPS_PATTERN, self.rate_steps):
            raise ValueError(f"rate_steps is {self.rate_steps!r}; expected: RATEbit@TIMEns, joined by +")
        check_order(self.resources)

    @property
    def unusual(self) -> Iterator[str]:
        """The fields that figures name and that have another value than usual, such as `NATIVE=on`."""
        for each in fields(ScenarioRecord):
            if "knob" in each.metadata and (value := getattr(self, each.name)) != each.metadata["usual"]:
                yield f"{each.metadata['knob']}={value}"

    @property
    def whole_window_bytes(self) -> int:
        """The flow-control window of the connection."""
        return self.connection_window_bytes or self.window_bytes

    @property
    def shortest_delay_ns(self) -> int:
        """The shortest delay of a packet toward the client. With `reorder` some packets skip the delay."""
        return 0 if self.reorder else max(0, self.delay_ns - self.jitter_ns)

    @property
    def most_queue_bytes(self) -> int:
        """The most bytes in the bottleneck toward the client."""
        return self.queue_bytes or self.queue_packets * PACKET_BYTES

    @property
    def most_acknowledgment_bytes(self) -> int:
        """The most bytes in the bottleneck toward the front, if it has only acknowledgments."""
        return self.queue_up_bytes or self.queue_packets * ACKNOWLEDGMENT_BYTES

    @property
    def queue_knob(self) -> str:
        """The value of QUEUE for a queue toward the client of this size."""
        return str(self.queue_packets) if self.queue_bytes is None else f"{self.queue_bytes}b"

    @property
    def queue_words(self) -> str:
        """The size of the bottleneck queue in words, such as `25 packets`."""
        return bytes_in_words(self.queue_bytes, self.queue_up_bytes) or f"{self.queue_packets} packets"

    @cached_property
    def whole_page(self) -> Page:
        """The page with its resources."""
        return Page(name=self.page, title=self.page, resources=self.resources)
