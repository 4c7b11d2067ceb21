"""Tests of the choice of a finished experiment that is used instead of a new run."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import grimp
import pytest

from priolab.common import home
from priolab.experiments import FLOORS
from priolab.experiments.execution.fingerprint import fingerprint, newest
from priolab.experiments.execution.request import Request, RunSettings, arms_for
from priolab.experiments.hosts.namespaces.netns import Netns
from priolab.experiments.hosts.virtual import Virtual
from priolab.experiments.results import digest
from priolab.netem.shaper_kind import Shaper

VERSIONS = {"nginx": "nginx/1.22.1", "h2": "4.4.1"}


def request(*, control: bool = True, **knobs: str) -> Request:
    return Request(
        name="maps",
        arms=tuple(arms_for(knobs, control=control)),
        repeat=1,
        run_settings=RunSettings(fabric=Virtual(), fabric_reason="as asked", sample=10**7),
        results=Path("results"),
    )


def made(
    asked: Request, versions: Mapping[str, str] = VERSIONS, kernel: str = "linux-6.1", code: str = "c0de"
) -> dict[str, Any]:
    return fingerprint(asked, versions, kernel, code)


USUAL = made(request())
_GOLDEN = Path(__file__).parents[3] / "golden" / "format-3"


def otherwise(**run_settings: Any) -> Request:
    """Return a request with the same arms and other ways to carry them out."""
    usual = request()
    return replace(usual, run_settings=replace(usual.run_settings, **run_settings))


def finished(
    results: Path, name: str, found: object = USUAL, started_at: str = "2026-01-01T00:00:00+00:00", status: str = "ok"
) -> Path:
    folder = results / name
    (folder / "control.1").mkdir(parents=True)
    document = json.loads((_GOLDEN / "experiment.json").read_text())
    document |= {"fingerprint": found, "started_at": started_at, "runs": ["control.1"]}
    (folder / "experiment.json").write_text(json.dumps(document))
    run = json.loads((_GOLDEN / "control.1" / "run.json").read_text())
    (folder / "control.1" / "run.json").write_text(json.dumps(run | {"status": status}))
    return folder


def chosen(results: Path) -> Path | None:
    """Return the folder that is taken, and assert that nothing is said to be damaged."""
    said: list[str] = []
    found = newest(results, USUAL, said.append)
    assert not said
    return found


def test_the_same_words_are_the_same() -> None:
    """Folder, name, the reason for the fabric, and the spelling of values do not change the fingerprint."""
    same = replace(request(LOWAT="128k"), name="mine", results=Path("/elsewhere"), reuse=True)
    other = replace(same, run_settings=replace(same.run_settings, fabric_reason="alone"))
    assert made(other) == USUAL
    assert json.loads(json.dumps(USUAL)) == USUAL


@pytest.mark.parametrize(
    "other",
    [
        made(request(LOWAT="16384")),
        made(request(control=False)),
        made(request(QUEUE="26")),
        made(request(BUFFERING="off")),
        made(replace(request(), repeat=2)),
        made(replace(request(), seed=2)),
        made(otherwise(fabric=Netns())),
        made(otherwise(shaper=Shaper.FERRY)),
        made(otherwise(sample=None)),
        made(otherwise(load_deadline_ns=10**9)),
        made(otherwise(capture=True)),
        made(request(), {**VERSIONS, "nginx": "nginx/1.24.0"}),
        made(request(), {"nginx": "nginx/1.22.1"}),
        made(request(), kernel="linux-6.12"),
        made(request(), code="c0df"),
        None,
    ],
)
def test_what_makes_another(tmp_path: Path, other: object) -> None:
    """Another arm, setting, version, kernel, or source makes another fingerprint.
    Old folders without one do not match.
    """
    finished(tmp_path, "maps-1", other)
    assert chosen(tmp_path) is None


@pytest.mark.parametrize("status", ["failed", "invalid", "unsupported"])
def test_what_went_wrong_is_not_taken(tmp_path: Path, status: str) -> None:
    """An older experiment that is ok is preferred to a newer one that is not."""
    good = finished(tmp_path, "maps-1")
    finished(tmp_path, "maps-2", started_at="2026-02-01T00:00:00+00:00", status=status)
    assert chosen(tmp_path) == good


def test_the_newest_is_taken(tmp_path: Path) -> None:
    """The experiment that started last is used, whatever its name."""
    finished(tmp_path, "maps-3")
    newer = finished(tmp_path, "maps-1", started_at="2026-03-01T00:00:00+00:00")
    finished(tmp_path, "maps-2", started_at="2026-02-01T00:00:00+00:00")
    (tmp_path / "latest").symlink_to("maps-3")
    assert chosen(tmp_path) == newer


def test_what_is_no_finished_experiment_is_passed_over(tmp_path: Path) -> None:
    """Unfinished, damaged, and foreign folders are skipped, and the results folder may be missing."""
    finished(tmp_path, "maps-1.partial")
    for name, text in (("a", "{"), ("b", "[]"), ("c", "{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "experiment.json").write_text(text)
    assert chosen(tmp_path) is None
    assert chosen(tmp_path / "none") is None


_DAMAGE = {
    "control.1/run.json": ("", "{", "[]", "null", '{"status": "ok"}', '{"format": 3, "status": "ok", "arm": 7}', "\0"),
    "experiment.json": (json.dumps({"fingerprint": USUAL}), json.dumps({"fingerprint": USUAL, "started_at": [1]})),
}


@pytest.mark.parametrize(("file", "text"), [(file, text) for file, texts in _DAMAGE.items() for text in texts])
def test_what_is_damaged_is_not_taken(tmp_path: Path, file: str, text: str) -> None:
    """An experiment with a damaged file is not used again: an older one is, or none; one text names the file."""
    finished(tmp_path, "maps-2", started_at="2026-02-01T00:00:00+00:00")
    (tmp_path / "maps-2" / file).write_text(text)
    said: list[str] = []
    assert newest(tmp_path, USUAL, said.append) is None
    assert len(said) == 1
    assert f"maps-2/{file}: " in said[0]
    older = finished(tmp_path, "maps-1")
    assert newest(tmp_path, USUAL, lambda _: None) == older
    (tmp_path / "maps-2" / "control.1" / "run.json").unlink()
    assert newest(tmp_path, USUAL, lambda _: None) == older


def test_a_source_file_that_changes_is_another_code(tmp_path: Path) -> None:
    """The digest depends on the bytes and names of source files, but not on excluded folders and bytecode."""
    (tmp_path / "part" / "apart").mkdir(parents=True)
    (tmp_path / "part" / "__pycache__").mkdir()
    source = tmp_path / "part" / "one.py"

    def seen_now() -> str:
        return digest.digest(tmp_path, ["part", "single.yaml", "missing"], apart=["part/apart"])

    seen = {seen_now()}
    for text in ("a", "b"):
        source.write_text(text)
        seen.add(seen_now())
    (tmp_path / "single.yaml").write_text("b")
    seen.add(seen_now())
    source.rename(source.with_name("two.py"))
    seen.add(seen_now())
    assert len(seen) == 5
    (tmp_path / "part" / "apart" / "three.py").write_text("c")
    (tmp_path / "part" / "__pycache__" / "one.pyc").write_text("d")
    assert seen_now() in seen


def test_what_decides_a_run_is_in_the_digest_of_the_code() -> None:
    """The digest covers everything that `execution` imports, directly or indirectly, but no commands."""
    names = digest.deciding()
    assert all((home.ROOT / name).exists() for name in names)
    graph = grimp.build_graph("priolab", cache_dir=None)
    used = {
        each.removeprefix("priolab.").replace(".", "/")
        for each in graph.find_upstream_modules("priolab.experiments.execution", as_package=True)
    }
    used -= {name for name in used if any(f"{name}.py" == known or Path(name).is_relative_to(known) for known in names)}
    assert used == {"experiments"}, "which holds FLOORS"
    assert "experiments/commands" not in names


def test_the_floors_are_those_that_are_checked() -> None:
    """FLOORS equals the layers in pyproject.toml that lint-imports checks."""
    contracts = tomllib.loads((home.ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == ["priolab.experiments"])
    assert layers == [" | ".join(floor) for floor in reversed(FLOORS)]
