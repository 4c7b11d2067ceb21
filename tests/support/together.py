"""Different scenarios as arms of one experiment, which share guests; a guest's start takes as long as two runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from priolab.experiments.execution.cli_request import request_from, split_words
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Arm
from tests.support.lab import Done, done_in


def together(results: Path, scenarios: Mapping[str, Sequence[str]], *common: str) -> Done:
    """Run all scenarios in the guest. scenarios: the knobs of each arm, by its name; common: knobs of all arms."""
    words = split_words(["FABRIC=virtual", "CONTROL=no", *common])
    request = request_from({**words, "RESULTS": str(results)})
    arms = tuple(_arm(name, {**words, **split_words(own)}) for name, own in scenarios.items())
    return done_in(run_experiment(replace(request, arms=arms), Progress(step=_ignored, ended=_ignored)))


def _arm(name: str, words: Mapping[str, str]) -> Arm:
    (arm,) = request_from(words).arms
    return replace(arm, name=name)


def _ignored(*_: object) -> None:
    """Ignore the progress."""
