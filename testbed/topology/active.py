"""The running parts of a topology: links, cross traffic, and the settings of places."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.common.kernel_sampling import BatchSampler
from priolab.common.process.processes import Process
from priolab.netem.interface_counters import Received
from priolab.netem.link_changer import LinkChanger
from priolab.netem.shaper_kind import Shaper


@dataclass(frozen=True, kw_only=True)
class Portrayed:
    """A place's settings by name (common/snapshot). asked: the lab's requests. seen: what is there.

    unusual: settings that the place began with, as NAME=VALUE, and that are not Linux's defaults: the machine's own.
    """

    place: str
    asked: Mapping[str, str]
    seen: Mapping[str, str]
    unusual: Sequence[str] = ()


Look = Callable[[int], int | None]
"""A function that is called again and again, to take samples or for other periodic work.

Its argument is the present time. It returns the time at which it must be called next.

Times are CLOCK_MONOTONIC in ns. None means that the function need not be called again.
"""


@dataclass(frozen=True, kw_only=True)
class ActiveLink:
    """The running link.

    shaper: the kind of shaper. commands: the commands that made the link. pid: the process id of the ferry; None if the
    kernel shapes, or if this process cannot see the ferry. instead_of_netem: the reason why SHAPER=auto did not use
    netem; None if SHAPER=auto used netem, or if the order names a shaper.

    check_alive: raises StepFailed if the link has ended. counters: returns the counters of each direction. look:
    samples the queue and applies due rate steps, unless the link does so itself. begin: gets the time at which the
    measured load began, and starts the rate steps. Their journal changes.jsonl is complete when the link has ended.
    look and begin raise StepFailed. carried: returns the counts of the frames that the link has received from its
    far end so far. in_batches: the sampler of the queue, if the kernel can take its samples. changer: gives the link
    other values; None for a link that keeps its own.
    """

    shaper: Shaper
    instead_of_netem: str | None
    pid: int | None
    commands: Sequence[Sequence[str]]
    check_alive: Callable[[], None]
    counters: Callable[[], Mapping[str, Any]]
    carried: Callable[[], Received]
    look: Look
    begin: Callable[[int], object]
    in_batches: BatchSampler | None = None
    changer: LinkChanger | None = None


@dataclass(frozen=True, kw_only=True)
class ActiveCross:
    """The running cross traffic. processes: its sender and its receiver.

    carried: returns the counts of the frames that the link has received from the cross traffic so far. sending_us:
    returns, for each flow, how long its kernel has had bytes to send so far. portrayed: returns the settings of the
    cross traffic's place.
    """

    processes: Sequence[Process]
    carried: Callable[[], Received]
    sending_us: Callable[[], Sequence[int]]
    portrayed: Callable[[], Portrayed]


def no_look(now_ns: int) -> None:
    """Does nothing. Stands for the periodic function (Look) of a part that does its work itself, or has no work."""
    del now_ns
