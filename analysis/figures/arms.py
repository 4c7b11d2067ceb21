"""Reads the data of the figures: from each arm of an experiment the typical run, with the run's logs.

An arm's typical run is the repetition with the median first byte (`priolab.analysis.reports.summary.typical`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from priolab.analysis.loads.findings import judgement
from priolab.analysis.loads.ledger import Ledger
from priolab.analysis.loads.ledger_builder import NoLedger, ledger
from priolab.analysis.loads.metrics import PageLoad, measured_load
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.records.link_words import link_words
from priolab.analysis.records.rate import steps_of
from priolab.analysis.records.runs import Evidence, Experiment, Layers, Run
from priolab.analysis.reports.summary import typical
from priolab.common.amounts import kilobytes, plain
from priolab.common.formats.scenario import ScenarioRecord, bytes_in_words

CLIENTS: Mapping[str, str] = MappingProxyType(
    {"h2": "h2", "chromium": "Chromium", "firefox": "Firefox", "webkit": "WebKitGTK"}
)
"""The clients' names in figures."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The typical run of an arm, with the run's logs. Figures show only data that follow from these logs.

    server: the name of the front; None if all arms have the same front. client: the name of the client; None if all
    arms have the same client. called: the arm's name in figures; None for a name made from server, client and LOWAT.
    """

    run: Run
    evidence: Evidence
    layers: Layers
    load: PageLoad
    judgement: Judgement
    server: str | None = None
    called: str | None = None
    client: str | None = None

    @property
    def lowat(self) -> int | None:
        """LOWAT in bytes; None if LOWAT is unset or auto."""
        lowat = self.run.scenario.lowat
        return lowat if isinstance(lowat, int) else None

    @property
    def name(self) -> str:
        """The arm's name in figures, which distinguishes the arm from the other arms."""
        if self.called is not None:
            return self.called
        return f"{self.client}, {self.setting}" if self.client else self.setting

    @property
    def setting(self) -> str:
        """The arm's server, LOWAT and VIA_LOWAT in words, without the client."""
        lowat, via = self.run.scenario.lowat, self.run.scenario.via
        words = f"LOWAT {'unset' if lowat is None else lowat}"
        if via is not None:
            words += f", VIA_LOWAT {'unset' if via.lowat is None else via.lowat}"
        return f"{self.server}, {words}" if self.server else words

    def ledger(self) -> Ledger | None:
        """Returns the ledger; None if the logs do not suffice for a ledger."""
        try:
            return ledger(self.load, self.evidence, self.layers, self.run.scenario, self.judgement.sooner)
        except NoLedger:
            return None


def arms(experiment: Experiment) -> list[Arm]:
    """Returns the arms with an ok run, in the experiment's order. Raises FolderError."""
    runs = [run for repetitions in experiment.arms().values() if (run := typical(repetitions)) is not None]
    servers, clients = [_front(run) for run in runs], [_client(run) for run in runs]
    return [
        arm_of(
            run,
            server=server if len(set(servers)) > 1 else None,
            client=client if len(set(clients)) > 1 else None,
        )
        for run, server, client in zip(runs, servers, clients, strict=True)
    ]


def _front(run: Run) -> str:
    """Returns the name of the front: its server, the files that the user gave for it, and the second front."""
    scenario = run.scenario
    via = scenario.via and scenario.via.server
    knobs = {"PROGRAM": scenario.program, "CONFIG": scenario.config, "VIA": via}
    return " ".join([scenario.server, *(f"{knob}={value}" for knob, value in knobs.items() if value is not None)])


def _client(run: Run) -> str:
    return CLIENTS[run.scenario.client]


def arm_of(run: Run, *, server: str | None = None, client: str | None = None, called: str | None = None) -> Arm:
    """Reads the logs of a run that is ok. Raises FolderError.

    server, client: the names of front and client; None if all arms of the figure have the same one. called: the arm's
    name in the figure; None for a name made from server, client and LOWAT.
    """
    evidence, layers = run.evidence(), run.layers()
    load = measured_load(evidence)
    return Arm(
        run=run,
        evidence=evidence,
        layers=layers,
        load=load,
        judgement=judgement(load, evidence, layers, run.scenario),
        server=server,
        client=client,
        called=called,
    )


def longest_s(shown: Sequence[Arm]) -> float:
    """Returns the time until the last byte of all arms, in seconds since the page was requested."""
    return max(arm.load.ms(arm.load.complete_ns) for arm in shown) / 1000


def headline(experiment: Experiment, shown: Sequence[Arm]) -> Iterator[str]:
    """Yields the texts above a figure: the settings, then the name and status of each arm without an ok run."""
    yield from facts(shown, experiment.record.fabric)
    names = {arm.run.arm for arm in shown}
    yield from (f"{name}: {runs[0].status}" for name, runs in experiment.arms().items() if name not in names)


def facts(shown: Sequence[Arm], fabric: str) -> Iterator[str]:
    """Yields the settings to name above a figure: servers and clients of all arms, other settings of the first arm."""
    run = shown[0].run
    scenario = run.scenario
    rate = scenario.rate_bit_s
    yield ", ".join(dict.fromkeys(_front(arm.run) for arm in shown))
    clients = list(dict.fromkeys(_client(arm.run) for arm in shown))
    if clients != [CLIENTS["h2"]]:
        yield ", ".join(clients)
    yield "unlimited rate" if rate is None else _rate(rate, scenario)
    if steps := steps_of(scenario):
        yield ", ".join(f"{kilobytes(rate_bit_s)} from {plain(at_ns / 10**9)} s" for at_ns, rate_bit_s in steps)
    yield f"delay {plain(scenario.delay_ns / 10**6)} ms"
    if queue := bytes_in_words(scenario.queue_bytes, scenario.queue_up_bytes):
        yield f"queue {queue}"
    yield scenario.congestion_control
    yield f"send buffer {_buffer(scenario.sndbuf_bytes)}"
    # A browser opens spare connections.
    on = "one connection" if clients == [CLIENTS["h2"]] else "the connection that carried it"
    yield f"page load {run.record.measured.load} on {on}"
    yield from scenario.unusual
    yield from link_words(scenario)
    made = (fabric, run.observed.shaper)
    yield ", ".join(str(word) for word in made if word)


def _rate(bit_s: int, scenario: ScenarioRecord) -> str:
    if scenario.trace is None:
        return f"{kilobytes(bit_s)} ({plain(bit_s / 1000)} kbit/s)"
    return f"on average {bit_s / 8000:,.0f} kB/s ({bit_s / 1000:,.0f} kbit/s)"


def _buffer(size_bytes: int | None) -> str:
    if size_bytes is None:
        return "stock"
    return f"{plain(size_bytes / 2**20)} MiB" if size_bytes >= 2**20 else f"{plain(size_bytes / 1024)} KiB"
