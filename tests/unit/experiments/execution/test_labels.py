"""Tests of the labels of knobs' values in the names of arms."""

from pathlib import Path

import pytest

from priolab.experiments.execution.labels import labels
from priolab.experiments.execution.request import arms_for
from priolab.experiments.sweep.grid import expand, grid_from
from priolab.proxy.server import catalogue, is_folder


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["nginx", "h2o"], ["nginx", "h2o"]),
        (["nginx@trixie", "nginx@1.31.3"], ["nginx@trixie", "nginx@1.31.3"]),
        (["/x/old", "/x/new"], ["old", "new"]),
        (["/old/nginx", "/new/nginx"], ["old-nginx", "new-nginx"]),
        (["nginx", "/new/nginx"], ["nginx", "new-nginx"]),
        (["/a/b c", "/a/b-c"], ["1-a-b-c", "2-a-b-c"]),
        (["/", "nginx"], ["1-", "nginx"]),
    ],
)
def test_labels(values: list[str], found: list[str]) -> None:
    """Labels of paths are as short as they can be, differ, and can be part of a folder's name."""
    assert list(labels(values, is_folder)) == values
    assert list(labels(values, is_folder).values()) == found
    assert list(labels(values, None)) == list(labels(values, None).values()) == values


def test_arms_of_folders(tmp_path: Path) -> None:
    """Arms with servers' folders have short names, and keep the path as it was given."""
    for name in ("mine", "yours"):
        (tmp_path / name).symlink_to(catalogue()["nginx"].folder)
    servers = [f"{tmp_path}/mine", "nginx", f"{tmp_path}/yours"]
    arms = arms_for({"SERVER": ",".join(servers), "LOWAT": "16384"}, control=False)
    assert [arm.name for arm in arms] == ["mine-lowat-16384", "nginx-lowat-16384", "yours-lowat-16384"]
    assert [arm.scenario.server for arm in arms] == servers
    points = expand(grid_from({"SERVER": servers, "LOWAT": ["16384"]}))
    names = ["server-mine", "server-nginx", "server-yours"]
    assert [point.arm.name for point in points] == [*names, *(f"{name}_twin" for name in names)]
