"""The sabotage catalogue: every card is complete, is in docs/measured/sabotage.md, and has a lab test."""

import ast
import re
from pathlib import Path

import pytest

from priolab.common.home import ROOT
from priolab.experiments.scenario.knobs import KNOBS, scenario_from
from priolab.experiments.scenario.named import LAYERS, Card, Entry, sabotage
from priolab.extras.studies import sabotage as study

_MOST_SENTENCES = 2
CARDS = [(entry, entry.card) for entry in sabotage().values() if entry.card]
DOCUMENT = (ROOT / "docs/measured/sabotage.md").read_text()

each_card = pytest.mark.parametrize(("entry", "card"), CARDS, ids=[entry.name for entry, _ in CARDS])


@each_card
def test_a_card_is_whole(entry: Entry, card: Card) -> None:
    """A card has all parts, of at most two sentences each; its cure sets known knobs and changes the scenario."""
    assert entry.title
    assert entry.expect
    for text in (card.see, card.tell):
        assert re.search(r"[.]$", text)
        assert len(re.findall(r"[.](?= [A-Z`]|$)", text)) <= _MOST_SENTENCES, text
    assert card.layer in LAYERS
    assert card.cure
    assert {*entry.knobs, *card.cure_knobs} <= set(KNOBS)
    assert scenario_from({**entry.knobs, "LOWAT": "none", **card.cure_knobs}) != scenario_from(
        {**entry.knobs, "LOWAT": "none"}
    )


def test_every_card_is_held_to() -> None:
    """For every card extras/studies/tests/lab/test_sabotage.py has a test of the same name."""
    tree = ast.parse((Path(__file__).parents[1] / "lab" / "test_sabotage.py").read_text())
    tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert [name for name in sabotage() if f"test_{name.replace('-', '_')}" not in tests] == []


@each_card
def test_the_document_tells_it(entry: Entry, card: Card) -> None:
    """docs/measured/sabotage.md has each card in the words of its entry."""
    assert study.words(entry, card) in DOCUMENT


def test_the_document_tells_nothing_else() -> None:
    """docs/measured/sabotage.md has one heading for each card, in order; each arm is in a row of the table."""
    assert re.findall(r"^## (.*)$", DOCUMENT, re.MULTILINE) == list(sabotage())
    rows, arms = study.rows(), study.arms()
    assert re.findall(r"^\| (.+?) \|", DOCUMENT, re.MULTILINE) == ["scenario", "---", *rows]
    assert {arms[case].name for pair in rows.values() for case in pair} == {arm.name for arm in arms.values()}


def test_cases_that_are_one_scenario_are_run_once() -> None:
    """Cases with the same scenario share an arm, such as a cure that leads back to the plain scenario."""
    cases = study.arms()
    assert {name for name, _ in cases} == {study.PLAIN, *sabotage()}
    scenarios = [arm.scenario for arm in {arm.name: arm for arm in cases.values()}.values()]
    assert len(set(scenarios)) == len(scenarios)
    assert cases["deep-queue", study.Role.CURED_CONTROL] is cases[study.PLAIN, study.Role.CONTROL]
