"""Tests of the examples' scripts on a machine without the programs that they start."""

import subprocess
from pathlib import Path

from priolab.common.home import ROOT

EXAMPLES = ROOT / "docs" / "examples" / "sandbox"


def test_a_script_without_curl(tmp_path: Path) -> None:
    """failover.sh ends at once, with the exit code of a missing program and the command that installs curl."""
    done = subprocess.run(
        ["/bin/sh", EXAMPLES / "failover.sh", "server", "mirror"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.splitlines()[-1] == "failover.sh: curl is not installed; run apt-get install curl"
