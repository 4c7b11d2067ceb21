"""docs/guide/your-server.md: its commands are accepted where the files exist that they name; its entry is a server."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from priolab.experiments.execution.cli_request import split_words
from priolab.experiments.execution.request import arms_for
from priolab.proxy.front import Front
from priolab.proxy.server import VALUES, catalogue, server_of
from tests.contract.fronts import front
from tests.support.own_files import ENTRY

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/your-server.md").read_text()
COMMANDS = re.findall(r"^make experiment (.*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("words", COMMANDS)
def test_it_can_be_typed(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A documented command makes an arm for each of its values and each of LOWAT."""
    home = tmp_path / "lab"
    home.mkdir()
    folder = catalogue()["nginx"].folder
    shutil.copyfile(folder / "nginx.conf", home / "my.conf")
    shutil.copytree(folder, tmp_path / "my-front")
    monkeypatch.chdir(home)
    given = split_words(shlex.split(words, comments=True))
    arms = arms_for(given, control=True)
    several = 1 + max(value.count(",") for value in given.values())
    assert len(arms) == 2 * several


def test_there_are_some() -> None:
    """The page has commands for a program, a configuration and a folder."""
    assert {word.partition("=")[0] for words in COMMANDS for word in words.split() if "=" in word} >= {
        "PROGRAM",
        "CONFIG",
        "SERVER",
    }


def test_the_smallest_entry_is_a_server(tmp_path: Path) -> None:
    """The page's entries are servers, one without a configuration file. The other is the one that the tests run."""
    small, shown = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown == ENTRY
    for name, entry in (("small", small), ("shown", shown)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.toml").write_text(entry)
    (tmp_path / "shown" / "mine.conf").write_text("listen @{address}:@{port}")
    assert server_of(f"{tmp_path}/small").template is None
    assert server_of(f"{tmp_path}/shown").template == tmp_path / "shown" / "mine.conf"


@pytest.mark.parametrize("name", ["hyper", "hypercorn"])
def test_an_example_is_a_server(name: str) -> None:
    """The page has the example, which is a server."""
    assert f"docs/examples/{name}" in PAGE
    assert server_of(str(ROOT / "docs/examples" / name)).own


@pytest.mark.parametrize("name", catalogue())
def test_a_front_has_every_value(name: str) -> None:
    """A front gives a template each value that the lab says it has, and no other."""
    made: Front = front(name)
    assert set(VALUES) <= set(made._values) <= made.settings.server.template_values
