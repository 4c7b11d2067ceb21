"""Bets of the lessons: what their sliders allow, and how they are compared with what came."""

from typing import Any

import pytest
from IPython.display import Markdown

from priolab import Layer, load_experiment
from priolab.common.home import ROOT
from priolab.extras.notebooks import bets, lab
from priolab.extras.notebooks.bets import Bet, Row


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is shown, in place of a notebook; no bet is open before a test."""
    made: list[Any] = []
    for module in (bets, lab):
        monkeypatch.setattr(module, "display", made.append)
    monkeypatch.setattr(bets, "_open", {})
    return made


def _time() -> Bet[float]:
    return bets.bet_time("it comes after", most_s=14)


def _value() -> Bet[str]:
    return bets.bet_value("the best is", 4096, 16384, 65536, "none")


@pytest.mark.parametrize(
    ("bet", "put", "came", "row"),
    [
        (_time, None, 6.69, ("no bet", "6.69 s", "-")),
        (_time, 6.6, 6.69, ("6.60 s", "6.69 s", "0.09 s too early")),
        (_time, 14.0, 6.69, ("14.00 s", "6.69 s", "7.31 s too late")),
        (_time, 0.0, 6.69, ("0.00 s", "6.69 s", "6.69 s too early")),
        (_time, 6.0, 6.001, ("6.00 s", "6.00 s", "exact")),
        (lambda: bets.bet_wait("for", most_s=7), 7.0, 0.58, ("7.00 s", "0.58 s", "6.42 s too long")),
        (lambda: bets.bet_amount("it is", most=700, unit="KiB"), 640.0, 644.3, ("640 KiB", "644 KiB", "4 KiB too low")),
        (lambda: bets.bet_choice("it is", "kept", "inverted"), None, "kept", ("no bet", "kept", "-")),
        (lambda: bets.bet_choice("it is", "kept", "inverted"), "kept", "kept", ("kept", "kept", "right")),
        (lambda: bets.bet_choice("it is", "kept", "inverted"), "kept", "undecided", ("kept", "undecided", "wrong")),
        (_value, "16384", "16384", ("16384", "16384", "right")),
        (_value, "4096", "16384", ("4096", "16384", "1 value too small")),
        (_value, "none", "4096", ("none", "4096", "3 values too large")),
        (
            lambda: bets.bet_layer("it waits"),
            "queue",
            "unsent",
            ("in the bottleneck queue", "unsent in the kernel", "wrong"),
        ),
    ],
)
def test_a_bet_is_compared(bet: Any, put: Any, came: Any, row: Row) -> None:
    """A near bet, a far one and none: the bet stands beside what came, with the difference and its side."""
    made = bet()
    if put is not None:
        made.put(put)
    assert made.value == put
    assert made.came(came)[1:] == row


def test_the_slider_is_the_bet(shown: list[Any]) -> None:
    """The slider begins at no bet and has each option. Its text follows it. What came closes it."""
    bet = bets.bet_choice("a < b is", "so", "not so")
    (made,) = shown
    assert made is bet
    assert bet._slider.options == ("no bet", "so", "not so")
    assert bet._said.value == "a &lt; b is ... (so, not so): <b>no bet</b>"
    bet._slider.index = 2
    assert bet.value == "not so"
    assert bet._said.value.endswith("<b>not so</b>")
    assert not bet._slider.disabled
    bets.reveal(bet.came("so"))
    assert bet._slider.disabled
    assert isinstance(shown[-1], Markdown)
    assert "| a < b is | not so | so | wrong |" in shown[-1].data


def test_without_a_kernel_it_is_a_text() -> None:
    """The text in place of the slider has the prediction, what is allowed, and the bet."""
    bet = _time()
    assert bet._repr_mimebundle_()["text/markdown"] == "it comes after ... (0 to 14 s): **no bet**"
    bet.put(5.2)
    view = bet._repr_mimebundle_()
    assert view["text/markdown"] == "it comes after ... (0 to 14 s): **5.20 s**"
    assert view["text/plain"] == "it comes after ... (0 to 14 s): 5.20 s"
    assert "application/vnd.jupyter.widget-view+json" in view


def test_a_cell_that_is_executed_again_keeps_its_bet() -> None:
    """A prediction shown again has the bet that was put. Once it is closed, or has other options, it is a new one."""
    first = _time()
    first.put(5.2)
    assert _time() is first
    assert bets.bet_time("it comes after", most_s=7).value is None
    first = _time()
    first.came(6.69)
    assert _time() is not first
    assert _time().value is None


def test_a_bet_that_the_slider_does_not_allow() -> None:
    """A value that is none of the options is refused."""
    with pytest.raises(ValueError, match="is not in"):
        _time().put(20)


@pytest.mark.parametrize(("time_s", "came"), [(1.0, "sooner"), (1.95, "at the same time"), (2.2, "later")])
def test_compared(time_s: float, came: str) -> None:
    """Times that differ by no more than the tolerance are the same; what comes is an option of the bet."""
    assert bets.compared(time_s, 2.0, within_s=0.1) == came
    assert came in bets.bet_sooner("it comes").options


def test_a_run_is_compared() -> None:
    """Script and page of a recorded run's second arm are compared with the first; each load has its longest wait."""
    experiment = load_experiment(ROOT / "tests" / "golden" / "format-3")
    first, second, *_ = lab.figures(experiment).values()
    for of, came in (("script_first_s", bets.script_compared), ("complete_s", bets.page_compared)):
        assert came(experiment) == bets.compared(getattr(second, of), getattr(first, of), within_s=first.record_s)
    arm = next(iter(lab.arms(experiment)))
    loads = len(lab.arms(experiment)[arm].record.loads)
    assert lab.longest_wait(experiment, arm, load=loads) == lab.longest_wait(experiment, arm)
    assert all(Layer[lab.longest_wait(experiment, arm, load=number + 1).upper()] for number in range(loads))
