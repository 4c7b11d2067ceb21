"""Loads the pages: plans the loads, starts the client, and runs samplers and tuner until the client has ended."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial

from priolab.client.plan import DECOY_QUERY, page_plan
from priolab.client.priorities import Priorities
from priolab.common.formats.counters import Counters, FrontReading
from priolab.common.formats.files import write_json
from priolab.common.formats.plan import Plan, Protocol
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import OptionsSample, ProcessSample
from priolab.common.kernel_sampling import Batches, batches
from priolab.common.process import processes
from priolab.common.process.processes import Process
from priolab.common.sleeping import sleep_until
from priolab.common.timeouts import BLAME_S
from priolab.experiments.hosts.experiment_hosts import (
    CLIENT_PORT,
    FRONT_PORT,
    SERVER_NAME,
    ActiveTuner,
    Hosts,
    Sampling,
)
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.browser import client_command, last_event_ns
from priolab.experiments.run.checks.rate_steps import Span
from priolab.experiments.run.checks.settings import check_seen
from priolab.experiments.run.client_output import Listening
from priolab.experiments.run.upstream_proxy import RunningHop
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.calibration import Tolerance
from priolab.netem.interface_counters import Received
from priolab.proxy.counters import FrontCounters
from priolab.proxy.server import server_of
from priolab.testbed import ActiveLink, Look, io_uring, no_look

_CHECK_NS = 10**9
_NEVER_NS = 2**63


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions under which an arm runs.

    spec: the settings of the arm. tolerance: the allowed difference between the measured link and the requested one.
    in_guest: True in a guest, whose clock moves only when programs read it or wait. There the client connects at a
    whole second of the clock, so that the time of the connection does not depend on how often programs read the clock
    before. And the kernel takes samples in batches.
    """

    spec: RunSpec
    tolerance: Tolerance
    in_guest: bool = False


_SECOND_NS = 10**9
_FAST_BIT_S = 50_000_000
"""The rate from which on a client in a guest reads several packets at once. Slower, a load has few packets."""

_LOOKS_BEFORE_NS = 10**7
"""The time in ns from the first call of the samplers until the client connects."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The result of the loads. span: the measured load. received: the traffic from the front during all loads.

    options: by place, the options of the places' live sockets. readings: those of the front's counters.
    """

    span: Span
    received: Received
    options: Mapping[str, Sequence[OptionsSample]]
    readings: Sequence[FrontReading]


def load_pages(
    places: Hosts,
    folder: RunFolder,
    servers: Sequence[Process],
    at_work: tuple[ActiveLink, ActiveTuner | None, RunningHop | None],
    conditions: Conditions,
    stands: Callable[[int], object],
) -> Loaded:
    """Loads the pages.

    servers: the processes that must live during the loads; the first is the front. at_work: the running link, the
    running tuner, which is None if LOWAT is not auto, and the running second hop, which is None without VIA. stands:
    called once with the time, when the client's connection stands and the first load begins. Raises StepFailed, and
    InvalidRun if the front was not sampled until the end.
    """
    link, tuner, hop = at_work
    scenario = conditions.spec.scenario
    plan = _plan(places, scenario, conditions)
    (folder.client / "plan.json").write_text(plan.to_json())
    command = client_command(scenario, places.seen(folder), places.python, conditions.spec.tools)
    sampling = conditions.spec.sampling
    interval_ns = None if sampling is None else sampling.measured_ns
    over_tcp = server_of(scenario.server).over_tcp
    before = link.carried()
    with (
        places.sampling(servers[0], folder.front, interval_ns) if over_tcp else _nothing(folder) as sampled,
        places.counting(servers[0], over_tcp=over_tcp) as counters,
        nullcontext(_Loads(plan, servers, link, hop, counters, conditions, stands)) as loads,
        Listening(pass_on=lambda line: print(line, flush=True), began=loads.begin, ended=loads.end) as listening,
        places.start_client(command, folder.client / "output.log", listening.writing) as client,
        places.live_sockets(None if scenario.client.is_browser else client) as sockets,
        _batches(sampled, link, conditions) as loads.batched,
    ):
        listening.started()
        if loads.plan.begins_ns is not None:
            sleep_until(loads.plan.begins_ns - _LOOKS_BEFORE_NS)
        looks = [loads.seldom(sampled.look), loads.seldom(link.look), no_look if tuner is None else tuner.look]
        looks += [partial(loads.check, sockets.look), *map(loads.seldom, hop.looks if hop else ())]
        _watch(client, listening, looks, processes.readable if loads.batched is None else loads.batched.select)
        if loads.batched is not None:
            loads.batched.finish()
        loads.end()
        # If the front has ended, this is the error to report; the client's broken connection is only a consequence.
        loads.check_alive()
        sampled.look(time.monotonic_ns())
        if not client.succeeded:
            time.sleep(BLAME_S)
            loads.check_alive()
            sampled.look(time.monotonic_ns())
        client.check_success()
        ended_ns = time.monotonic_ns() if not scenario.client.is_browser else last_event_ns(folder)
    write_json(folder.front / "counters.json", asdict(Counters(readings=tuple(loads.readings))))
    span, received = Span(began_ns=loads.began_ns, ended_ns=ended_ns), link.carried().since(before)
    if over_tcp:
        check_seen(read_journal(folder.front / "process.jsonl", ProcessSample), ended_ns)
    return Loaded(span=span, received=received, options=sockets.samples, readings=loads.readings)


