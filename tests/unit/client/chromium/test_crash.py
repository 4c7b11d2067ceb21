"""Tests of the error of a page that crashes."""

from pathlib import Path

from priolab.client.chromium.browser import KNOWN_TO_WORK, with_remedy

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "guide" / "chromium.md"


def test_a_crash_names_the_versions_that_work() -> None:
    """The line of a crash says from which version on Chromium works; other errors stay as they are."""
    assert with_remedy("Page.goto: Page crashed") == (
        "Page.goto: Page crashed; Chromium is known to work from version 156, which Debian's security archive has"
    )
    assert with_remedy("net::ERR_CONNECTION_REFUSED") == "net::ERR_CONNECTION_REFUSED"


def test_the_guide_has_the_version() -> None:
    """The guide names the same version."""
    assert f"known to work from version {KNOWN_TO_WORK}" in " ".join(GUIDE.read_text().split())
