"""Strategies of hypothesis for schedules of faults. Hypothesis shrinks them in its own way.

    from priolab.testbed.sandbox.strategies import schedules

    @given(schedule=schedules("partition, crash server, LOSS<=30%", hosts=["server", "phone"]))
    def test_it(schedule):
        with Sandbox(server=..., hosts=..., schedule=schedule) as sandbox:
            ...

The module needs the package hypothesis, and nothing else in the lab imports it.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from priolab.testbed.sandbox import knobs
from priolab.testbed.sandbox.faults import Faults, Schedule, schedule_of_faults
from priolab.testbed.sandbox.spec import CLIENT, ENVIRONMENT, SERVER, SandboxSpec, check_host


def schedules(
    faults: str,
    *,
    hosts: Collection[str] = (SERVER,),
    links: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    limit_s: float = knobs.LIMIT_S,
) -> st.SearchStrategy[Schedule]:
    """Returns a strategy for what `schedule` of a Sandbox takes. Raises ScenarioError.

    faults: as `--faults`. hosts: those beside the client on which a command runs. links: the knobs of the links at the
    beginning, by hosts, of the client's too. limit_s: the client's longest time.
    """
    given = {name: knobs.of_way(link) for name, link in {CLIENT: {}, **links}.items()}
    further = [name for name in hosts if name != SERVER]
    for number, name in enumerate(further):
        check_host("hosts", name, further[:number])
    spec = SandboxSpec(
        knobs=given.pop(CLIENT),
        seed=0,
        client=("true",),
        server=("true",) if SERVER in hosts else None,
        hosts=dict.fromkeys(further, ("true",)),
        links=given,
        environment=ENVIRONMENT,
        folder="/",
        limit_ns=round(limit_s * 10**9),
    )
    found = Faults.parse(faults, spec, "faults")

    @st.composite
    def drawn(draw: Any) -> Schedule:
        return schedule_of_faults(found.chosen(lambda least, most: int(draw(st.integers(least, most)))))

    return drawn()
