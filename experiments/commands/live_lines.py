"""The lines that a terminal shows while arms run: a line for the experiment, and a line for each arm. Pure."""

from collections.abc import Sequence

from priolab.experiments.commands.arms_at_work import ArmView, View
from priolab.experiments.commands.durations import about, clock
from priolab.experiments.commands.printable import printable
from priolab.experiments.commands.run_state import WAITING

Line = tuple[str, str]
"""A line and its style, in rich's words."""

_PHASE = 28
_NUMBERS = (("link time", 9, 66), ("time", 6, 0), ("left", 6, 48))
"""Heading, width, and the least width of a terminal that shows the column."""
_SHORTEST_NAME = 8


def lines(name: str, view: View, wall_s: float, *, width: int, height: int) -> list[Line]:
    """Returns at most `height` - 1 lines of at most `width` characters.

    name: the experiment's name. wall_s: the experiment's wall time so far. If not all arms fit, those at work come
    first, and the last line counts the arms that are left out.
    """
    found = [(_head(name, view, wall_s), "bold")]
    return _fitting([*found, *rows(view.arms, width=width, height=height - 2)], width)


def rows(arms: Sequence[ArmView], *, width: int, height: int) -> list[Line]:
    """Returns a heading and a line for each arm, at most `height` lines. See `lines`."""
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
    return _fitting(found, width)


def _fitting(found: Sequence[Line], width: int) -> list[Line]:
    return [(printable(text).replace("\n", " ")[:width].rstrip(), style) for text, style in found]


def _head(name: str, view: View, wall_s: float) -> str:
    text = f"{name}: {view.done} of {view.of} runs done, {clock(wall_s)}"
    if view.left_s is not None:
        text += f", about {about(view.left_s)} left"
    return f"{text}; {view.aside}" if view.aside else text


def _name(arm: ArmView) -> str:
    return arm.name if arm.of == 1 else f"{arm.name} {arm.number}/{arm.of}"


def _of_arm(arm: ArmView, width: int, longest: int) -> Line:
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


def _turn(arm: ArmView) -> int:
    """Returns the place of an arm in a list that is too long: arms at work, arms that are not ok, waiting, ok."""
    if arm.is_over:
        return 3 if arm.phase == "ok" else 1
    return 2 if arm.phase == WAITING else 0


def _counts(arms: Sequence[ArmView]) -> str:
    words = [arm.phase if arm.is_over or arm.phase == WAITING else "at work" for arm in arms]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
