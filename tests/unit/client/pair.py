"""A client engine and an h2 server that exchange bytes in memory."""

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event as H2Event
from h2.events import RequestReceived

from priolab.client.dialects import PLAIN, Dialect
from priolab.client.http2.engine import Http2Engine
from priolab.client.priorities import Priorities
from priolab.common.formats.events import Event
from priolab.common.formats.plan import Plan, Steps
from tests.support.pages import maps_plan

PAGE, IMAGE, SCRIPT = 1, 3, 5
"""The streams of the first load."""
OK = [(":status", "200")]


class Pair:
    """A client engine and a server; every exchange advances the time by one nanosecond.

    plan: the requests; the Maps case by default. events: the engine's events. at_server: the server's events.
    """

    def __init__(
        self,
        priorities: Priorities = Priorities.SPDY,
        dialect: Dialect = PLAIN,
        *,
        window_bytes: int = 2**24,
        connection_window_bytes: int | None = None,
        reloads: int = 0,
        steps: Steps | None = None,
        authority: str | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.engine = Http2Engine(
            plan
            or maps_plan(
                address="198.18.1.2",
                port=443,
                server_name="maps.test",
                priorities=priorities,
                dialect=dialect,
                reloads=reloads,
                window_bytes=window_bytes,
                connection_window_bytes=connection_window_bytes,
                load_deadline_ns=1,
                steps=steps,
                authority=authority,
            )
        )
        self.server = H2Connection(H2Configuration(client_side=False))
        self.server.initiate_connection()
        self.now_ns = 0
        self.events: list[Event] = []
        self.at_server: list[H2Event] = []

    def begin_load(self) -> None:
        self.now_ns += 1
        self.events += self.engine.begin_load(self.now_ns)
        self.up()

    def up(self) -> None:
        self.at_server += self.server.receive_data(self.engine.data_to_send())

    def quiet(self) -> None:
        self.now_ns += 1
        self.events += self.engine.quiet(self.now_ns)
        self.up()

    def down(self) -> None:
        self.feed(self.server.data_to_send())

    def feed(self, data: bytes) -> None:
        self.now_ns += 1
        self.events += self.engine.receive(data, self.now_ns)
        self.up()

    def answer(self, stream_id: int, payload: bytes = b"x") -> None:
        self.server.send_headers(stream_id, OK)
        self.server.send_data(stream_id, payload, end_stream=True)
        self.down()

    def requests(self) -> list[RequestReceived]:
        return [event for event in self.at_server if isinstance(event, RequestReceived)]


def page_asked() -> Pair:
    """Returns a pair whose client has requested the page."""
    pair = Pair()
    pair.begin_load()
    return pair


def resources_asked() -> Pair:
    """Returns a pair whose client has received the page, and has requested image and script."""
    pair = page_asked()
    pair.answer(PAGE)
    pair.events.clear()
    return pair
