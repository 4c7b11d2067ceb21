"""Tests of docs/priolab.1, the man page."""

import re
import subprocess

import pytest

from priolab.common.home import ROOT
from priolab.experiments.cli import whole_command_line
from priolab.experiments.commands.options import all_knobs
from tools.man_page import page

_FILE = ROOT / "docs" / "priolab.1"
_REQUESTS = re.compile(r"\.(TH|SH|SS|TP|PP|B|I|BR|nf|fi|nh|ad)( |$)")
_ESCAPES = re.compile(r"\\(e|-|&|:|\((ga|aq|ha|ti))")


def test_it_is_what_the_parser_gives() -> None:
    """The page is up to date: `make man` would not change it."""
    assert _FILE.read_text() == page()


def test_it_has_all() -> None:
    """The page has every command, and every knob as an option of `priolab run`."""
    text = _FILE.read_text().replace("\\-", "-")
    for name in whole_command_line()[1]:
        assert f".SS priolab {name}\n" in text
    for knob in all_knobs():
        assert f".B --{knob.name.lower().replace('_', '-')} VALUE\n" in text


def test_each_line_is_known_to_man() -> None:
    """A line is a request of man(7) or text; no text begins like a request, or has another escape."""
    for line in _FILE.read_text().splitlines():
        assert line
        assert _REQUESTS.match(line) or not line.startswith((".", "'")), line
        assert "\\" not in _ESCAPES.sub("", line), line


@pytest.mark.needs("groff")
def test_groff_has_no_warning() -> None:
    """The page is rendered without a warning, in narrow and in wide terminals."""
    for width in ("80n", "132n"):
        command = ["groff", "-man", "-Tutf8", "-ww", f"-rLL={width}", str(_FILE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert done.stderr == ""
        assert "lists all documents" in done.stdout
