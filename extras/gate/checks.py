"""The checks of a gate as values, and what each kind of check does, as data.

A kind of check is a row of KINDS: the pages of its probes, whose files have the priorities of each request, the dialect
that sends them, a disturbance, the question that the bytes answer, what must hold, and the fault that a wrong answer
names. Whoever adds a stimulus writes a page (experiments/scenario/pages/; pages/ here for one of several streams, with
`cue`), a row here, and a fault with its meaning (faults.py): files of expectations, trials in the lab and at a URL,
judgement and reports follow from these. A stimulus whose answer is no order of streams and not their sharing needs a
Question of its own, with its trials here and its judgement in judging.py.

A file of expectations is a TOML document of the form of `Expectations`. docs/guide/gate.md explains the checks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from priolab.analysis.judgement.late import Late
from priolab.analysis.judgement.order import Reading, Sharing
from priolab.analysis.judgement.sequence import Mistakes, Priority, Relation
from priolab.client import dialects
from priolab.client.dialects import Part
from priolab.client.plan import PlanKind
from priolab.common.errors import ScenarioError
from priolab.common.formats.plan import Disturbance
from priolab.common.formats.toml_schema import declared, read_toml
from priolab.common.tuning import NO_LIMIT
from priolab.experiments.commands.trial import Trial
from priolab.experiments.scenario import pages
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.stimuli import Stimulus, stimuli_of
from priolab.extras.gate.faults import Fault
from priolab.testbed import parsed_time_ns

DEFAULT = Path(__file__).parent / "rfc9218.toml"
"""The expectations that hold if the user gives none."""

_OPTION = "--expect"

_PAGES = Path(__file__).parent / "pages"


class Several(StrEnum):
    """The findings of a probe of several streams."""

    IN_ORDER = "in order"
    WRONG = "wrong"
    """Some streams did not get what they asked for."""
    ALL_TURNED = "turned round"
    """All streams that did not get what they asked for came in the opposite order."""
    ALL_SHARED = "shared"
    """All streams that did not get what they asked for shared the window."""
    STALLED = "stalled"
    """The server sent nothing, though it could."""
    BROKEN = "broken off"
    """The server ended the connection or a stream."""
    UNFINISHED = "unfinished"
    """A stream never ended."""
    ENDS_LATE = "ends late"
    """A stream ended long after its last byte."""
    PASSED_OVER = "passed over"
    """Only streams of the same urgency as a blocked one, without it, did not get what they asked for."""
    FORGOTTEN = "forgotten"
    """Only streams whose windows were opened late did not get what they asked for."""
    REOPENED = "as opened"
    """Streams of one urgency came in the order in which their windows were opened."""


HOLDS: Mapping[str, tuple[StrEnum, ...]] = {
    "strict": (Reading.STRICT,),
    "followed": (Reading.STRICT, Reading.PROPORTIONAL),
    "shared": (Sharing.SHARED,),
    "in turn": (Sharing.REQUESTED_FIRST, Sharing.REQUESTED_LAST),
    "kept": (Late.KEPT,),
    "in order": (Several.IN_ORDER,),
    "even": (Several.IN_ORDER,),
}
"""For each value of `must` the answers with which a check holds."""


class Question(StrEnum):
    """The question that the trials of a check answer."""

    ORDER = "order"
    """Does the server send first what the client asks for first? Two probes for each page, with opposite orders."""
    SHARING = "sharing"
    """Do two streams of the same priority share the window? One probe."""
    SEVERAL = "several"
    """Do several streams come in the order that their priorities ask for? One probe with a page of pages/."""
    LATE = "late"
    """Does a late urgent resource overtake? Page loads over the lab's slow link."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of check.

    faults: for each value that `must` may have, the default first, the fault that each wrong answer names. pages: the
    page, and those that are asked as well in dialects that send weights. dialect: the default. parts: of these the
    dialect must have one. keys: further keys of the check, with their defaults. mistakes: of a question about
    several streams, the mistakes in reading a priority that have names. wholes: True if those have names that
    are one for all streams. offenders: the fault of each stream that gets
    bytes while a more urgent one waits, however few in the whole. ties: what must hold there of streams of one urgency
    without incremental. basics: the kinds of checks from whose failure one of this kind follows.
    in_lab: True if the trials need the lab's link or its origin. rule: what RFC 9218 says of the first value of `must`,
    where a server may have a reason to do something else; None where the guide says it of all.
    """

    question: Question
    faults: Mapping[str, Mapping[str, Fault]]
    pages: tuple[str, ...] = (Stimulus.USUAL,)
    dialect: str = "header"
    parts: tuple[Part, ...] = tuple(Part)
    disturbance: Disturbance | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    mistakes: Mistakes = field(default_factory=dict)
    wholes: bool = False
    offenders: Mapping[str, Fault] = field(default_factory=dict)
    ties: Relation = Relation.ANY
    basics: tuple[str, ...] = ("urgency",)
    in_lab: bool = False
    rule: str | None = None

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The keys of a check beside its kind, with their defaults."""
        return {"dialect": self.dialect, "must": next(iter(self.faults)), **self.keys}


