"""Shows on a terminal how an experiment's arms progress, with a clock that ticks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from priolab.experiments.commands.arms_at_work import ArmsAtWork, Planned
from priolab.experiments.commands.link_clock import link_s
from priolab.experiments.commands.live import live
from priolab.experiments.commands.live_lines import Line, lines
from priolab.experiments.execution import cost, pace
from priolab.experiments.execution.experiment import side_by_side
from priolab.experiments.execution.request import Request


def arms_at_work(request: Request) -> ArmsAtWork:
    """Returns the progress of an experiment before its first run."""
    scenarios = [arm.scenario for arm in request.arms]
    fabric = request.manner.fabric
    planned = {
        arm.name: (
            cost.cost_s(arm.scenario, virtual_clock=fabric.virtual_clock, sample=request.manner.sample),
            cost.link_s(arm.scenario),
        )
        for arm in request.arms
    }
    first = request.side_by_side or side_by_side(scenarios, fabric)
    start_s = cost.GUEST_S if fabric.virtual_clock else 0.0
    names = [(arm.name, number) for number in range(1, request.repeat + 1) for arm in request.arms]
    return ArmsAtWork(
        runs=[
            Planned(
                name=f"{arm}.{number}",
                arm=arm,
                cost_s=planned[arm][0] + (start_s if index < first else 0.0),
                link_s=planned[arm][1],
            )
            for index, (arm, number) in enumerate(names)
        ],
        side_by_side=first,
        starting="starting the guest" if fabric.virtual_clock else "starting",
        pace=pace.learned(pace.kind(scenarios, fabric)) if fabric.virtual_clock else 1.0,
        link_clock=link_s,
    )


@contextmanager
def display(console: Console, name: str, arms: ArmsAtWork, started_s: float) -> Iterator[None]:
    """Shows a line for each arm until the context ends, and then removes the lines.

    name: the experiment's name. started_s: the time at which the experiment began (time.monotonic).
    """

    def present(width: int, height: int) -> list[Line]:
        now_s = time.monotonic()
        return lines(name, arms.view(now_s), now_s - started_s, width=width, height=height)

    with live(console, present):
        yield
