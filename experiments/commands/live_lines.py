"""The lines that a terminal shows while runs are at work: a head, and a line for each arm or run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap

from rich.console import Console
from rich.live import Live
from rich.text import Text

from priolab.experiments.commands.durations import about, clock
from priolab.experiments.commands.printable import printable
from priolab.experiments.commands.progress import Row
from priolab.experiments.commands.run_state import WAITING

Line = tuple[str, str]
"""A line and its style, in rich's words."""

_PHASE = 28
_NUMBERS = (("link time", 9, 66), ("time", 6, 0), ("left", 6, 48))
"""Heading, width, and the least width of a terminal that shows the column."""
_SHORTEST_NAME = 8
_PER_SECOND = 4


@contextmanager
def live(console: Console, head: Callable[[], Line], rows: Callable[[], Sequence[Row]]) -> Iterator[None]:
    """Shows lines on a terminal, draws them anew several times a second, and removes them when the context ends.

    head, rows: return the present first line, and the present arms or runs. A thread calls them.
    """

    def drawn() -> Text:
        found = lines(head(), rows(), width=console.width, height=console.height)
        return Text("\n").join([Text(text, style=style) for text, style in found])

    with Live(get_renderable=drawn, console=console, transient=True, refresh_per_second=_PER_SECOND):
        yield


def lines(head: Line, arms: Sequence[Row], *, width: int, height: int) -> list[Line]:
    """Returns a head, a heading and a line for each arm: at most `height` - 1 lines of at most `width` characters.

    A long head takes several lines. If not all arms fit, those at work come first, and the last line counts the arms
    that are left out. Without arms there is the head alone.
    """
    text, style = head
    found = [(part, style) for part in wrap(_plain(text), width)]
    if arms:
        rows = _rows(arms, width=width, height=height - 1 - len(found))
        found += [(_plain(row)[:width].rstrip(), style) for row, style in rows]
    return found


def _rows(arms: Sequence[Row], *, width: int, height: int) -> list[Line]:
    longest = max((len(_name(arm)) for arm in arms), default=0)
    found = [(_row("arm", "phase", [text for text, *_ in _NUMBERS], width, longest), "dim")]
    room = max(1, height - len(found))
    shown = list(arms)
    if len(shown) > room:
        shown.sort(key=_turn)
        shown, rest = shown[: room - 1], shown[room - 1 :]
        found += [_of_arm(arm, width, longest) for arm in shown]
        found.append((f"and {len(rest)} more: {_counts(rest)}", "dim"))
    else:
        found += [_of_arm(arm, width, longest) for arm in shown]
    return found


def _plain(text: str) -> str:
    return printable(text).replace("\n", " ")


def _name(arm: Row) -> str:
    return arm.name if arm.of == 1 else f"{arm.name} {arm.number}/{arm.of}"


def _of_arm(arm: Row, width: int, longest: int) -> Line:
    link = "" if arm.link_s is None else f"{arm.link_s:.1f} s"
    wall = "" if arm.wall_s is None else clock(arm.wall_s)
    left = "" if arm.left_s is None else about(arm.left_s)
    style = "dim" if arm.phase == WAITING else ""
    if arm.is_over:
        style = "green" if arm.phase == "ok" else "bold red"
    return _row(_name(arm), arm.phase, [link, wall, left], width, longest), style


def _row(name: str, phase: str, numbers: Sequence[str], width: int, longest: int) -> str:
    """Returns the cells side by side. The name gets what is left of the width, and is shortened in the middle.

    longest: the length of the longest name.
    """
    shown = [f"{text:>{size}}" for text, (_, size, least) in zip(numbers, _NUMBERS, strict=True) if width >= least]
    room = width - sum(len(text) + 2 for text in shown) - _PHASE - 2
    room = min(max(_SHORTEST_NAME, room), max(longest, len("arm")))
    if len(name) > room:
        name = f"{name[: (room - 1) // 2]}…{name[len(name) - room // 2 :]}"
    return "  ".join([f"{name:<{room}}", f"{phase[:_PHASE]:<{_PHASE}}", *shown])


def _turn(arm: Row) -> int:
    """Returns the place of an arm in a list that is too long: arms at work, arms that are not ok, waiting, ok."""
    if arm.is_over:
        return 3 if arm.phase == "ok" else 1
    return 2 if arm.phase == WAITING else 0


def _counts(arms: Sequence[Row]) -> str:
    words = [arm.phase if arm.is_over or arm.phase == WAITING else "at work" for arm in arms]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
