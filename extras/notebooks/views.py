"""Views of the notebooks: each is a line of code that shows a picture or a table of an experiment or a sweep."""

from dataclasses import replace
from typing import Any, Literal

from priolab.analysis.figures import knee, ladder, ledger_area, ledger_bar, timeline
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import WORDS
from priolab.analysis.records.runs import Experiment
from priolab.analysis.sweeps.folder import Sweep
from priolab.analysis.sweeps.summary import summarize
from priolab.analysis.sweeps.table import notes, of_values
from priolab.analysis.sweeps.validation import check as promises
from priolab.extras.notebooks.lab import arms, check, figures, run, say, show, table
from priolab.extras.reproduction import article, charts, claims
from priolab.extras.reproduction.figures import Figures
from priolab.extras.reproduction.loads import LoadSeen, loads_seen

# Without the costs of the front.
_SHOWN = 6

# --- an experiment ---------------------------------------------------------------------------------------------------


def timelines(experiment: Experiment) -> None:
    """Shows the timelines of all arms on one time axis."""
    show(timeline.draw(experiment))


def ledgers(experiment: Experiment, *names: str) -> None:
    """Shows the ledgers of the named arms, or of all: where the script's first byte waited, and how long."""
    runs = tuple(one for one in experiment.runs if not names or one.arm in names)
    show(ledger_bar.draw(replace(experiment, runs=runs)))


def queues(experiment: Experiment) -> None:
    """Shows in which queues the image's bytes were, at each instant."""
    show(ledger_area.draw(experiment))


def records(experiment: Experiment) -> None:
    """Shows when the packets, TLS records and frames with the script's first byte were complete."""
    show(ladder.draw(experiment))


def times(*experiments: Experiment) -> None:
    """Shows the times of all arms in a table."""
    head = ["arm", "verdict", "script possible", "script first byte", "script last byte", "image last byte"]
    table(
        [*head, "longest wait"],
        [
            [
                name,
                each.verdict,
                f"{each.possible_s:.2f} s",
                f"{each.script_first_s:.2f} s",
                f"{each.script_last_s:.2f} s",
                f"{each.image_last_s:.2f} s",
                _longest(experiment, name),
            ]
            for experiment in experiments
            for name, each in figures(experiment).items()
        ],
    )


def by_value(*experiments: Experiment) -> None:
    """Shows the times against LOWAT, a picture for each experiment. All pictures have the same scale of seconds."""
    of_each = {_packet_buffers(one): list(figures(one).values()) for one in experiments}
    most_s = charts.most_seconds([each for found in of_each.values() for each in found], [])
    for name, (unset, *ladder_of) in of_each.items():
        show(charts.by_value(unset, ladder_of, most_s) | {"title": charts.title(name)})


def best_of(experiment: Experiment, *, tolerance_s: float | None = None) -> Figures:
    """Returns the figures of the largest LOWAT whose script comes no more than the tolerance later than the soonest.

    tolerance_s: by default the time of one TLS record. The experiment's first arm has LOWAT unset.
    """
    _, *ladder_of = figures(experiment).values()
    return claims.chosen(ladder_of, tolerance_s)


def by_load(experiment: Experiment) -> None:
    """Shows the script's first byte and the send buffer in each load, with LOWAT unset and set."""
    control, treatment = loads(experiment).values()
    show(charts.by_number(control, treatment, charts.most_seconds([], [*control, *treatment])))


def loads(experiment: Experiment) -> dict[str, list[LoadSeen]]:
    """Returns the loads of each arm's connection, by the arm's name."""
    return {name: loads_seen(one) for name, one in arms(experiment).items()}


def beside_the_article(fast: Experiment, slow: Experiment) -> None:
    """Shows the article's numbers beside those of two experiments: a fast link, and the slow link with its LOWAT."""
    (unshaped,), (control, treatment) = figures(fast).values(), figures(slow).values()
    found = [claims.fast_link(unshaped), claims.slow_link(control), claims.with_lowat(control, treatment)]
    rows = [(claim.source, row.what, row.article, row.here) for claim in found for row in claim.numbers]
    table(["in the article", "what", "the article", "here"], rows, numbers=False)
    say(f"The article: {article.CITATION}")


def _packet_buffers(experiment: Experiment) -> str:
    segments = experiment.runs[0].scenario.gso_segments
    return "GSO=stock: packet buffers of the kernel's own size" if segments is None else f"GSO={segments}"


def _longest(experiment: Experiment, arm: str) -> str:
    account = arms(experiment)[arm].record.ledger
    return "-" if account is None else WORDS[Layer(account.largest)]


# --- a sweep ---------------------------------------------------------------------------------------------------------


def curve(found: Sweep) -> None:
    """Shows first byte and goodput against LOWAT, with the recommended value marked."""
    show(knee.draw(found))


def values(found: Sweep) -> None:
    """Shows first byte and goodput of each value of LOWAT in a table, with notes."""
    summary = summarize(found)
    for network in summary["networks"]:
        measured = of_values(network)
        rows = [[cell.replace(" (one repetition)", "") for cell in row] for row in measured.rows]
        table(measured.head[:_SHOWN], [row[:_SHOWN] for row in rows])
    for note in notes(summary):
        say(note)


def reasons(found: Sweep) -> None:
    """Says which value is recommended in the sweep's only network, and why."""
    network = _network(found)
    advised = network["knee"]
    say(f"**{advised['reason']}** {advised['goodput_falls_words']}")
    say(advised["documentation"])
    say(network["no_difference_words"])


def recommended(found: Sweep) -> int:
    """Returns the recommended LOWAT of the sweep's only network, in bytes."""
    return int(_network(found)["knee"]["recommended"])


def first_byte_s(found: Sweep, value: int | Literal["auto"] | None) -> float:
    """Returns the median time of the script's first byte with a value of LOWAT. value: None if LOWAT is unset."""
    word = "none" if value is None else str(value)
    (measured,) = (each["measured"] for each in _network(found)["values"] if each["value"] == word)
    return float(measured["script_first_byte_ms"]["median"]) / 1000


def run_again(found: Sweep) -> Experiment:
    """Runs the recommended value with another seed, and checks that the new figures are as the sweep promised."""
    network = _network(found)
    again = run(*network["knee"]["put_back"], "SAMPLE=100ms", "CONTROL=no")
    for kept in promises(network, again.runs):
        words = kept.words.replace("script_first_byte_ms", "script's first byte").replace("goodput_bit_s", "goodput")
        check(words, holds=kept.holds)
    return again


def _network(found: Sweep) -> dict[str, Any]:
    (network,) = summarize(found)["networks"]
    return dict(network)
