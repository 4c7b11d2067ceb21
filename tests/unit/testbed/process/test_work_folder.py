"""Tests of the claims of work folders."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from priolab.testbed.process.work_folder import claim, offer


def test_one_claims_a_folder(tmp_path: Path) -> None:
    """Each folder goes to exactly one of several threads that claim the same ones at once, and no file is left."""
    folders = [tmp_path / str(number) for number in range(200)]
    for folder in folders:
        folder.mkdir()
        offer(folder)
    with ThreadPoolExecutor(4) as threads:
        claimed = list(threads.map(lambda _: [folder for folder in folders if claim(folder)], range(4)))
    assert sorted(chain(*claimed)) == sorted(folders)
    assert list(tmp_path.glob("*/*")) == []
    tmp_path.joinpath("0").rmdir()
    assert not claim(folders[0]), "its folder is gone"
