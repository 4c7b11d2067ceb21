"""Makes the pictures of the reproduction's page from experiments."""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab import Arm, Experiment, Figure, FolderError, Run
from priolab.analysis.figures import timeline
from priolab.analysis.figures.arms import arm_of, facts
from priolab.analysis.figures.sheet import heading, sheet
from priolab.common.amounts import kibibytes
from priolab.extras.reproduction import charts, claims
from priolab.extras.reproduction.figures import Figures
from priolab.extras.reproduction.loads import LoadSeen, loads_seen
from priolab.extras.reproduction.page import Picture

LOWAT_BYTES = 131_072
"""The article's value of LOWAT."""


@dataclass(frozen=True, kw_only=True)
class Experiments:
    """The experiments from which the pictures are made. Every run is ok.

    fast: one arm, on a fast link with LOWAT unset. slow: arms on a slow link with LOWAT unset, the article's value and
    other values. growing: arms of several loads with LOWAT unset and the article's value, in which the send buffer
    grows by itself.
    """

    fast: Experiment
    slow: Experiment
    growing: Experiment


def pictures(made_of: Experiments) -> list[Picture]:
    """Returns the pictures in the article's order. Raises FolderError for a damaged folder."""
    fast = _arm(made_of.fast, None)
    control, treatment = _arm(made_of.slow, None), _arm(made_of.slow, LOWAT_BYTES)
    figures = sorted(
        (Figures.of(_one(arm)) for arm in made_of.slow.arms.values()), key=lambda each: each.lowat_bytes or 0
    )
    unset, *ladder = figures
    stock, bounded = (loads_seen(_arm(made_of.growing, lowat)) for lowat in (None, LOWAT_BYTES))
    (fast_figure,) = _timelines([fast])
    # The two pictures of the slow link have the same scales.
    control_figure, treatment_figure = _timelines([control, treatment])
    queue = made_of.growing.runs[0].scenario.queue_packets
    most_s = charts.most_seconds([*ladder, unset], [*stock, *bounded])
    return [
        _timeline(fast_figure, fast, claims.fast_link(Figures.of(fast))),
        _timeline(control_figure, control, claims.slow_link(Figures.of(control)), _SAME_SCALES.format("next")),
        _timeline(
            treatment_figure,
            treatment,
            claims.with_lowat(Figures.of(control), Figures.of(treatment)),
            f"{_SAME_SCALES.format('previous')} {_earliest(Figures.of(treatment))}",
        ),
        Picture(
            claim=claims.which_value(unset, ladder),
            svg=Figure(charts.by_value(unset, ladder, most_s)).svg,
            table=_table([*ladder, unset]),
            note="Values below 64 KiB gain little as long as the kernel builds packet buffers of 64 KiB (GSO); see "
            "extras/notebooks/03-choosing-lowat.ipynb.",
        ),
        Picture(
            claim=claims.by_load(stock, bounded),
            svg=Figure(charts.by_number(stock, bounded, most_s)).svg,
            table=_by_load(stock, bounded),
            note=f"SNDBUF=stock QUEUE={queue}: the kernel's own send buffer follows the congestion window, which needs "
            "some room in the bottleneck queue to grow.",
        ),
    ]


def _one(arm: Arm) -> Run:
    run = arm.median_run
    assert run is not None, "every run is ok"
    return run


def _arm(experiment: Experiment, lowat_bytes: int | None) -> Run:
    """Returns a typical run of the arm with this LOWAT. Raises FolderError if the runs say that they had others."""
    for arm in experiment.arms.values():
        if arm.scenario["lowat"] == lowat_bytes:
            return _one(arm)
    raise FolderError(f"{experiment.path}: no run has LOWAT={'none' if lowat_bytes is None else lowat_bytes}")


def _timelines(runs: Sequence[Run]) -> list[Figure]:
    """Returns a figure for each run, all with the same scales, so that they can be compared. Every run is ok."""
    shown = [arm_of(run) for run in runs]
    return [
        Figure(sheet([panel], heading(facts([arm], arm.run.record.fabric))))
        for arm, panel in zip(shown, timeline.panels_of(shown, apart=True), strict=True)
    ]


def _timeline(figure: Figure, run: Run, claim: claims.Claim, note: str = "") -> Picture:
    return Picture(claim=claim, svg=figure.svg, table=_table([Figures.of(run)]), note=note)


_SAME_SCALES = "The {} picture has the same scales, for time and for bytes."


def _earliest(figures: Figures) -> str:
    return (
        f"The lab counts from the page's request. From there no byte of the script can come over this link before "
        f"{figures.possible_s:.2f} s, so the article's 0.2 s must count from elsewhere. The claim is about the order."
    )


def _table(figures: Sequence[Figures]) -> list[list[str]]:
    digits = 3 if max(each.complete_s for each in figures) < 1 else 2

    def seconds(at_s: float) -> str:
        return f"{at_s:.{digits}f} s"

    head = ["LOWAT", "verdict", "script first byte possible", "script first byte", "script last byte"]
    return [
        [*head, "image last byte", "image before script"],
        *(
            [
                each.value,
                str(each.verdict),
                seconds(each.possible_s),
                seconds(each.script_first_s),
                seconds(each.script_last_s),
                seconds(each.image_last_s),
                kibibytes(each.image_before_bytes),
            ]
            for each in figures
        ),
    ]


def _by_load(control: Sequence[LoadSeen], treatment: Sequence[LoadSeen]) -> list[list[str]]:
    def rows(name: str, loads: Sequence[LoadSeen]) -> list[list[str]]:
        return [
            [f"script first byte, LOWAT {name}", *(f"{load.first_byte_s:.2f} s" for load in loads)],
            ["verdict", *(str(load.verdict) for load in loads)],
            ["send buffer", *(kibibytes(load.sndbuf_bytes) for load in loads)],
            ["unsent in the send buffer", *(kibibytes(load.unsent_bytes) for load in loads)],
        ]

    head = ["", *(f"load {load.number}" for load in control)]
    return [head, *rows("unset", control), *rows(str(LOWAT_BYTES), treatment)]
