"""Folders of the front of these tests, for SERVER."""

import json
import sys
from pathlib import Path

from priolab.common.home import IMPORTED_FROM
from priolab.extras.gate.tests.front.scheduler import Fault

_HERE = Path(__file__).parent
_SERVER = "priolab.extras.gate.tests.front.server"
_ENTRY = """\
program = {python}
version = ["{{program}}", "--version"]
command = ["env", "PYTHONPATH={tree}", "{{program}}", "-B", "-m", "{server}", "{{config}}"]
template = "front.json"
scheduling = "strict: RFC 9218"
"""


def front_folder(
    path: Path,
    fault: Fault = Fault.NONE,
    *,
    python: str = sys.executable,
    lab: Path | str = IMPORTED_FROM,
    more: str = "",
) -> Path:
    """Make a server's folder with the front that has this fault.

    python, lab: the interpreter, and the lab's folder. more: further lines of its server.toml, such as `tls = false`.
    """
    path.mkdir()
    config = (_HERE / "front.json").read_text().replace("none", fault)
    if "tls = false" in more:
        config = config.replace('"tls": true', '"tls": false')
    (path / "front.json").write_text(config)
    (path / "server.toml").write_text(_ENTRY.format(python=json.dumps(python), tree=lab, server=_SERVER) + more)
    return path
