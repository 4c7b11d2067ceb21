"""Finds finished arms by their fingerprint, in all experiments of a results folder."""

import contextlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from priolab.common.formats.files import read_json
from priolab.experiments.execution import fingerprint
from priolab.experiments.execution.request import Request
from priolab.experiments.results import digest
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.scenario.knobs import scenario_from
from priolab.extras.demo.arm_view import FinishedArm

_ARM_APART = ("arms", "repeat", "versions")


class FinishedArms:
    """The finished experiments in a results folder. Each experiment is read once: its folder does not change."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._read: dict[Path, Mapping[str, Any]] = {}
        self._damaged: set[FinishedArm] = set()

    def forget(self, shown: FinishedArm) -> None:
        """Marks an arm that could not be read, so that `find` does not return it."""
        self._damaged.add(shown)

    def find(self, request: Request) -> FinishedArm | None:
        """Returns the newest finished arm with the fingerprint of the one-arm request; None if no arm has it.

        Raises LabError.
        """
        (arm,) = request.arms
        scenario, capture = arm.scenario, request.run_settings.capture
        versions = _versions(request.run_settings.fabric.name, scenario.server, scenario.client, capture=capture)
        wanted = fingerprint.fingerprint(request, versions, request.run_settings.fabric.kernel(), _code())
        fit = []
        for path, document in self._finished():
            # A damaged document is no match; `priolab show` reports the damage.
            with contextlib.suppress(OSError, KeyError, TypeError, AttributeError, ValueError):
                name = _arm_like(document, wanted)
                if name and _is_ok(path, document, name):
                    fit.append((str(document["started_at"]), path.name, FinishedArm(folder=path, arm=name)))
        there = [each for each in fit if each[-1] not in self._damaged]
        return max(there, key=lambda each: each[:2])[-1] if there else None

    def _finished(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        present = set()
        for path in fingerprint.finished(self._results):
            present.add(path)
            if path not in self._read:
                self._read[path] = _read(path / "experiment.json")
            if self._read[path]:
                yield path, self._read[path]
        for gone in self._read.keys() - present:
            del self._read[gone]


@cache
def _versions(fabric: str, server: str, client: str, *, capture: bool) -> Mapping[str, str]:
    """Returns the versions of the programs. Each is read once, because programs hardly change while the demo runs."""
    scenario = scenario_from({"SERVER": server, "CLIENT": client})
    tools = FABRICS[fabric].tools(scenario, capture=capture)
    return fingerprint.versions_here({scenario.front_key: tools})


@cache
def _code() -> str:
    return digest.code()


def _read(file: Path) -> Mapping[str, Any]:
    """Reads an experiment's document; returns an empty document if the file is no experiment with a fingerprint."""
    try:
        document = read_json(file)
        if isinstance(document, dict) and isinstance(document.get("fingerprint"), dict) and "started_at" in document:
            return document
    except (OSError, ValueError):
        pass
    return {}


def _arm_like(document: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Returns the name of the document's arm that equals the wanted arm except for its name; None if no arm does."""
    found = document["fingerprint"]
    if any(found.get(key) != value for key, value in wanted.items() if key not in _ARM_APART):
        return None
    if not wanted["versions"].items() <= dict(found.get("versions", {})).items():
        return None
    (asked,) = wanted["arms"]
    same = (each for each in found.get("arms", []) if {**each, "arm": None} == {**asked, "arm": None})
    return next((str(each["arm"]) for each in same), None)


def _is_ok(path: Path, document: Mapping[str, Any], arm: str) -> bool:
    """True if the arm has a single repetition, whose run is ok. Raises OSError, ValueError or KeyError for damage."""
    if [name.rpartition(".")[0] for name in document["runs"]].count(arm) != 1:
        return False
    return bool(read_json(path / f"{arm}.1" / "run.json")["status"] == "ok")
