"""The client's engine for HTTP/2, built on the library h2. client/engine.py has the interface of engines."""

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.events import Event as H2Event
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import DataFrame

from priolab.client.dialects import chain_parent
from priolab.client.flow_control_probe import PARKED_BYTES, WIDE_BYTES, Valve
from priolab.client.http2.frames import FrameScanner, FrameTooLarge, priority_update
from priolab.client.load_scheduler import LoadFailed, Loads
from priolab.client.records import Record
from priolab.client.sequence_probe import SequenceValve
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import FILLER
from priolab.common.formats.plan import Disturbance, Plan, Position, Request
from priolab.common.plural import counted
from priolab.common.priority_signals import as_text

NO_RFC7540_PRIORITIES = 0x9  # RFC 9218, 2.1
_INITIAL_CONNECTION_WINDOW = 65_535  # RFC 9113, 6.9.2: a setting cannot change it, only WINDOW_UPDATE can

# h2 formats each received frame for a log, also if there is none: for DATA, that takes longer than all else in h2.
DataFrame.__repr__ = object.__repr__  # type: ignore[method-assign]


class Http2Engine:
    """An HTTP/2 client connection, from the preface on. Implements the interface Engine (client/engine.py)."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._groups = {group.name: group.stream_id for group in plan.groups}
        self._first_stream = max(self._groups.values(), default=-1) + 2
        self._cues = {each.name: each.cue for each in plan.page.resources}
        self._ahead, self._frames = b"", b""
        self._foretold: str | None = None
        self._changing = {change.resource for change in plan.changes}
        self._has_changed = False
        self._weights: dict[str, int] = {}
        self._decoys: dict[int, bool] = {}
        """The streams to be reset, and whether something has come of each."""
        self._loads = Loads(plan)
        self._scanner = FrameScanner()
        self._connection = H2Connection(H2Configuration(client_side=True))
        self._valve: Valve | SequenceValve | None = None
        if plan.steps and plan.page.is_sequence:
            self._valve = SequenceValve(plan.page, plan.steps.size_bytes, leave=plan.steps.leave)
        elif plan.steps:
            self._valve = Valve(plan.steps.size_bytes, leave=plan.steps.leave)
        offered: dict[SettingCodes, int] = {
            SettingCodes.ENABLE_PUSH: 0,
            SettingCodes.INITIAL_WINDOW_SIZE: PARKED_BYTES if self._valve else plan.window_bytes,
        }
        if plan.no_rfc7540_priorities:
            offered[cast("SettingCodes", NO_RFC7540_PRIORITIES)] = 1
        self._connection.local_settings = Settings(client=True, initial_values=offered)
        self._connection.initiate_connection()
        if not self._valve and plan.whole_window_bytes > _INITIAL_CONNECTION_WINDOW:
            self._connection.increment_flow_control_window(plan.whole_window_bytes - _INITIAL_CONNECTION_WINDOW)
        for group in plan.groups:
            self._prioritize(group.stream_id, group.position)

    @property
    def loading(self) -> bool:
        """True while the current load has open streams, unless a probe has ended the load early."""
        return self._loads.loading and not (self._valve and self._valve.is_left)

    @property
    def unfinished(self) -> list[str]:
        """Names of the requested resources whose streams have not ended."""
        return self._loads.unfinished

    def begin_load(self, now_ns: int) -> list[Event]:
        """Begins the next load by requesting the page; returns the events. Raises LoadFailed."""
        begun, due = self._loads.begin(now_ns)
        self._has_changed = False
        with _allowed():
            events = [begun]
            decoy = self._plan.decoy
            decoys = decoy.requests if decoy and decoy.disturbance is Disturbance.RESET else ()
            events += (self._ask_decoy(each, now_ns) for each in decoys[:1])
            events += self._ask_all(due, now_ns)
            events += (self._ask_decoy(each, now_ns) for each in decoys[1:])
            for request in due:
                self._foretell(self._plan.due(request.name))
            if self._valve:
                for stream_id in self._loads.awaited:
                    self._connection.increment_flow_control_window(WIDE_BYTES, stream_id)
        return events

    @property
    def next_due_ns(self) -> int | None:
        """The time at which the next request is due; None if none waits for its time."""
        return self._loads.next_due_ns

    def wake(self, now_ns: int) -> list[Event]:
        """Requests the resources whose time has come; returns the events. Raises LoadFailed."""
        with _allowed():
            return self._ask_all(self._loads.now_due(now_ns), now_ns)

    def data_to_send(self) -> bytes:
        """Returns the plaintext to send to the front now."""
        ahead, frames = self._ahead, self._frames
        self._ahead = self._frames = b""
        return ahead + self._connection.data_to_send() + frames

    def quiet(self, now_ns: int) -> list[Event]:
        """Enlarges flow-control windows if the load is a probe; returns the events.

        Called when nothing has arrived for a while.
        """
        if self._valve is None:
            return []
        if self._decoys:
            if not (all(self._decoys.values()) and self._loads.all_answered and not self._loads.awaited):
                return []
            reset, self._decoys = [*self._decoys], {}
            return [self._reset_decoy(each, now_ns) for each in reset]
        if isinstance(self._valve, SequenceValve):
            return self._next_step(self._valve, now_ns)
        openings = self._valve.turn(
            self._loads.resources,
            begun=self._loads.all_answered,
            left_bytes=self._connection.inbound_flow_control_window,
        )
        for opening in openings:
            # h2 raises no error here: the streams come from Loads and are open, and no window exceeds its maximum.
            self._connection.increment_flow_control_window(opening.size_bytes, opening.stream_id)
        return self._loads.opened(openings, now_ns)

    def _next_step(self, valve: SequenceValve, now_ns: int) -> list[Event]:
        streams = self._loads.resources_by_name
        turn = valve.turn(
            streams, begun=self._loads.all_answered, left_bytes=self._connection.inbound_flow_control_window
        )
        events = []
        for name, field in turn.updates:
            stream_id = self._loads.number(name)
            self._frames += priority_update(stream_id, field)
            events.append(self._loads.event(Kind.PRIORITY_SENT, now_ns, stream_id, detail=as_text(None, field)))
        with _allowed(events):
            events += self._ask_all((each for each in self._plan.requests if each.name in turn.requests), now_ns)
        for opening in turn.openings:
            if opening.size_bytes:
                self._connection.increment_flow_control_window(opening.size_bytes, opening.stream_id)
        return events + self._loads.opened(turn.openings, now_ns)

    def receive(self, data: bytes, now_ns: int, record: Record | None = None) -> list[Event]:
        """Handles plaintext from the front; returns the events. Raises LoadFailed.

        now_ns: the arrival time, CLOCK_MONOTONIC. record: the TLS record of the plaintext, if known.
        """
        events: list[Event] = []
        try:
            events += (self._loads.arrived(piece, now_ns, record) for piece in self._scanner.feed(data))
        except FrameTooLarge as error:
            raise LoadFailed(f"the front broke HTTP/2: {error}", events) from error
        changing = self._changing and not self._has_changed
        begun = changing and any(event.kind is Kind.DATA and event.resource in self._changing for event in events)
        try:
            h2_events = self._connection.receive_data(data)
            for h2_event in h2_events:
                if isinstance(h2_event, ConnectionTerminated):
                    self._loads.going(_code_name(h2_event.error_code))
            for h2_event in h2_events:
                events += self._react(h2_event, now_ns, record)
        except ProtocolError as error:
            raise LoadFailed(f"the front broke HTTP/2: {error!r}", events) from error
        except LoadFailed as error:
            raise LoadFailed(str(error), events + error.events) from error
        if begun:
            self._has_changed = True
            events += self._change(self._changing, now_ns)
        return events

    def _ask_all(self, requests: Iterable[Request], now_ns: int) -> list[Event]:
        """Sends requests, and with each the change of its priority if the load's other changes have been sent."""
        events = []
        for request in requests:
            if isinstance(self._valve, SequenceValve) and self._valve.holds_back(request.name):
                continue
            place = self._place_now(request.signals.position)
            stream_id = self._send(request, place)
            asked = self._loads.asked(stream_id, request, now_ns, as_text(place, request.signals.field))
            cue = self._cues.get(request.name)
            early, at_once = (cue.early, cue.at_once) if cue else (None, None)
            events += [*self._said(early, stream_id, now_ns), asked, *self._said(at_once, stream_id, now_ns)]
            if place:
                self._weights[request.name] = place.weight
            if self._has_changed:
                events += self._change([request.name], now_ns)
        return events

    def _said(self, field: str | None, stream_id: int, now_ns: int) -> Iterator[Event]:
        """Yields the event of a PRIORITY_UPDATE that is sent with a request; none without a value."""
        if field is not None:
            yield self._loads.event(Kind.PRIORITY_SENT, now_ns, stream_id, detail=as_text(None, field))

    def _foretell(self, requests: Iterable[Request]) -> None:
        """Sends the early update of the first of these requests that has one. They follow when a stream has ended."""
        for place, request in enumerate(requests):
            if self._foretold is None and (cue := self._cues.get(request.name)) and cue.early is not None:
                stream_id = self._connection.get_next_available_stream_id() + 2 * place
                self._frames += priority_update(stream_id, cue.early)
                self._foretold = request.name

    def _ask_decoy(self, request: Request, now_ns: int) -> Event:
        place = self._place_now(request.signals.position)
        stream_id = self._send(request, place)
        self._decoys[stream_id] = False
        self._loads.named(stream_id, request.name)
        detail = as_text(place, request.signals.field)
        return self._loads.event(Kind.REQUEST_SENT, now_ns, stream_id, detail=detail)

    def _reset_decoy(self, stream_id: int, now_ns: int) -> Event:
        self._connection.reset_stream(stream_id, ErrorCodes.CANCEL)
        return self._loads.event(Kind.DISTURBED, now_ns, stream_id, detail="RST_STREAM (CANCEL)")

    def _send(self, request: Request, place: Position | None) -> int:
        """Sends a request with this position in the tree, and returns the number of its stream."""
        stream_id = max(self._first_stream, self._connection.get_next_available_stream_id())
        signals, cue = request.signals, self._cues.get(request.name)
        if cue and cue.early is not None and request.name != self._foretold:
            self._ahead += self._connection.data_to_send() + priority_update(stream_id, cue.early)
        headers = [
            (":method", "GET"),
            (":scheme", "https" if self._plan.tls else "http"),
            (":authority", self._plan.authority),
            (":path", request.path),
            ("user-agent", "priolab"),
            *([("priority", signals.field)] if signals.field else []),
            *([("priority", cue.more)] if cue and cue.more else []),
        ]
        if place:
            self._connection.send_headers(
                stream_id,
                headers,
                end_stream=True,
                priority_weight=place.weight,
                priority_depends_on=self._parent(place),
                priority_exclusive=place.exclusive,
            )
        else:
            self._connection.send_headers(stream_id, headers, end_stream=True)
        if cue and cue.at_once is not None:
            self._frames += priority_update(stream_id, cue.at_once)
        return stream_id

    def _prioritize(self, stream_id: int, place: Position) -> None:
        self._connection.prioritize(stream_id, place.weight, self._parent(place), place.exclusive)

    def _place_now(self, place: Position | None) -> Position | None:
        """Returns the position of a new stream among the streams that are open now.

        In Chrome's chain the parent is the last open stream of the rule. Elsewhere the parent is the plan's; it is the
        root if the plan's parent is no group and no open resource.
        """
        if place is None or not place.exclusive:
            return self._placed(place)
        streams = ((name, self._weights[name]) for name in self._loads.unfinished if name in self._weights)
        return replace(place, depends_on=chain_parent(place.weight, streams))

    def _placed(self, place: Position | None) -> Position | None:
        return place if place is None or self._parent(place) else replace(place, depends_on=None)

    def _parent(self, place: Position) -> int:
        """Returns the number of the parent stream; 0, the root, if the parent is no group and no open resource."""
        name = place.depends_on
        return 0 if name is None else self._groups.get(name) or self._loads.open_stream(name) or 0

    def _change(self, names: Container[str], now_ns: int) -> list[Event]:
        """Sends the plan's priority changes for the resources with open streams; returns the events."""
        events = []
        for change in self._plan.changes:
            stream_id = self._loads.open_stream(change.resource)
            if stream_id is None or change.resource not in names:
                continue
            if place := self._placed(change.position):
                self._prioritize(stream_id, place)
                self._weights[change.resource] = place.weight
            if change.field:
                self._frames += priority_update(stream_id, change.field)
            events.append(self._loads.event(Kind.PRIORITY_SENT, now_ns, stream_id, detail=as_text(place, change.field)))
        return events

    def _react(self, event: H2Event, now_ns: int, record: Record | None) -> list[Event]:
        if (decoy := getattr(event, "stream_id", None)) in self._decoys:
            self._decoys[decoy] = True
            if isinstance(event, StreamEnded | StreamReset):
                raise LoadFailed("the response that the client is to reset ended before it could be reset")
            return []
        match event:
            case ResponseReceived(stream_id=int(stream_id), headers=headers):
                fields = dict(headers or [])
                status, filler = fields[b":status"].decode(errors="replace"), fields.get(FILLER.encode(), b"")
                return [self._loads.answered(stream_id, status, now_ns, record, filler_bytes=len(filler))]
            case DataReceived(stream_id=int(stream_id), flow_controlled_length=int(length)):
                is_awaited = isinstance(self._valve, SequenceValve) and stream_id in self._loads.awaited
                if not self._valve or is_awaited:
                    self._connection.acknowledge_received_data(length, stream_id)
                return []
            case RemoteSettingsChanged():
                self._check_limit()
                return []
            case StreamEnded(stream_id=int(stream_id)):
                events, due = self._loads.ended(stream_id, now_ns)
                with _allowed(events):
                    events += self._ask_all(due, now_ns)
                return events
            case StreamReset(stream_id=int(stream_id), error_code=code):
                raise self._loads.was_reset(stream_id, _code_name(code), now_ns)
            case ConnectionTerminated(error_code=code):
                return [self._loads.goaway(_code_name(code), now_ns)]
        return []

    def _check_limit(self) -> None:
        """Raises LoadFailed if the front allows fewer streams at a time than a probe has, all of which must begin."""
        most, needed = self._connection.remote_settings.max_concurrent_streams, len(self._loads.unfinished)
        if self._valve and needed > most:
            raise LoadFailed(f"the front allows {counted(most, 'stream')} at a time, and this probe has {needed}")


@contextmanager
def _allowed(events: Sequence[Event] = ()) -> Iterator[None]:
    """A context that raises LoadFailed if the front does not allow a request, because of its stream limit or a GOAWAY.

    events: the events so far, for LoadFailed.
    """
    try:
        yield
    except ProtocolError as error:
        raise LoadFailed(f"the front does not allow a request: {error!r}", events) from error


def _code_name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else str(code)
