"""Damaged files for commands that would run experiments in the guest; none is run."""

from pathlib import Path

import pytest

from tests.support.damaged_input import faults, kinds

_EXAMPLES = 6
_KINDS = {name: kind for name, kind in kinds().items() if kind.guest and not kind.slow}


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("name", _KINDS)
def test_damaged(name: str, tmp_path: Path) -> None:
    """No damage makes a command that reads the file fail otherwise than by one line that names it."""
    assert faults(_KINDS[name], tmp_path, examples=_EXAMPLES, number=None).commands
