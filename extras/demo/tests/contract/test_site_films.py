"""The explanation on the first page of the documents' web site."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from priolab.extras.demo.publish import PREVIEW
from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.tests.explained import SECTIONS
from tools.site import build

pytestmark = pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # it is pinned with its Sphinx


def test_the_first_page_has_the_explanation(tmp_path: Path, browser: Browser) -> None:
    """On a desktop the first page has the explanation. On a phone it links it, without loading it. Its picture for
    previews lies beside it.
    """
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Lab\n\n[films](docs/explore.html)\n\nMore.\n")
    (tmp_path / "docs/README.md").write_text("# Documents\n")
    for file in (EXPLORE, EXPLORE.with_name(PREVIEW)):
        shutil.copy(file, tmp_path / "docs")
    assert build(tmp_path, tmp_path / "site", "")
    assert (tmp_path / "site" / PREVIEW).exists()
    with browser.new_page(viewport={"width": 1280, "height": 800}, offline=True) as visited:
        visited.goto((tmp_path / "site/index.html").as_uri())
        explained = visited.frame_locator("iframe.explore").locator("#explanation.built .film")
        expect(explained).to_have_count(len(SECTIONS) - 1)
        visited.set_viewport_size({"width": 390, "height": 844})
        visited.reload()
        assert len(visited.frames) == 2
        assert visited.frames[1].url == "about:blank"
        visited.locator("p.explore a").click()
        expect(visited.locator("#explanation.built .film")).to_have_count(len(SECTIONS) - 1)
