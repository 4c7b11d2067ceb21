"""Tests of named scenarios as files, and of their cards."""

from pathlib import Path

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.common.errors import ScenarioError
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.named import LAYERS, Card, catalogue, read_entry, sabotage

_CARD = '[card]\nsee = "much"\nlayer = "tls_record"\ntell = "so"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_card_is_read(tmp_path: Path) -> None:
    """A card is read, with its cure as knobs if it has one."""
    entry = read_entry(written(tmp_path, f'[knobs]\nQUEUE = 1000\n{_CARD}cure = "QUEUE=25 CC=bbr"\n'))
    assert entry.card == Card(see="much", layer="tls_record", tell="so", cure="QUEUE=25 CC=bbr")
    assert entry.card.cure_knobs == {"QUEUE": "25", "CC": "bbr"}
    incurable = read_entry(written(tmp_path, _CARD)).card
    assert incurable
    assert incurable.cure_knobs == {}
    assert read_entry(written(tmp_path, "")).card is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('card = "x"', "a table of see, layer, tell, cure"),
        (
            '[card]\nsee = "x"\nlayer = "origin"',
            "card: tell=nothing is not allowed; allowed: a text that",
        ),
        (_CARD.replace('"much"', "1"), "card: see=1 is not allowed; allowed: a text"),
        (_CARD.replace('"much"', '""'), "card: see= is not allowed; allowed: a text"),
        (
            _CARD.replace("tls_record", "gremlins"),
            "card: layer=gremlins is not allowed; allowed: second",
        ),
        (_CARD + 'cured = "x"', "cured"),
        (_CARD + 'cure = "LOWATT=1"', "LOWATT"),
        (_CARD + 'cure = "REPEAT=5"', "REPEAT"),
        (_CARD + 'cure = "QUEUE=1 CC=bbr QUEUE=25"', "mine.toml: card: cure=QUEUE=1 CC=bbr QUEUE=25"),
        (_CARD + 'cure = "QUEUE=25 stock"', "mine.toml: card: cure=stock is not allowed; allowed: words KNOB=VALUE"),
        (_CARD + 'cure = "LOWAT=0"', "LOWAT=0"),
    ],
)
def test_a_bad_card_is_refused(tmp_path: Path, text: str, named: str) -> None:
    """The error names the fault in the card."""
    with pytest.raises(ScenarioError) as caught:
        read_entry(written(tmp_path, text))
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "[knobs]\nLOWATT = 1",
            "mine.toml=LOWATT is not allowed; allowed: knobs of the scenario (did you mean LOWAT?)",
        ),
        ("[knobs]\nqueue = 25", "(did you mean QUEUE or VIA_QUEUE?)"),
        (_CARD + 'cure = "RELOAD=4"', "(did you mean RELOADS?)"),
        ("[knobs]\nREPEAT = 5", f"({', '.join(KNOBS)})"),
        ("[knobs]\nREPEAT = 5", "give execution options on the command line"),
    ],
)
def test_a_strange_knob_is_refused(tmp_path: Path, text: str, named: str) -> None:
    """The error names the file, and the most similar knobs or all of them."""
    with pytest.raises(ScenarioError) as caught:
        read_entry(written(tmp_path, text))
    assert named in str(caught.value)


def test_a_card_may_name_each_layer_of_the_ledger() -> None:
    """A card may name each layer of the ledger except `unexplained`."""
    assert {layer.value for layer in Layer} - set(LAYERS) == {"unexplained"}


def test_the_sabotage_catalogue_is_what_has_a_card() -> None:
    """The sabotage catalogue has exactly the scenarios with a card."""
    assert set(sabotage()) == {name for name, entry in catalogue().items() if entry.card}
    assert "maps" not in sabotage()
