"""Studies with several experiments look for all servers and browsers before they measure anything."""

from pathlib import Path
from types import ModuleType

import pytest

import priolab
from priolab import Unavailable
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Study
from priolab.experiments.setup import programs
from priolab.extras.studies import hypothesis, myths, transition, two_hops
from priolab.proxy.server import Server


@pytest.mark.parametrize(
    ("study", "last"),
    [(myths, "envoy-h3"), (myths, "h2o"), (two_hops, "haproxy"), (transition, "go")],
)
def test_it_is_refused_before_it_measures(
    study: ModuleType, last: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing server is reported in one line that names the remedy, and nothing has run."""

    def lack_of(server: Server, _: str | None = None) -> str | None:
        return server.program if server.name == last else None

    monkeypatch.setattr(programs, "lack_of", lack_of)
    monkeypatch.setattr(programs, "program_of", lambda server: f"/usr/bin/{server.program}")
    monkeypatch.setattr(programs, "root_of", lambda _: None)
    monkeypatch.setattr(programs, "find", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(programs, "version", lambda *_: "1")
    monkeypatch.setattr(programs, "server_version", lambda *_: "1")
    monkeypatch.setattr(hypothesis, "built_kernel", lambda _: pytest.fail("a kernel was built"))
    monkeypatch.setattr(priolab, "run", lambda *_, **__: pytest.fail("it measured"))
    made = study.add_to.__self__
    assert isinstance(made, Study)
    with pytest.raises(Unavailable, match=rf"^SERVER={last} cannot be used here: .*; `make setup SERVER={last}` "):
        made.write(tmp_path / "a.md", Report())
    assert not list(tmp_path.iterdir())
