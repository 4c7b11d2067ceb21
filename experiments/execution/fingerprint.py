"""Finds the finished experiments that REUSE=yes uses again.

An experiment's fingerprint is everything that decides its results. The results of experiments with the same fingerprint
differ by chance alone, so the lab reuses the newest such experiment whose runs are all ok.
"""

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from priolab.common.formats.files import read_json
from priolab.common.formats.reading import FolderError
from priolab.experiments.execution.request import Request
from priolab.experiments.results import digest
from priolab.experiments.scenario.scenario import FrontKey
from priolab.experiments.setup.tools import Tools
from priolab.testbed import work_folder

_PACKAGES = ("aioquic", "h2", "hpack", "hyperframe", "pylsqpack")
"""Python packages whose code runs in an arm."""


def fingerprint(request: Request, versions: Mapping[str, str], kernel: str, code: str) -> dict[str, Any]:
    """Builds the fingerprint that experiment.json records, from the arguments alone.

    versions: the version of each program or package, by name. kernel: the name of the kernel that client, link, front
    and origin use. code: the digest of the lab's code.
    """
    document = {
        "arms": [{"arm": arm.name, **asdict(arm.scenario)} for arm in request.arms],
        "repeat": request.repeat,
        "seed": request.seed,
        "fabric": request.run_settings.fabric.name,
        **request.run_settings.options(),
        "tuner": request.run_settings.tuner,
        "load_deadline_ns": request.run_settings.load_deadline_ns,
        "kernel": kernel,
        "versions": dict(versions),
        "code": code,
    }
    # A document read from a file has strings in place of enumerations, so the fingerprint must have strings, too.
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


def fingerprint_here(request: Request, tools: Mapping[FrontKey, Tools]) -> dict[str, Any]:
    """Returns the fingerprint that the request would have if this machine ran it now.

    tools: the programs that the runs use, by SERVER, PROGRAM and CONFIG.
    """
    return fingerprint(request, versions_here(tools), request.run_settings.fabric.kernel(), digest.code())


def versions_here(tools: Mapping[FrontKey, Tools]) -> dict[str, str]:
    """Returns the versions of Python, packages and programs on this machine, by name.

    tools: the programs that the runs use, by SERVER, PROGRAM and CONFIG.
    """
    versions = {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
    for found in tools.values():
        versions |= found.versions
    return versions


def newest(
    results: Path,
    wanted: Mapping[str, Any],
    damaged: Callable[[str], None],
    check: Callable[[Path], object] = lambda _: None,
) -> Path | None:
    """Returns the folder of the newest finished experiment with only ok runs and the wanted fingerprint, or None.

    damaged: called with a text for each folder that would be taken if its files could be read. check: reads further
    files of a folder; raises FolderError if they are damaged.
    """
    from priolab.analysis.records.runs import load_experiment

    for _, _, folder in sorted(((at, path.name, path) for at, path in _same(results, wanted)), reverse=True):
        try:
            check(folder)
            if all(run.status == "ok" for run in load_experiment(folder).runs):
                return folder
        except FolderError as error:
            damaged(f"not used again, because it is damaged: {error}")
    return None


def finished(results: Path) -> Iterator[Path]:
    """Yields the folders of the finished experiments in a results folder."""
    for file in results.glob("*/experiment.json"):
        if file.parent.suffix != work_folder.PARTIAL and not file.parent.is_symlink():
            yield file.parent


def _same(results: Path, wanted: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    for folder in finished(results):
        try:
            document = read_json(folder / "experiment.json")
            if document.get("fingerprint") == wanted:
                yield str(document.get("started_at")), folder
        except (OSError, ValueError, AttributeError):
            continue  # nobody knows of which experiment it is; `priolab show` reports the damage
