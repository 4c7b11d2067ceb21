"""The expectations of a gate as values: a list of checks, each with what must hold. Pure.

A file of expectations is a TOML document of this form; extras/gate/expectations_file.py reads it. docs/guide/gate.md
explains the checks.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from priolab.client import dialects
from priolab.client.plan import PlanKind
from priolab.client.priorities import Priorities
from priolab.common.formats.plan import Disturbance
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.stimuli import Stimulus, stimuli_of

Dialect = Annotated[str, msgspec.Meta(description="a dialect, as the knob DIALECT takes it")]


class Order(StrEnum):
    """The strictness with which a server must follow the order that the client asks for."""

    STRICT = "strict"
    """The resource asked for first gets the whole window."""
    FOLLOWED = "followed"
    """The resource asked for first gets more of the window than the other one."""


class Sharing(StrEnum):
    """The ways to serve two incremental streams of the same urgency."""

    SHARED = "shared"
    IN_TURN = "in turn"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A load of a check.

    role: the name of the trial in its check. page: the name of a page. priorities: the order that the client asks for.
    lowat_bytes: LOWAT of the front; None for no limit. native: True if the server limits its unsent bytes itself.
    loads: the number of page loads on the connection.
    """

    role: str
    plan: PlanKind
    page: str
    dialect: str
    priorities: Priorities
    disturbance: Disturbance | None = None
    lowat_bytes: int | None = None
    native: bool = False
    loads: int = 1


def dialect_of(text: str) -> dialects.Dialect:
    """Returns the dialect of this name. Raises ValueError, which says what is allowed."""
    try:
        return dialects.parse(text)
    except ValueError as error:
        raise ValueError(f"dialect {text}: {error}; allowed: {KNOBS['DIALECT'].allowed}") from error


class _Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """A check. dialect: the signals with which the client asks for an order."""

    dialect: Dialect = "header"

    def __post_init__(self) -> None:
        dialect_of(self.dialect)

    @property
    def kind(self) -> str:
        """The kind of the check, as in the file."""
        return str(self.__struct_config__.tag)

    @property
    def name(self) -> str:
        """The name of the check: its kind and its dialect."""
        return f"{self.kind}, {self.dialect}"


class _Pair(_Check, frozen=True, kw_only=True):
    """A check by two probes, in which the client asks for the second resource first, and for the first one first."""

    must: Order = Order.STRICT

    def trials(self) -> Iterator[Trial]:
        """Yields the two probes."""
        yield from self.pair(Stimulus.USUAL)

    def pair(self, stimulus: Stimulus, suffix: str = "") -> Iterator[Trial]:
        """Yields the two probes with a stimulus. suffix: the end of their roles."""
        for role, priorities in (("asked", Priorities.SPDY), ("swapped", Priorities.SWAP)):
            yield Trial(
                role=f"{role}{suffix}",
                plan=PlanKind.PROBE,
                page=stimulus,
                dialect=self.dialect,
                priorities=priorities,
                disturbance=self.disturbance,
            )

    @property
    def disturbance(self) -> Disturbance | None:
        """The disturbance of the probes."""
        return None


class Urgency(_Pair, frozen=True, kw_only=True, tag="urgency"):
    """The server sends the more urgent of two streams.

    In a dialect that sends weights there are two more probes, with weights that differ much.
    """

    def trials(self) -> Iterator[Trial]:
        """Yields a pair of probes for each stimulus."""
        usual, *strong = stimuli_of(dialect_of(self.dialect))
        yield from self.pair(usual)
        for stimulus in strong:
            yield from self.pair(stimulus, f"-{stimulus}")


class Update(_Pair, frozen=True, kw_only=True, tag="update"):
    """The server follows a change of priority while the streams are open."""

    dialect: Dialect = "header+update"

    def __post_init__(self) -> None:
        parts = dialect_of(self.dialect).parts
        if not {dialects.Part.UPDATE, dialects.Part.REPRIORITIZE} & set(parts):
            raise ValueError(f"{self.dialect} changes no priority; allowed: a dialect with update or reprioritize")


class Reset(_Pair, frozen=True, kw_only=True, tag="reset"):
    """The server keeps the order after the client has reset another stream."""

    @property
    def disturbance(self) -> Disturbance | None:
        """The disturbance of the probes."""
        return Disturbance.RESET


class Connections(_Pair, frozen=True, kw_only=True, tag="connections"):
    """The server keeps the order while another connection asks for the opposite order with the same stream numbers."""

    @property
    def disturbance(self) -> Disturbance | None:
        """The disturbance of the probes."""
        return Disturbance.CONNECTION


class Incremental(_Check, frozen=True, kw_only=True, tag="incremental"):
    """Two incremental streams of the same urgency share the window."""

    must: Sharing = Sharing.SHARED

    def trials(self) -> Iterator[Trial]:
        """Yields the probe."""
        yield Trial(
            role="twins", plan=PlanKind.PROBE, page=Stimulus.TWINS, dialect=self.dialect, priorities=Priorities.SPDY
        )


class Late(_Check, frozen=True, kw_only=True, tag="late"):
    """A late urgent resource overtakes, in every load of a connection.

    page: the page. lowat: TCP_NOTSENT_LOWAT in bytes, which the lab sets with the sysctl. native: True to leave it to
    the server, with the level `on` of `native` in its server.toml; then lowat does not count. loads: page loads on the
    connection.
    """

    page: str = "maps"
    lowat: Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1, description=f"1 to {2**32 - 1}")] = 16384
    native: bool = False
    loads: Annotated[int, msgspec.Meta(ge=1, le=10, description="1 to 10")] = 3
    must: Literal["kept"] = "kept"

    def trials(self) -> Iterator[Trial]:
        """Yields the loads."""
        yield Trial(
            role="loads",
            plan=PlanKind.LOADS,
            page=self.page,
            dialect=self.dialect,
            priorities=Priorities.SPDY,
            lowat_bytes=None if self.native else self.lowat,
            native=self.native,
            loads=self.loads,
        )


Check = Urgency | Incremental | Update | Reset | Connections | Late


class Expectations(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a file of expectations. Raises ValueError if two checks are the same kind in the same dialect."""

    format: Literal[1]
    title: str = "expectations"
    check: Annotated[
        tuple[Check, ...], msgspec.Meta(min_length=1, max_length=50, description="1 to 50 tables [[check]]")
    ]

    def __post_init__(self) -> None:
        names = [each.name for each in self.check]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the check {twice[0]} is there twice")
