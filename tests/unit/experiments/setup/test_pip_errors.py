"""Tests of the line that says why pip failed, with output of real pips."""

from pathlib import Path

import pytest

from priolab.common.debian.apt import candidates, complaint
from priolab.experiments.setup.pip_errors import cause_of

_LOGS = Path(__file__).parent / "pip"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("compiler", "broken: broken.c:1:10: fatal error: no/such/header.h: No such file or directory"),
        (
            "digest",
            (
                "h2-4.4.1-py3-none-any.whl has the digest"
                " sha256:0e25f1462b23c9cb82d9eb02e28bc706dac2a68cb457c6a0d74d63c8a2a5d0e6, which neither"
                " constraints.txt nor build-requirements.txt lists; try PIP_NO_CACHE_DIR=1, then another package index"
                " (PIP_INDEX_URL)"
            ),
        ),
        ("exception", "RuntimeError: needs a rusty compiler"),
        ("tool", "error: invalid command 'bdist_wheel'"),
        (
            "unreachable",
            "the package index cannot be reached (Connection refused); ERROR: No matching distribution found for h2",
        ),
        (
            "unreachable-within",
            "the package index cannot be reached (Connection refused); ERROR: No matching distribution found for wheel",
        ),
        ("unlisted", "constraints.txt has no digest for hpack<5,>=4.2; run `make constraints`"),
        ("version", "ERROR: Could not find a version that satisfies the requirement h2==99"),
    ],
)
def test_the_cause_is_told(log: str, cause: str) -> None:
    """The reported cause is the first one, and not that a subprocess ended with an error."""
    assert cause_of((_LOGS / f"{log}.log").read_text()) == cause


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("", ""),
        ("Killed\n", "Killed"),
        (
            "ERROR: Exception:\nTraceback\nOSError: [Errno 28] No space left on device\n",
            "OSError: [Errno 28] No space left on device",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/lab/.venv'",
            "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/lab/.venv'",
        ),
    ],
)
def test_other_ends(said: str, cause: str) -> None:
    """A full disk is reported before its consequences."""
    assert cause_of(said) == cause


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Reading lists...\nE: Unable to locate package h2o\nE: more\n", "E: Unable to locate package h2o"),
        (
            "Err:1 x\nE: You don't have enough free space in /var/cache/apt/archives/.\n",
            "E: You don't have enough free space in /var/cache/apt/archives/.",
        ),
        ("sudo: a password is required\n", "sudo: a password is required"),
        ("", ""),
    ],
)
def test_apts_own_line(said: str, line: str) -> None:
    """The reported line is the first error of apt-get, or else the last line."""
    assert complaint(said) == line


def test_packages_that_can_be_had() -> None:
    """`candidates` returns the packages with a candidate in the output of `apt-cache policy`.
    Unknown packages are not in the output.
    """
    said = (
        "nginx:\n  Installed: (none)\n  Candidate: 1.26.3-3\n  Version table:\n     1.26.3-3 500\n"
        "chromium:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"
    )
    assert candidates(said) == {"nginx"}
