"""The file of --ca: anything but certificates is refused at once."""

import os
from pathlib import Path

import pytest

from priolab.common.errors import ScenarioError
from priolab.common.process.interruption import limited
from priolab.experiments.commands.target import authorities


@pytest.mark.parametrize("kind", ["nothing", "a folder", "text", "a FIFO", "no text", "too much"])
def test_what_is_no_file_of_certificates(tmp_path: Path, kind: str) -> None:
    """The error names option, path and reason; a FIFO that nobody writes into is not waited for."""
    file = tmp_path / "ca.pem"
    match kind:
        case "a folder":
            file.mkdir()
        case "text":
            file.write_text("hello")
        case "a FIFO":
            os.mkfifo(file)
        case "no text":
            file.write_bytes(b"\xff\0")
        case "too much":
            file.touch()
            os.truncate(file, 2**34)
    with limited(30), pytest.raises(ScenarioError, match=r"--ca=.*ca\.pem is not allowed; .*in PEM \(\S.*\)$"):
        authorities(file)