_NEAR = str(_PAGES / "near.toml")
"""A page of two resources on one side of the default: which of them lost its priority does not matter."""

_SHOULD = "RFC 9218, 10, says SHOULD of this"

_URGENCY: Mapping[str, Fault] = {
    Reading.IGNORED: Fault.IGNORES_URGENCY,
    Reading.PROPORTIONAL: Fault.SHARES,
    Reading.CONTRARY: Fault.INVERTS,
}


def _of_order(faults: Mapping[str, Fault]) -> Mapping[str, Mapping[str, Fault]]:
    """Returns the faults of a kind that asks for an order. faults: by the answer."""
    return {"strict": faults, "followed": faults}


def _always(fault: Fault) -> Mapping[str, Mapping[str, Fault]]:
    return _of_order(dict.fromkeys(Reading, fault))


def _several(
    name: str,
    wrong: Fault,
    *,
    mistakes: Mistakes | None = None,
    wholes: bool = False,
    offenders: Mapping[str, Fault] | None = None,
    ties: Relation = Relation.ANY,
    basics: tuple[str, ...] = ("urgency",),
    must: str = "in order",
    keys: Mapping[str, Any] | None = None,
    in_lab: bool = False,
    rule: str | None = None,
    **others: Fault,
) -> Kind:
    """Returns a kind of check about several streams. name: that of its page. wrong, others: the faults, by answer."""
    faults: dict[str, Fault] = dict.fromkeys((Several.WRONG, Several.ALL_TURNED, Several.ALL_SHARED), wrong)
    faults |= {Several.STALLED: Fault.STARVES, Several.REOPENED: Fault.REQUEUES}
    faults |= {Several.PASSED_OVER: Fault.SKIPS_LEVEL, Several.FORGOTTEN: Fault.FORGETS_BLOCKED}
    return Kind(
        question=Question.SEVERAL,
        pages=(str(_PAGES / f"{name}.toml"),),
        faults={must: faults | {Several[key.upper()]: fault for key, fault in others.items()}},
        parts=(Part.HEADER,),
        mistakes=mistakes or {},
        wholes=wholes,
        offenders=offenders or {},
        ties=ties,
        basics=basics,
        keys=keys or {},
        in_lab=in_lab,
        rule=rule,
    )


_USUAL = Priority()
_LEVELS: Mistakes = {
    "zero": {_USUAL: Fault.ZERO_IS_DEFAULT, Priority(1): Fault.COARSE, Priority(2): Fault.COARSE},
    "one": {Priority(2): Fault.COARSE},
    "five": {Priority(4): Fault.COARSE},
    "six": {Priority(4): Fault.COARSE},
    "seven": {_USUAL: Fault.SEVEN_IS_DEFAULT, Priority(4): Fault.COARSE, Priority(6): Fault.COARSE},
    "none": {Priority(each): Fault.WRONG_DEFAULT for each in (0, 1, 2, 4, 5, 6, 7)},
    "soon": {
        Priority(-2, incremental=True): Fault.INCREMENTAL_FIRST,
        Priority(2, incremental=True): Fault.COARSE,
        Priority(3, incremental=True): Fault.URGENCY_WITHOUT_I,
        Priority(6, incremental=True): Fault.INVERTS_INCREMENTAL,
        Priority(8, incremental=True): Fault.INCREMENTAL_LAST,
    },
    "later": {
        Priority(-2, incremental=True): Fault.INCREMENTAL_FIRST,
        Priority(2, incremental=True): Fault.INVERTS_INCREMENTAL,
        Priority(-1, incremental=True): Fault.INCREMENTAL_FIRST,
        Priority(1, incremental=True): Fault.SHARES_INCREMENTAL,
        Priority(3, incremental=True): Fault.URGENCY_WITHOUT_I,
        Priority(4, incremental=True): Fault.COARSE,
        Priority(8, incremental=True): Fault.INCREMENTAL_LAST,
        Priority(9, incremental=True): Fault.INCREMENTAL_LAST,
    },
}

