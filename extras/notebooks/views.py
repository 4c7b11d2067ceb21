"""Views of the notebooks: each is a line of code that shows a picture or a table of an experiment or a sweep."""

import statistics
from collections.abc import Mapping
from typing import Any, Literal

import priolab
from priolab.extras.notebooks.lab import arms, check, figures, run, say, show, table
from priolab.extras.reproduction import article, charts, claims
from priolab.extras.reproduction.figures import Figures
from priolab.extras.reproduction.loads import LoadSeen, loads_seen

# Without the costs of the front.
_SHOWN = 6

# --- an experiment ---------------------------------------------------------------------------------------------------


def timelines(experiment: priolab.Experiment) -> None:
    """Shows the timelines of all arms on one time axis."""
    show(experiment.figure("timeline"))


def ledgers(experiment: priolab.Experiment, *names: str) -> None:
    """Shows the ledgers of the named arms, or of all: where the script's first byte waited, and how long."""
    show(experiment.figure("ledger-bar", arms=names))


def queues(experiment: priolab.Experiment) -> None:
    """Shows in which queues the image's bytes were, at each instant."""
    show(experiment.figure("ledger-area"))


def records(experiment: priolab.Experiment) -> None:
    """Shows when the packets, TLS records and frames with the script's first byte were complete."""
    show(experiment.figure("ladder"))


def times(*experiments: priolab.Experiment) -> None:
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


def by_value(*experiments: priolab.Experiment) -> None:
    """Shows the times against LOWAT, a picture for each experiment. All pictures have the same scale of seconds."""
    of_each = {_packet_buffers(one): list(figures(one).values()) for one in experiments}
    most_s = charts.most_seconds([each for found in of_each.values() for each in found], [])
    for name, (unset, *ladder_of) in of_each.items():
        show(priolab.Figure(charts.by_value(unset, ladder_of, most_s) | {"title": charts.title(name)}))


def best_of(experiment: priolab.Experiment, *, tolerance_s: float | None = None) -> Figures:
    """Returns the figures of the largest LOWAT whose script comes no more than the tolerance later than the soonest.

    tolerance_s: by default the time of one TLS record. The experiment's first arm has LOWAT unset.
    """
    _, *ladder_of = figures(experiment).values()
    return claims.chosen(ladder_of, tolerance_s)


def by_load(experiment: priolab.Experiment) -> None:
    """Shows the script's first byte and the send buffer in each load, with LOWAT unset and set."""
    control, treatment = loads(experiment).values()
    show(priolab.Figure(charts.by_number(control, treatment, charts.most_seconds([], [*control, *treatment]))))


def loads(experiment: priolab.Experiment) -> dict[str, list[LoadSeen]]:
    """Returns the loads of each arm's connection, by the arm's name."""
    return {name: loads_seen(one) for name, one in arms(experiment).items()}


def beside_the_article(fast: priolab.Experiment, slow: priolab.Experiment) -> None:
    """Shows the article's numbers beside those of two experiments: a fast link, and the slow link with its LOWAT."""
    (unshaped,), (control, treatment) = figures(fast).values(), figures(slow).values()
    found = [claims.fast_link(unshaped), claims.slow_link(control), claims.with_lowat(control, treatment)]
    rows = [(claim.source, row.what, row.article, row.here) for claim in found for row in claim.numbers]
    table(["in the article", "what", "the article", "here"], rows, numbers=False)
    say(f"The article: {article.CITATION}")


def _packet_buffers(experiment: priolab.Experiment) -> str:
    segments = experiment.runs[0].scenario.gso_segments
    return "GSO=stock: packet buffers of the kernel's own size" if segments is None else f"GSO={segments}"


def _longest(experiment: priolab.Experiment, arm: str) -> str:
    account = arms(experiment)[arm].record.ledger
    return "-" if account is None else priolab.Layer(account.largest).words


# --- a sweep ---------------------------------------------------------------------------------------------------------


def curve(found: priolab.Sweep) -> None:
    """Shows first byte and goodput against LOWAT, with the recommended value marked."""
    show(found.figure())


def values(found: priolab.Sweep) -> None:
    """Shows first byte and goodput of each value of LOWAT in a table, with notes."""
    for measured in found.tables.values():
        rows = [[cell.replace(" (one repetition)", "") for cell in row] for row in measured.rows]
        table(measured.head[:_SHOWN], [row[:_SHOWN] for row in rows])
    for note in found.notes:
        say(note)


def reasons(found: priolab.Sweep) -> None:
    """Says which value is recommended in the sweep's only network, and why."""
    network = _network(found)
    advised = network["knee"]
    say(f"**{advised['reason']}** {advised['goodput_falls_words']}")
    say(advised["documentation"])
    say(network["no_difference_words"])


def recommended(found: priolab.Sweep) -> int:
    """Returns the recommended LOWAT of the sweep's only network, in bytes."""
    return int(_network(found)["knee"]["recommended"])


def first_byte_s(found: priolab.Sweep, value: int | Literal["auto"] | None) -> float:
    """Returns the median time of the script's first byte with a value of LOWAT. value: None if LOWAT is unset."""
    word = "none" if value is None else str(value)
    (measured,) = (each["measured"] for each in _network(found)["values"] if each["value"] == word)
    return float(measured["script_first_byte_ms"]["median"]) / 1000


def mean_first_byte_s(experiment: priolab.Experiment) -> float:
    """Returns the mean of the script's first byte over all arms, in seconds."""
    return statistics.fmean(each.script_first_s for each in figures(experiment).values())


def run_again(found: priolab.Sweep) -> priolab.Experiment:
    """Runs the recommended value with another seed, and checks that the new figures are as the sweep promised."""
    again = run(*_network(found)["knee"]["put_back"], "SAMPLE=100ms", "CONTROL=no")
    (confirmed,) = found.confirm(again).values()
    for kept in confirmed:
        words = kept.words.replace("script_first_byte_ms", "script's first byte").replace("goodput_bit_s", "goodput")
        check(words, holds=kept.holds)
    return again


def _network(found: priolab.Sweep) -> Mapping[str, Any]:
    (network,) = found.summary["networks"]
    found_network: Mapping[str, Any] = network
    return found_network
