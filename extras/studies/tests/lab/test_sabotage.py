"""Each card of the sabotage catalogue, compared in numbers with the plain Maps case and with its own cure.

All arms are runs of one experiment in the guest. A card without a test here fails contract/test_sabotage.py.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.analysis.reports.markdown import places
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import document_of
from priolab.experiments.scenario.named import sabotage
from priolab.extras.studies.sabotage import PLAIN, Role, SabotageResults, measure
from priolab.extras.studies.sabotage import places as measured_places
from tests.support.documented import documented, row_like
from tests.support.shared_runs import Runs
from tests.support.variations import variations

CONTROL, TREATMENT = Role.CONTROL, Role.TREATMENT
CURED_CONTROL, CURED = Role.CURED_CONTROL, Role.CURED_TREATMENT
Arm = Mapping[str, Any]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder for the runs."""
    return tmp_path_factory.mktemp("sabotage")


@pytest.fixture(scope="module")
def found(guest: None, results: Path) -> SabotageResults:
    """Returns the measured arms of all cards."""
    del guest
    return measure(results, Report(aside=True))


def first_ms(arm: Arm) -> float:
    return float(arm["script"]["first_byte_ms"])


def complete_ms(arm: Arm) -> float:
    return max(float(arm[name]["last_byte_ms"]) for name in ("script", "image"))


def part(arm: Arm, *layers: Layer) -> float:
    """Returns the fraction of the script's wait that was spent in the layers."""
    waited: float = sum(arm["ledger"]["parts_ms"][layer] for layer in layers) / arm["ledger"]["wait_ms"]
    return waited


def longest(arm: Arm) -> Layer:
    return Layer(arm["ledger"]["largest"])


def verdicts(found: SabotageResults, name: str, *roles: Role) -> list[str]:
    return [found.of(name, role)["verdict"] for role in roles]


def told(arm: Arm, beginning: str) -> list[str]:
    """Returns the notes that begin with this text."""
    return [sentence for sentence in arm["warnings"] if sentence.startswith(beginning)]


def test_the_plain_case_is_not_spoiled(found: SabotageResults) -> None:
    """In the plain case, with which all cards are compared, LOWAT keeps the order, and there are no notes."""
    assert verdicts(found, PLAIN, CONTROL, TREATMENT) == ["inverted", "kept"]
    for role in (CONTROL, TREATMENT):
        assert found.of(PLAIN, role)["warnings"] == []


def test_every_ledger_has_names(found: SabotageResults) -> None:
    """Every arm has a ledger that adds up and explains more than 90 % of the wait."""
    for arm in found.arms.values():
        assert arm["ledger"], arm["ledger_reason"]
        assert sum(arm["ledger"]["parts_ms"].values()) == pytest.approx(arm["ledger"]["wait_ms"])
        assert arm["ledger"]["explained"] > 0.9, arm["name"]


def test_deep_queue(found: SabotageResults) -> None:
    """LOWAT changes nothing, because the kernel has sent the image, which waits in the bottleneck queue."""
    control, treatment = found.of("deep-queue", CONTROL), found.of("deep-queue", TREATMENT)
    assert verdicts(found, "deep-queue", CONTROL, TREATMENT) == ["inverted", "inverted"]
    assert first_ms(treatment) == pytest.approx(first_ms(control), rel=0.01)
    assert longest(treatment) is Layer.QUEUE
    assert part(treatment, Layer.QUEUE) > 0.85
    assert part(treatment, Layer.UNSENT) < 0.02
    at_available = treatment["ledger"]["image_bytes_at_available"]
    assert at_available["unsent"] < 0.02 * treatment["scenario"]["size_bytes"]
    assert told(treatment, "QUEUE=1000: the bottleneck queue can hold")
    assert verdicts(found, "deep-queue", CURED_CONTROL, CURED) == ["inverted", "kept"]


def test_small_window(found: SabotageResults) -> None:
    """Both arms keep the order and are equally slow, because the link is idle between two flow-control windows."""
    control, treatment = found.of("small-window", CONTROL), found.of("small-window", TREATMENT)
    assert verdicts(found, "small-window", CONTROL, TREATMENT) == ["kept", "kept"]
    assert first_ms(treatment) == pytest.approx(first_ms(control), rel=0.01)
    assert complete_ms(control) > 1.5 * complete_ms(found.of(PLAIN, CONTROL))
    scenario = control["scenario"]
    assert control["observed"]["notsent_most_bytes"] <= scenario["window_bytes"]
    assert 2 * scenario["size_bytes"] * 8 / scenario["rate_bit_s"] * 1000 < 0.7 * complete_ms(control)  # busy time
    for arm in (control, treatment):
        assert part(arm, Layer.FLOW) > 0.7
        assert part(arm, Layer.UNSENT) < 0.02
        assert told(arm, "WINDOW=65535 is smaller than a resource")
    assert verdicts(found, "small-window", CURED_CONTROL, CURED) == ["inverted", "kept"]


def test_huge_buffer(found: SabotageResults) -> None:
    """The arms have the times of those with SNDBUF=4M, although the buffer is 16 times as large."""
    control, treatment = found.of("huge-buffer", CONTROL), found.of("huge-buffer", TREATMENT)
    assert verdicts(found, "huge-buffer", CONTROL, TREATMENT) == ["inverted", "kept"]
    for arm, role in ((control, CONTROL), (treatment, TREATMENT)):
        assert first_ms(arm) == pytest.approx(first_ms(found.of(PLAIN, role)), rel=0.01)
        assert arm["observed"]["sndbuf_bytes"] >= 16 * found.of(PLAIN, role)["observed"]["sndbuf_bytes"]
    assert control["observed"]["notsent_most_bytes"] > control["scenario"]["size_bytes"]
    assert longest(control) is Layer.UNSENT
    assert part(control, Layer.UNSENT) > 0.85


