"""The stimuli of probes: the pages by which gate, `priolab probe` and the matrix ask a server for an order.

Each page has two resources, of which the second is the important one. Their priorities are those of the page's file.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import cycle

from priolab.analysis.loads.requested_share import Asked, asked
from priolab.client.dialects import Dialect, Part
from priolab.client.plan import PROBE_LEAST_BYTES, signals_for
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Protocol
from priolab.experiments.scenario.pages import Parameters, page_of


class Stimulus(StrEnum):
    """The pages of probes, by their names for the knob PAGE."""

    USUAL = "pair"
    """Weights 183 and 147, those of SPDY's levels 2 and 3, which ask for 55 %; and urgencies 2 and 5.

    Neither resource is incremental: a server that reads this parameter alone must not seem to follow urgencies.
    """
    STRONG = "strong"
    """Weights 256 and 32, which ask for 89 %.

    So a server that shares by weight differs from one that shares evenly, and from one that is strict, by several steps
    of the window. With 256 and 8 (97 %), Apache's shares are those of a strict server.
    """
    TWINS = "twins"
    """Two incremental resources of the same urgency."""


def stimuli_of(dialect: Dialect, protocol: Protocol = Protocol.HTTP2) -> tuple[Stimulus, ...]:
    """Returns the stimuli that show how a server reads a dialect: a strong one as well if the page's weights are sent.

    Browsers' trees have weights of their own, and HTTP/3 has no weights.
    """
    weighed = Part.PLAIN in dialect.parts or (Part.REPRIORITIZE in dialect.parts and dialect.tree is None)
    return (Stimulus.USUAL, Stimulus.STRONG) if weighed and protocol is Protocol.HTTP2 else (Stimulus.USUAL,)


def stimulus_page(stimulus: str, paths: Sequence[str]) -> Page:
    """Returns the page of a stimulus for a running server. paths: those of its resources, which take turns in them."""
    page = page_of(stimulus, Parameters(size_bytes=PROBE_LEAST_BYTES, script_delay_ns=0))
    pairs = zip(page.resources, cycle(paths), strict=False)
    return replace(page, resources=tuple(replace(each, path=path) for each, path in pairs))


def asked_by(
    stimulus: str, dialect: Dialect, protocol: Protocol = Protocol.HTTP2, priorities: Priorities = Priorities.SPDY
) -> tuple[Asked, ...]:
    """Returns what a client of this dialect asks for with a stimulus. Raises ValueError, as client.plan.page_plan."""
    page = stimulus_page(stimulus, ("/", "/"))
    said = signals_for(protocol, dialect, priorities, page, page.resources)
    return asked(said.requests, page.important[0].name, groups=said.groups, changes=said.changes)
