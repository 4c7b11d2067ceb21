"""The exported story, for the tests of this folder."""

import shutil

import pytest

from priolab.extras.demo.tests.lab.exported import ADDRESS, Exported, copy_story
from tests.support.capabilities import needing
from tests.support.lab import Lab
from tests.support.shared_runs import Runs, alone


@pytest.fixture(scope="session")
@needing("haproxy")
def exported(guest: None, run: Runs) -> Exported:  # noqa: ARG001
    """Exports the story once for all workers. Arms of shared runs are copied first, and not run again."""
    lab = Lab(root=run.lab.root / "story")
    with alone(run.lab.root / "story.lock"):
        if not (lab.results / "slides" / "index.html").exists():
            shutil.rmtree(lab.root, ignore_errors=True)
            for folder in (lab.root, lab.temporary, lab.results):
                folder.mkdir()
            copy_story(run, lab.results)
            done = lab.command_here("slides", "FABRIC=virtual", "--address", ADDRESS)
            assert done.returncode == 0, done.stderr
            assert len(list(lab.results.glob("story-*/*/run.json"))) == 3, "what was there was run again"
    return Exported(results=lab.results)