def test_no_buffering(found: SabotageResults) -> None:
    """The script's first byte is as early as with buffering, but the image is complete before the script."""
    treatment, plain = found.of("no-buffering", TREATMENT), found.of(PLAIN, TREATMENT)
    assert verdicts(found, "no-buffering", CONTROL, TREATMENT) == ["inverted", "undecided"]
    assert first_ms(treatment) == pytest.approx(first_ms(plain), rel=0.05)
    assert treatment["image"]["last_byte_ms"] < treatment["script"]["last_byte_ms"]
    assert treatment["image_bytes_during_script"] > 0.5 * treatment["scenario"]["size_bytes"]
    assert plain["image_bytes_during_script"] < 0.1 * plain["scenario"]["size_bytes"]
    assert told(treatment, "BUFFERING=off: the front held little of the script")
    assert verdicts(found, "no-buffering", CURED) == ["kept"]


def test_wrong_dialect(found: SabotageResults) -> None:
    """Both arms are inverted; with LOWAT the script's longest wait is in the front's output queue."""
    treatment = found.of("wrong-dialect", TREATMENT)
    assert verdicts(found, "wrong-dialect", CONTROL, TREATMENT) == ["inverted", "inverted"]
    assert longest(treatment) is Layer.COMMITTED
    assert told(treatment, "DIALECT=header: the front itself put the image first")
    row = row_like(treatment["scenario"]["server"])
    assert documented()["servers"][row]["dialects"]["header"]["reading"] == "ignored"
    assert verdicts(found, "wrong-dialect", CURED) == ["kept"]


def test_big_records(found: SabotageResults) -> None:
    """The longest wait is that for a whole record, a second; small records remove this wait."""
    treatment, cured = found.of("big-records", TREATMENT), found.of("big-records", CURED)
    assert verdicts(found, "big-records", CONTROL, TREATMENT, CURED) == ["inverted", "kept", "kept"]
    assert longest(treatment) is Layer.RECORD
    scenario = treatment["scenario"]
    on_the_link_ms = scenario["record_bytes"] * 8 / scenario["rate_bit_s"] * 1000
    assert treatment["ledger"]["parts_ms"][Layer.RECORD] == pytest.approx(on_the_link_ms, rel=0.1)
    assert treatment["observed"]["record_bytes"] == 16_384
    assert told(treatment, "The first byte of the script waited")
    assert cured["observed"]["record_bytes"] == 1400
    assert first_ms(treatment) - first_ms(cured) > 800
    assert cured["ledger"]["parts_ms"][Layer.RECORD] < 150


def test_late_backend(found: SabotageResults) -> None:
    """The image is complete before the origin has the script, and the arms do not differ."""
    control, treatment = found.of("late-backend", CONTROL), found.of("late-backend", TREATMENT)
    assert verdicts(found, "late-backend", CONTROL, TREATMENT) == ["nothing-to-prioritize"] * 2
    assert first_ms(treatment) == pytest.approx(first_ms(control), rel=0.01)
    for arm in (control, treatment):
        assert arm["loads"][-1]["script_available_ms"] > arm["image"]["last_byte_ms"]
        assert told(arm, "The origin had the script 8.")
    assert verdicts(found, "late-backend", CURED_CONTROL, CURED) == ["inverted", "kept"]


def test_first_load(found: SabotageResults) -> None:
    """The send buffer is still small, so the script is early without LOWAT, too; with a grown buffer it is late."""
    control, treatment = found.of("first-load", CONTROL), found.of("first-load", TREATMENT)
    assert verdicts(found, "first-load", CONTROL, TREATMENT) == ["kept", "kept"]
    assert first_ms(treatment) == pytest.approx(first_ms(control), rel=0.01)
    assert first_ms(control) < 2000
    assert control["observed"]["sndbuf_bytes"] < control["scenario"]["size_bytes"] / 4
    unsent_ms = [arm["ledger"]["parts_ms"][Layer.UNSENT] for arm in (control, found.of(PLAIN, CONTROL))]
    assert unsent_ms[0] < 0.1 * unsent_ms[1]
    assert told(treatment, "RELOADS=0 with SNDBUF=stock: LOWAT=131072 changes little")
    assert verdicts(found, "first-load", CURED_CONTROL, CURED) == ["inverted", "kept"]
    assert longest(found.of("first-load", CURED_CONTROL)) is Layer.UNSENT


def test_first_load_reloaded(found: SabotageResults, run: Runs) -> None:
    """After four reloads the send buffer has grown, and without LOWAT the script is seconds late."""
    done = variations(run)
    assert done.code == 0, done.trouble
    control, reloaded = found.of("first-load", CONTROL), done.arm("reloaded-control")
    assert reloaded["loads"][0]["script"]["first_byte_ms"] == pytest.approx(first_ms(control), rel=0.01)
    assert first_ms(reloaded) > first_ms(control) + 2000
    assert reloaded["observed"]["sndbuf_most_bytes"] > 8 * reloaded["observed"]["sndbuf_bytes"]


def test_it_is_what_is_documented(found: SabotageResults) -> None:
    """docs/measured/sabotage.md has the words that are measured again; figures may differ by a tenth."""
    number = re.compile(r"\b\d+[.]\d\d\b")
    documented, made = ("\n".join(each.values()) for each in (places(document_of("sabotage")), measured_places(found)))
    assert number.sub("#", documented) == number.sub("#", made)
    pairs = zip(number.findall(documented), number.findall(made), strict=True)
    assert [pair for pair in pairs if float(pair[0]) != pytest.approx(float(pair[1]), rel=0.1, abs=0.05)] == []
    assert len(sabotage()) == documented.count("\n## ")
