"""Runs as values: the logs of a run, and what follows from them. A part of `import priolab`.

Times that end in `_ns` are nanoseconds of the run's clock, which all its logs share; `PageLoad.ms` converts one to
milliseconds since the request of the load's page. Sizes are in bytes. Logs are read when they are first used; a
property that reads a damaged or missing one raises FolderError, which names the file.
"""

from collections.abc import Mapping
from functools import cached_property

from priolab.analysis.loads.findings import judgement
from priolab.analysis.loads.ledger import Ledger
from priolab.analysis.loads.ledger_builder import ledger
from priolab.analysis.loads.metrics import PageLoad, page_loads, with_rate
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.records import runs as recorded
from priolab.analysis.sweeps.measures import Measure, measures
from priolab.common.formats.environment import EnvironmentRecord
from priolab.common.formats.events import Arrival, Event
from priolab.common.formats.samples import QueueSample, SocketSample


class Run(recorded.Run):
    """A run. path: its folder. record: the content of run.json, with verdict, ledger, and the times of the loads.

    docs/reference/results.md explains both.
    """

    @property
    def name(self) -> str:
        """The name of the run: its arm's, and the number of the repetition."""
        return self.path.name

    @property
    def events(self) -> tuple[Event, ...]:
        """The client's events in order: requests, headers, data."""
        return self._evidence.events

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """The packets' arrivals: how many bytes of the TCP stream the client had, and when. Empty over QUIC."""
        return self._layers.arrivals

    @property
    def sockets(self) -> tuple[SocketSample, ...]:
        """The samples of the front's socket, as ss(8) shows it: unsent bytes, congestion window, send buffer."""
        return self._layers.sockets

    @property
    def queue(self) -> tuple[QueueSample, ...]:
        """The packets and bytes in the link toward the client: a sample for each change."""
        return self._layers.queue

    @cached_property
    def loads(self) -> tuple[PageLoad, ...]:
        """The complete page loads in order, the measured one last: each resource's times, and its payload over time."""
        found = page_loads(self._evidence)
        return tuple(with_rate(found, self.scenario)) if found else ()

    @property
    def measures(self) -> Mapping[Measure, float | None]:
        """The measures of the measured load, if the run is ok: first byte, goodput, the front's costs."""
        return measures(self)

    @cached_property
    def environment(self) -> EnvironmentRecord:
        """The kernel and the versions of the programs."""
        return recorded.load_environment(self.path)

    def judgement(self, load: PageLoad) -> Judgement:
        """Returns the verdict on one of the run's loads, with its reason."""
        return judgement(load, self._evidence, self._layers, self.scenario)

    def ledger(self, load: PageLoad) -> Ledger:
        """Returns where the focal resource's first byte waited in one of the run's loads, and for how long.

        Raises NoLedger if the logs do not suffice. If the link's rate changes, only the measured load has a ledger.
        """
        sooner = self.judgement(load).sooner
        return ledger(load, self._evidence, self._layers, self.scenario, sooner)

    @cached_property
    def _evidence(self) -> recorded.Evidence:
        return self.evidence()

    @cached_property
    def _layers(self) -> recorded.Layers:
        return self.layers()