KINDS: Mapping[str, Kind] = {
    # Of two streams, the more urgent one comes first.
    "urgency": Kind(
        question=Question.ORDER,
        basics=(),
        pages=(Stimulus.USUAL, Stimulus.STRONG),
        faults=_of_order(_URGENCY),
    ),
    # Two incremental streams of the same urgency share the window.
    "incremental": Kind(
        question=Question.SHARING,
        pages=(Stimulus.TWINS,),
        faults={
            "shared": dict.fromkeys(Sharing, Fault.IGNORES_INCREMENTAL),
            "in turn": dict.fromkeys(Sharing, Fault.TAKES_TURNS),
        },
        rule=_SHOULD,
    ),
    # A change of priority counts while the streams are open.
    "update": Kind(
        question=Question.ORDER,
        dialect="header+update",
        parts=(Part.UPDATE, Part.REPRIORITIZE),
        faults=_of_order({**_always(Fault.MISREADS_UPDATES)["strict"], Reading.CONTRARY: Fault.FORGETS_UPDATES}),
    ),
    # The order holds after the client has reset another stream.
    "reset": Kind(
        question=Question.ORDER,
        pages=(_NEAR,),
        disturbance=Disturbance.RESET,
        basics=("urgency", "levels", "patience"),
        faults=_of_order(
            {
                **_always(Fault.LOST_BY_RESET)["strict"],
                Several.BROKEN: Fault.BREAKS_AT_RESET,
                Several.UNFINISHED: Fault.LOSES_STREAM,
            }
        ),
    ),
    # The order holds while another connection asks for the opposite order with the same stream numbers.
    "connections": Kind(
        question=Question.ORDER,
        pages=(_NEAR,),
        disturbance=Disturbance.CONNECTION,
        basics=("urgency", "levels", "patience"),
        faults=_always(Fault.MIXES_CONNECTIONS),
    ),
    # Urgencies on the same side of the default, and no field.
    "levels": _several("levels", Fault.UNORDERED, mistakes=_LEVELS, wholes=True, basics=("urgency", "patience")),
    # Twenty streams come in the order of their urgencies.
    "many": _several("twenty", Fault.MANY, wholes=True, basics=("urgency", "patience", "levels")),
    # Of streams of one urgency, earlier requests come first.
    "arrival": _several(
        "turn",
        Fault.NO_ARRIVAL,
        wholes=True,
        ties=Relation.FIRST,
        basics=("urgency", "patience"),
        rule=_SHOULD,
        all_shared=Fault.SHARES_EQUALS,
        all_turned=Fault.LAST_FIRST,
    ),
    # Incremental streams of one urgency get equal parts, and do not wait for one whose window is closed.
    "fair": _several(
        "fair",
        Fault.UNFAIR,
        basics=("urgency", "patience", "levels", "incremental"),
        must="even",
        keys={"tolerance": 0.2},
        rule=f"{_SHOULD}, and not that the parts are equal",
        stalled=Fault.WAITS_FOR_BLOCKED,
    ),
    # A stream whose window is closed does not hold up the others, and comes first when it opens.
    "blocked": _several(
        "blocked",
        Fault.FORGETS_BLOCKED,
        basics=("urgency", "patience", "late"),
        stalled=Fault.WAITS_FOR_BLOCKED,
    ),
    # Less urgent streams wait, however long, whatever their size, and whenever they were requested.
    "patience": _several(
        "patience",
        Fault.IMPATIENT,
        offenders={"low": Fault.AGES, "small": Fault.SMALL_FIRST},
    ),
    # An urgent request overtakes streams that are being sent.
    "preemption": _several("preempt", Fault.NO_PREEMPTION, basics=("urgency", "patience", "levels")),
    # Changes of priority before the request, twice, and with parameters left out.
    "updates": _several(
        "updates",
        Fault.MISREADS_UPDATES,
        wholes=True,
        broken=Fault.BREAKS_AT_UPDATE,
        basics=("urgency", "patience", "update", "levels", "incremental", "fair"),
        mistakes={
            "early": {_USUAL: Fault.EARLY_UPDATE},
            "over": {Priority(1): Fault.EARLY_UPDATE},
            "reference": {Priority(7): Fault.UPDATE_AT_ONCE},
            "twice": {Priority(7): Fault.SECOND_UPDATE, Priority(1): Fault.FORGETS_UPDATES},
            "replaced": {Priority(0, incremental=True): Fault.MERGES_UPDATES},
            **{key: {Priority(6): Fault.URGENCY_UPDATES} for key in ("on", "on2")},
        },
    ),
    # Unknown and malformed parameters are ignored.
    "parameters": _several(
        "parameters",
        Fault.MISREADS_PARAMETERS,
        wholes=True,
        ties=Relation.IN_TURN,
        basics=("urgency", "patience", "levels", "many", "incremental", "fair"),
        broken=Fault.BREAKS_OFF,
        mistakes={
            "eight": {Priority(each): Fault.OUT_OF_RANGE for each in (0, 7)},
            "minus": {Priority(each): Fault.OUT_OF_RANGE for each in (0, 1, 7)},
            "ten": {Priority(each): Fault.OUT_OF_RANGE for each in (0, 1, 7)},
            "letter": {Priority(each): Fault.NO_INTEGER for each in (0, 1, 7)},
            "part": {Priority(each): Fault.NO_INTEGER for each in (1, 2)},
            "lines": {Priority(3, incremental=True): Fault.ONE_LINE, Priority(7): Fault.ONE_LINE},
            "lines2": {Priority(3, incremental=True): Fault.ONE_LINE, Priority(7): Fault.ONE_LINE},
            "tight": {Priority(3, incremental=True): Fault.NO_SPACE, _USUAL: Fault.NO_SPACE},
            "unknown": {_USUAL: Fault.UNKNOWN_PARAMETER},
            "junk": {Priority(1): Fault.MALFORMED},
            "upper": {Priority(1): Fault.MALFORMED},
            "two": {_USUAL: Fault.ITS_PARAMETERS},
            **{key: {Priority(6, incremental=True): Fault.FALSE_IS_TRUE} for key in ("no", "no2")},
            **{key: {Priority(5, incremental=True): Fault.NUMBER_IS_TRUE} for key in ("number", "number2")},
            **{key: {Priority(6): Fault.TRUE_IS_FALSE} for key in ("yes", "yes2")},
            "again": {Priority(0): Fault.FIRST_OF_KEY, _USUAL: Fault.FIRST_OF_KEY},
        },
    ),
    # Requests on a connection that has been used count as the first ones. An update of an ended stream does no harm.
    "used": _several(
        "used",
        Fault.LATER_REQUESTS,
        basics=("urgency", "patience", "levels"),
        broken=Fault.BREAKS_AT_UPDATE,
        mistakes={
            "none": {Priority(0): Fault.STALE, Priority(7): Fault.STALE},
            "one": {Priority(7): Fault.WRONG_STREAM},
        },
    ),
    # The priorities of the origin's responses count, where they state one.
    "response": _several(
        "response",
        Fault.MISREADS_RESPONSE,
        basics=("urgency", "levels", "incremental", "fair"),
        in_lab=True,
        rule="RFC 9218, 8, leaves this to the intermediary",
        mistakes={
            "lowered": {Priority(1): Fault.IGNORES_RESPONSE},
            "raised": {Priority(7): Fault.IGNORES_RESPONSE},
            **{
                key: {Priority(3, incremental=True): Fault.IGNORES_RESPONSE, Priority(5): Fault.REPLACES_BY_RESPONSE}
                for key in ("kept", "kept2")
            },
            "turned": {Priority(1): Fault.IGNORES_RESPONSE, Priority(3, incremental=True): Fault.REPLACES_BY_RESPONSE},
        },
    ),
    # A late urgent resource overtakes, in every load of a connection.
    "late": Kind(
        question=Question.LATE,
        in_lab=True,
        faults={
            "kept": {
                Late.STARVED: Fault.STARVES,
                Late.LOST: Fault.BUFFERS,
                Late.LOST_LATER: Fault.ONLY_FIRST_LOAD,
                Late.EXCEEDS: Fault.BUFFERS,
                Several.ENDS_LATE: Fault.ENDS_LATE,
            }
        },
        basics=("urgency", "preemption", "used"),
        keys={
            "page": "maps",
            "lowat": 16384,
            "native": False,
            "loads": 3,
            "late_by": None,
            "needless_bytes": None,
        },
    ),
}
"""The kinds of checks, by their names in a file."""

