"""Lines on a terminal that are drawn anew several times a second, and removed at the end."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from priolab.experiments.commands.live_lines import Line

_PER_SECOND = 4


@contextmanager
def live(console: Console, present: Callable[[int, int], Sequence[Line]]) -> Iterator[None]:
    """Shows lines until the context ends.

    present: receives width and height of the terminal, returns the present lines. A thread calls it.
    """

    def drawn() -> Text:
        return Text("\n").join([Text(text, style=style) for text, style in present(*console.size)])

    with Live(get_renderable=drawn, console=console, transient=True, refresh_per_second=_PER_SECOND):
        yield
