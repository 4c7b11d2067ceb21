"""A scratch folder does not outlive its process, in whatever way this ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.waiting import until

_WORK = """
import time
from pathlib import Path
from priolab.common.process.scratch import scratch_folder
with scratch_folder("kept-") as folder:
    (folder / "below").mkdir()
    (folder / "below" / "file").touch()
    print(folder, flush=True)
    {rest}
"""


def _started(tmp_path: Path, rest: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WORK.format(rest=rest)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.parametrize("rest", ["pass", "raise ValueError", "import os; os._exit(3)", "import os; os.abort()"])
def test_it_goes_with_its_process(tmp_path: Path, rest: str) -> None:
    """After a return, an error, and an end without any cleaning up, nothing is left."""
    with _started(tmp_path, rest) as process:
        assert process.communicate(timeout=60)[0].startswith(f"{tmp_path}/kept-")
    until(lambda: not list(tmp_path.iterdir()), "it is left", limit_s=60)


def test_a_kill_at_any_moment(tmp_path: Path) -> None:
    """A kill that follows the folder's appearance at once, or a little later, leaves nothing."""
    for pause_s in (0, 0, 0, 0.001, 0.01):
        with _started(tmp_path, "time.sleep(60)") as process:
            while process.poll() is None and not any(tmp_path.iterdir()):
                pass
            time.sleep(pause_s)
            process.send_signal(signal.SIGKILL)
        until(lambda: not list(tmp_path.iterdir()), "it is left", limit_s=60)
