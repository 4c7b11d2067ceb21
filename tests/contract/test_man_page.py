"""Tests of docs/priolab.1, the man page."""

import subprocess

import pytest

from priolab.common.home import ROOT
from tools.man_page import page

_FILE = ROOT / "docs" / "priolab.1"


def test_it_is_what_the_parser_gives() -> None:
    """The page is up to date: `make man` would not change it."""
    assert _FILE.read_text() == page()


@pytest.mark.needs("groff")
def test_groff_has_no_warning() -> None:
    """The page is rendered without a warning, in narrow and in wide terminals."""
    for width in ("80n", "132n"):
        command = ["groff", "-man", "-Tutf8", "-ww", f"-rLL={width}", str(_FILE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert done.stderr == ""
        assert "lists all documents" in done.stdout
