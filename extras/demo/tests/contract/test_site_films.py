"""The films on the first page of the documents' web site."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from priolab.extras.demo.recording import EXPLORE
from tools.site import build

pytestmark = pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # it is pinned with its Sphinx


def test_the_first_page_shows_the_films(tmp_path: Path, browser: Browser) -> None:
    """On a desktop the first page plays the films. On a phone it links them, without loading them."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Lab\n\n[films](docs/explore.html)\n\nMore.\n")
    (tmp_path / "docs/README.md").write_text("# Documents\n")
    shutil.copy(EXPLORE, tmp_path / "docs")
    assert build(tmp_path, tmp_path / "site", "")
    with browser.new_page(viewport={"width": 1280, "height": 800}, offline=True) as visited:
        visited.goto((tmp_path / "site/index.html").as_uri())
        films = visited.frame_locator("iframe.explore").locator(".arm-name")
        expect(films).to_have_text(["no limit", "limit 128 KiB"])
        visited.set_viewport_size({"width": 390, "height": 844})
        visited.reload()
        assert len(visited.frames) == 2
        assert visited.frames[1].url == "about:blank"
        visited.locator("p.explore a").click()
        expect(visited.locator(".arm-name")).to_have_count(2)