_DEFAULT: Any = None
"""The value of a key that the file leaves out, until the check has its kind's default."""


def dialect_of(text: str) -> dialects.Dialect:
    """Returns the dialect of this name. Raises ValueError, which says what is allowed."""
    try:
        return dialects.parse(text)
    except ValueError as error:
        raise ValueError(f"dialect {text}: {error}; allowed: {KNOBS['DIALECT'].allowed}") from error


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A check. Keys that are not given have the defaults of its kind. Raises ValueError.

    dialect: the signals with which the client asks for an order. must: what must hold. For `late` alone: page: the
    page. lowat: TCP_NOTSENT_LOWAT in bytes, which the lab sets with the sysctl. native: True to leave it to the server,
    with the level `on` of `native` in its server.toml; then lowat does not count. loads: page loads on the connection.
    late_by, needless_bytes: how late the important resource may come in the last load, as a time such as 500ms, and how
    many needless bytes may come before it; None for no limit. For `fair` alone: tolerance: how far from a half the
    share of a stream beside another one may be.
    """

    kind: Annotated[str, msgspec.Meta(description=", ".join(KINDS))]
    dialect: Annotated[str, msgspec.Meta(description="a dialect, as the knob DIALECT takes it")] = _DEFAULT
    must: str = _DEFAULT
    page: str = _DEFAULT
    lowat: Annotated[int, msgspec.Meta(ge=1, le=NO_LIMIT, description=f"1 to {NO_LIMIT}")] = _DEFAULT
    native: bool = _DEFAULT
    late_by: Annotated[str, msgspec.Meta(description="a time such as 500ms, from 0ms to 60s")] | None = _DEFAULT
    needless_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**30, description=f"0 to {2**30}")] | None = _DEFAULT
    tolerance: Annotated[float, msgspec.Meta(ge=0.0, le=0.5, description="a number from 0 to 0.5")] = _DEFAULT
    loads: Annotated[int, msgspec.Meta(ge=1, le=10, description="1 to 10")] = _DEFAULT

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind} is not allowed; allowed: {', '.join(KINDS)}")
        defaults = self.row.defaults
        for key in self.__struct_fields__[1:]:
            if getattr(self, key) is None:
                msgspec.structs.force_setattr(self, key, defaults.get(key))
            elif key not in defaults:
                raise ValueError(f"{key} is not allowed in a check {self.kind}; allowed: kind, {', '.join(defaults)}")
        if self.must not in self.row.faults:
            raise ValueError(f"must={self.must} is not allowed; allowed: {', '.join(self.row.faults)}")
        _ = self.late_by_ns
        if not set(self.row.parts) & set(dialect_of(self.dialect).parts):
            raise ValueError(
                f"{self.dialect} is not allowed in a check {self.kind}; allowed: a dialect with"
                f" {' or '.join(self.row.parts)}"
            )

    @property
    def row(self) -> Kind:
        """The row of KINDS for the check."""
        return KINDS[self.kind]

    @property
    def rule(self) -> str | None:
        """The words of RFC 9218 on what must hold, where a server may do something else."""
        return self.row.rule if self.must == next(iter(self.row.faults)) else None

    @property
    def late_by_ns(self) -> int | None:
        """The limit `late_by`; None for no limit. Raises ValueError."""
        if self.late_by is None:
            return None
        try:
            return parsed_time_ns("late_by", self.late_by, "0ms", "60s")
        except ScenarioError as error:
            raise ValueError(str(error)) from error

    @property
    def name(self) -> str:
        """The name of the check: its kind and its dialect."""
        return f"{self.kind}, {self.dialect}"

    def trials(self) -> Iterator[tuple[str, Trial]]:
        """Yields the trials, each with its name in the check."""
        dialect = dialect_of(self.dialect)
        if self.row.question is Question.LATE:
            lowat_bytes = None if self.native else self.lowat
            yield (
                "loads",
                Trial(
                    plan=PlanKind.LOADS,
                    page=self.page,
                    dialect=dialect,
                    lowat_bytes=lowat_bytes,
                    native=self.native,
                    loads=self.loads,
                ),
            )
            return
        usual, *weighed = self.row.pages
        for page in (usual, *(each for each in weighed if each in stimuli_of(dialect))):
            trial = Trial(page=page, dialect=dialect, disturbance=self.row.disturbance)
            if self.row.question in (Question.SHARING, Question.SEVERAL):
                yield Path(page).stem, trial
                continue
            suffix = "" if page == usual else f"-{page}"
            yield from zip((f"asked{suffix}", f"swapped{suffix}"), trial.pair, strict=True)


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


def read_expectations(file: Path) -> Expectations:
    """Reads a file of expectations. Raises ScenarioError, whose one line says where in the file the fault is."""
    where = f"{_OPTION}={file}"
    read = declared(where, read_toml(_OPTION, file), Expectations)
    for text in (check.page for check in read.check if check.page is not None):
        if text not in pages.catalogue() and not (text.endswith(".toml") and Path(text).is_file()):
            allowed = f"{', '.join(pages.catalogue())}, or the path of a file, from the current folder, in .toml"
            raise ScenarioError(f"{where}: page", text, allowed)
    return read