class _Loads:
    """The loads at work. began_ns: the time at which the measured load began; 0 before."""

    def __init__(
        self,
        plan: Plan,
        servers: Sequence[Process],
        link: ActiveLink,
        hop: RunningHop | None,
        counters: FrontCounters,
        conditions: Conditions,
        stands: Callable[[int], object],
    ) -> None:
        self._stands = stands
        self.plan = plan
        self.began_ns = 0
        self.batched: Batches | None = None
        self.readings: list[FrontReading] = []
        self._counters = counters
        self._servers = servers
        self._link = link
        self._hop = hop
        self._sampling = conditions.spec.sampling
        self._changes = bool(conditions.spec.scenario.link.rate_steps or conditions.spec.scenario.link.traced)

    def begin(self, number: int, t_ns: int) -> None:
        """Takes note of the beginning of a load. Samples come more often from the measured load on."""
        if not self.readings:
            self._stands(t_ns)
        self._read_counters(number)
        if number == self.plan.loads:
            self.began_ns = t_ns
            if self._changes:
                self._link.begin(t_ns)
            if self.batched is not None and self._sampling is not None:
                self.batched.set_interval(time.monotonic_ns(), self._sampling.measured_ns)

    def end(self) -> None:
        """Reads the fronts' counters at the end of the last load, once."""
        if len(self.readings) == self.plan.loads:
            self._read_counters(self.plan.loads + 1)

    def _read_counters(self, number: int) -> None:
        self.readings.append(self._counters.read(number))
        if self._hop is not None:
            self._hop.readings.append(self._hop.counters.read(number))

    def seldom(self, look: Look) -> Look:
        """Returns a function that calls the sampler `look`, but less often until the measured load begins."""

        def sample(now_ns: int) -> int | None:
            due_ns = look(now_ns)
            if due_ns is None or self._sampling is None or self.began_ns:
                return due_ns
            return max(due_ns, now_ns + self._sampling.before_ns - self._sampling.measured_ns)

        return sample

    def check(self, look_at_sockets: Callable[[int], object], now_ns: int) -> int:
        """Checks that all processes live, and takes samples of the places' sockets. Returns when it is due again."""
        self.check_alive()
        if self.began_ns:  # what is changed before the measured load is still changed then
            look_at_sockets(now_ns)
        return now_ns + _CHECK_NS

    def check_alive(self) -> None:
        """Raises StepFailed if a server, the link or the second hop has ended."""
        for server in self._servers:
            server.check_alive()
        self._link.check_alive()
        if self._hop is not None:
            self._hop.check_alive()


def _plan(places: Hosts, scenario: Scenario, conditions: Conditions) -> Plan:
    """Builds the client's plan. A browser's plan has no priorities, because the browser sends its own."""
    own = scenario.client.is_browser
    plan = page_plan(
        scenario.whole_page,
        address=places.addresses.front,
        port=FRONT_PORT,
        server_name=SERVER_NAME,
        priorities=Priorities.NONE if own else scenario.priorities,
        dialect=scenario.client_dialect,
        first=scenario.first,
        reloads=scenario.reloads,
        window_bytes=scenario.window_bytes,
        connection_window_bytes=scenario.connection_window_bytes,
        steps=scenario.steps,
        load_deadline_ns=conditions.spec.load_deadline_ns,
        source_port=None if own else CLIENT_PORT,
        protocol=Protocol(scenario.front.protocol),
        tls=scenario.front.tls,
        disturbance=scenario.disturb,
        decoy_query=DECOY_QUERY,
    )
    if conditions.in_guest:
        rates_bit_s = scenario.link.rates_bit_s
        plan = replace(
            plan,
            begins_ns=(time.monotonic_ns() // _SECOND_NS + 2) * _SECOND_NS,
            packets_at_once=scenario.steps is None and bool(rates_bit_s) and min(rates_bit_s) >= _FAST_BIT_S,
        )
    return plan


@contextmanager
def _nothing(folder: RunFolder) -> Iterator[Sampling]:
    """Replaces the sampling if the front does not use TCP: makes empty journals, and samples nothing."""
    for name in ("sockets.jsonl", "process.jsonl"):
        (folder.front / name).touch()
    yield Sampling(look=no_look)


@contextmanager
def _batches(sampled: Sampling, link: ActiveLink, conditions: Conditions) -> Iterator[Batches | None]:
    """Yields the batches of the samples of socket and queue; None on a real clock, and without such samples.

    The ring is made after the client has been forked.
    """
    samplers = [each.in_batches for each in (sampled, link) if each.in_batches is not None]
    sampling = conditions.spec.sampling
    if sampling is None or not conditions.in_guest or not samplers:
        yield None
        return
    with ExitStack() as stack:
        with io_uring.allowed():
            batched = stack.enter_context(batches(samplers, sampling.before_ns))
        yield batched


def _watch(
    client: Process,
    listening: Listening,
    looks: Sequence[Look],
    wait: Callable[[Sequence[int], float], Sequence[int]],
) -> None:
    """Calls each function of `looks` at the time that its last call returned, until the client has ended.

    After output of the client, all are called at once. wait: waits for descriptors until a timeout in s, and returns
    those that are readable.
    """
    next_ns = [0] * len(looks)
    while True:
        timeout_s = max(0, min(next_ns) - time.monotonic_ns()) / 10**9
        has_ended, has_written = client.wait_or_readable(timeout_s, listening.waited_for, wait)
        if has_ended:
            break
        if has_written and listening.hear():
            next_ns = [0] * len(looks)
        now_ns = time.monotonic_ns()
        for index, look in enumerate(looks):
            if next_ns[index] <= now_ns:
                due_ns = look(now_ns)
                next_ns[index] = _NEVER_NS if due_ns is None else due_ns
    listening.hear()
