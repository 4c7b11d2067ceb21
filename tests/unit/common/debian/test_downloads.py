"""Tests of the line that says, before a set-up begins, what it downloads and how long that takes."""

from collections.abc import Sequence

import pytest

from priolab.common.debian.downloads import PYTHON_MB, Downloads, size_of, told
from priolab.experiments.setup.python_environment import extras
from priolab.experiments.setup.setup_request import SetupPart, SetupRequest

_END = "; Ctrl-C does no harm, the same command continues"


@pytest.mark.parametrize(
    ("downloads", "line"),
    [
        (
            Downloads(debian_bytes=80_500_000, python=[""], source=True, compiles=True),
            (
                "downloads about 289 MB (Debian packages 81, Python packages 43, the source of Linux 165), and compiles"
                " the guest kernel once: about 10 minutes"
            ),
        ),
        (
            Downloads(debian_bytes=2_000_000, python=[""]),
            "downloads about 45 MB (Debian packages 2, Python packages 43): about 1 minute",
        ),
        (
            Downloads(debian_bytes=0, servers=["envoy", "go"]),
            "downloads the programs of envoy, go: about 1 minute",
        ),
        (
            Downloads(debian_bytes=None, python=["demo"], servers=["go"], compiles=True),
            (
                "downloads about 1 MB (Python packages 1) and the programs of go, and compiles the guest kernel once:"
                " about 8 minutes"
            ),
        ),
    ],
)
def test_what_is_downloaded(downloads: Downloads, line: str) -> None:
    """The line has megabytes, minutes, and that an interruption does no harm."""
    assert told(downloads, 2) == line + _END


@pytest.mark.parametrize(
    "nothing", [Downloads(debian_bytes=0), Downloads(debian_bytes=90_000), Downloads(debian_bytes=None)]
)
def test_nothing_worth_a_line(nothing: Downloads) -> None:
    """A set-up that downloads less than a megabyte says nothing."""
    assert told(nothing, 2) is None


def test_more_processors_are_faster() -> None:
    """The compilation is shared by the processors."""
    lines = [told(Downloads(debian_bytes=0, source=True, compiles=True), count) or "" for count in (1, 16)]
    assert [line.split(": ")[1].split(";")[0] for line in lines] == ["about 16 minutes", "about 2 minutes"]


@pytest.mark.parametrize("part", list(SetupPart))
@pytest.mark.parametrize("clients", [(), ("chromium", "firefox", "webkit")])
def test_every_extra_has_a_size(part: SetupPart, clients: Sequence[str]) -> None:
    """Each extra that a set-up installs is in the table."""
    names = {name for name, _ in extras(SetupRequest(part=part, clients=frozenset(clients)))}
    assert names <= PYTHON_MB.keys()


def test_what_apt_prints() -> None:
    """The sizes are the third words of the lines; other lines are left out."""
    said = "'http://m/a_1.deb' a_1.deb 1200 MD5Sum:1\nNotice: x\n'http://m/b.deb' b.deb 34 \n'file:/c.deb' c.deb\n"
    assert size_of(said) == 1234
