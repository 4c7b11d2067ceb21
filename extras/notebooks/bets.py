"""Bets on what a run will show: controls for a learner before the run, and the comparison with what came.

A bet shows itself where it is made: a slider, which is moved by the arrow keys or by a pointer. It begins at "no bet",
and stays there if nobody moves it, so a lesson runs unattended. `came` closes a bet and compares it, and `reveal` shows
the comparisons. Where a notebook is read without a kernel, a text stands for the slider.

A choice is a slider, too: in JupyterLab the arrow keys move a slider, but leave a list or radio buttons.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Generic, TypeVar

from IPython.display import display
from ipywidgets import HTML, SelectionSlider, VBox

from priolab import Experiment, Layer
from priolab.extras.notebooks.lab import figures, table

Row = tuple[str, str, str, str]
"""A prediction, the bet, what came, and how far off the bet was."""

T = TypeVar("T")
_NO_BET = "no bet"
_SOONER, _SAME, _LATER = "sooner", "at the same time", "later"
_STEPS = 70
_LAYERS = (
    Layer.PENDING,
    Layer.COMMITTED,
    Layer.FLOW,
    Layer.UNSENT,
    Layer.RECEIVE_WINDOW,
    Layer.QUEUE,
    Layer.PROPAGATION,
    Layer.RECOVERY,
    Layer.RECORD,
)
"""The layers in which a byte waits that passes one front, and no packets of other flows."""


class Bet(Generic[T]):
    """A prediction, open until `came` is called.

    prediction: the beginning of a sentence that the bet completes. options: all bets that the slider allows, in order.
    among: these options as text. words: gives a bet or what came as text. off: says how far a bet is from what came.
    """

    def __init__(
        self,
        prediction: str,
        options: Sequence[T],
        *,
        among: str,
        words: Callable[[T], str],
        off: Callable[[T, T], str],
    ) -> None:
        self.prediction, self.options = prediction, options
        self._among, self._words, self._off = among, words, off
        self._slider = SelectionSlider(options=[_NO_BET, *map(words, options)], readout=False, layout={"width": "46em"})
        self._said = HTML()
        self._slider.observe(lambda _: self._say(), "index")
        self._say()

    @property
    def value(self) -> T | None:
        """The bet; None if there is none."""
        return self.options[self._slider.index - 1] if self._slider.index else None

    def put(self, value: T) -> None:
        """Bets, as the slider does. Raises ValueError if the value is none of the options."""
        self._slider.index = 1 + self.options.index(value)

    def came(self, value: T) -> Row:
        """Closes the bet, and compares it with what came."""
        _open.pop(self.prediction, None)
        self._slider.disabled = True
        if self.value is None:
            return self.prediction, _NO_BET, self._words(value), "-"
        return self.prediction, self._words(self.value), self._words(value), self._off(self.value, value)

    def _say(self) -> None:
        self._said.value = self._text("<b>{}</b>", escape)

    def _repr_mimebundle_(self, **_: object) -> Mapping[str, Any]:
        view = VBox([self._said, self._slider])._repr_mimebundle_()
        return {**view, "text/plain": self._text("{}"), "text/markdown": self._text("**{}**")}

    def _text(self, bet: str, safe: Callable[[str], str] = str) -> str:
        return f"{safe(self.prediction)} ... ({safe(self._among)}): {bet.format(safe(self._slider.value))}"


_open: dict[str, Bet[Any]] = {}
"""The open bets. A cell that is executed again, perhaps by a key that was meant for the next cell, keeps its bets."""


def reveal(*rows: Row) -> None:
    """Shows predictions beside what came: the rows that `came` returns."""
    table(["prediction", "your bet", "what came", "how far off"], rows, numbers=False)


def bet_time(prediction: str, *, most_s: float) -> Bet[float]:
    """Shows a bet on a time, from 0 to most_s after the page's request."""
    return _amount(prediction, most_s, "s", digits=2, low="too early", high="too late")


def bet_wait(prediction: str, *, most_s: float) -> Bet[float]:
    """Shows a bet on how long something takes, from 0 to most_s."""
    return _amount(prediction, most_s, "s", digits=2, low="too short", high="too long")


def bet_amount(prediction: str, *, most: float, unit: str) -> Bet[float]:
    """Shows a bet on an amount, from 0 to the most."""
    return _amount(prediction, most, unit, digits=0, low="too low", high="too high")


def bet_choice(prediction: str, *options: str) -> Bet[str]:
    """Shows a bet on one of several options."""
    return _choice(prediction, options, ", ".join(options), str)


def bet_layer(prediction: str) -> Bet[str]:
    """Shows a bet on a layer, as `longest_wait` returns it."""
    names = [layer.name.lower() for layer in _LAYERS]
    return _choice(prediction, names, "a layer of the wait", lambda name: Layer[name.upper()].words)


def bet_sooner(prediction: str) -> Bet[str]:
    """Shows a bet on whether something comes sooner, as `compared` says it."""
    return bet_choice(prediction, _SOONER, _SAME, _LATER)


def compared(time_s: float, than_s: float, *, within_s: float) -> str:
    """Says if something comes sooner, later or at the same time. Times that differ by within_s or less are the same."""
    if abs(time_s - than_s) <= within_s:
        return _SAME
    return _SOONER if time_s < than_s else _LATER


def script_compared(experiment: Experiment) -> str:
    """Says if the script's first byte comes sooner in the second arm than in the first, by more than a TLS record."""
    first, second, *_ = figures(experiment).values()
    return compared(second.script_first_s, first.script_first_s, within_s=first.record_s)


def page_compared(experiment: Experiment) -> str:
    """Says if the page is complete sooner in the second arm than in the first, by more than a TLS record."""
    first, second, *_ = figures(experiment).values()
    return compared(second.complete_s, first.complete_s, within_s=first.record_s)


def bet_value(prediction: str, *values: int | str) -> Bet[str]:
    """Shows a bet on a value of a knob. The values are in order, the smallest first."""
    order = [str(value) for value in values]

    def off(bet: str, came: str) -> str:
        steps = order.index(bet) - order.index(came)
        side = "too large" if steps > 0 else "too small"
        return f"{abs(steps)} value{'' if abs(steps) == 1 else 's'} {side}" if steps else "right"

    return _shown(Bet(prediction, order, among=", ".join(order), words=str, off=off))


def _choice(prediction: str, options: Sequence[str], among: str, words: Callable[[str], str]) -> Bet[str]:
    def off(bet: str, came: str) -> str:
        return "right" if bet == came else "wrong"

    return _shown(Bet(prediction, options, among=among, words=words, off=off))


def _amount(prediction: str, most: float, unit: str, *, digits: int, low: str, high: str) -> Bet[float]:
    def words(value: float) -> str:
        return f"{value:.{digits}f} {unit}"

    def off(bet: float, came: float) -> str:
        return "exact" if words(bet) == words(came) else f"{words(abs(bet - came))} {high if bet > came else low}"

    options = [most * step / _STEPS for step in range(_STEPS + 1)]
    return _shown(Bet(prediction, options, among=f"0 to {most:g} {unit}", words=words, off=off))


def _shown(bet: Bet[T]) -> Bet[T]:
    """Shows a bet, or the open one with the same prediction and options, and returns it."""
    known = _open.get(bet.prediction)
    chosen = known if known and known.options == bet.options else bet
    _open[bet.prediction] = chosen
    display(chosen)  # type: ignore[no-untyped-call]
    return chosen
