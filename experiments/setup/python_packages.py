"""Says which command adds a Python package to the environment in which this lab is installed.

pipx, uv and a checkout make environments of their own; most of these have no pip, or need more than pip's name.
"""

import re
import shlex
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from priolab.common.home import ROOT, in_checkout

_LAB = "priority-lab"
_OF_PIPX = "pipx_metadata.json"
_OF_UV_TOOL = "uv-receipt.toml"
_OF_UV = re.compile(r"^uv *=", re.MULTILINE)
_GLOBAL_PIPX = Path("/opt/pipx")
_PLACES = ("path", "directory", "editable", "url")
"""The keys of a receipt of uv that name where a package came from, if that was no package index."""


def installing(extra: str) -> str:
    """Returns the command that installs the packages of an extra here, such as `pipx inject priority-lab pyarrow>=21`.

    extra: the name of an extra in pyproject.toml, such as `figures`. The command stands in backticks, for messages.
    """
    return f"`{_command(packages_of(extra), Path(sys.prefix))}`"


def packages_of(extra: str) -> list[str]:
    """Returns the requirements of an extra, such as `pyarrow>=21`, as the installed lab's metadata has them.

    Returns the lab with its extra, if the lab is not installed but only imported.
    """
    try:
        declared = requires(_LAB) or []
    except PackageNotFoundError:
        return [f"{_LAB}[{extra}]"]
    of_extra = re.compile(rf"(.*?) *; *extra == [\"']{re.escape(extra)}[\"']")
    return [found[1] for each in declared if (found := of_extra.fullmatch(each))]


def _command(packages: Sequence[str], prefix: Path) -> str:
    """Returns the command for the environment in the folder `prefix`."""
    python = str(prefix / "bin" / "python")
    if in_checkout():
        return shlex.join(
            [python, "-m", "pip", "install", "--require-hashes", "-c", str(ROOT / "constraints.txt"), *packages]
        )
    if (prefix / _OF_PIPX).is_file():  # pipx may use uv, so this comes first
        everyone = ["--global"] if prefix.is_relative_to(_GLOBAL_PIPX) else []
        return shlex.join(["pipx", "inject", *everyone, prefix.name, *packages])
    if (prefix / _OF_UV_TOOL).is_file():
        return shlex.join(["uv", "tool", "install", *_tool(prefix / _OF_UV_TOOL, packages)])
    if prefix == Path(sys.base_prefix):
        return shlex.join([sys.executable, "-m", "pip", "install", *_past_the_distribution(), *packages])
    if _is_made_by_uv(prefix):
        return shlex.join(["uv", "pip", "install", "--python", python, *packages])
    pip = shlex.join([python, "-m", "pip", "install", *packages])
    has_pip = any(prefix.glob("lib/python3*/site-packages/pip"))
    return pip if has_pip else f"{shlex.join([python, '-m', 'ensurepip'])} && {pip}"


def _tool(receipt: Path, packages: Sequence[str]) -> list[str]:
    """Returns the words after `uv tool install` that install a tool as before, and packages in addition.

    uv forgets what it is not told again. So the words name where the tool came from, and what was added before.
    """
    try:
        listed = tomllib.loads(receipt.read_text())["tool"]["requirements"]
        had: dict[str, dict[str, Any]] = {each["name"]: each for each in listed}
    except (OSError, ValueError, LookupError, TypeError):
        had = {}
    tool = had.pop(_LAB, {"name": _LAB})
    others = [_requirement(each) for each in had.values()]
    words = [word for package in dict.fromkeys((*others, *packages)) for word in ("--with", package)]
    return [*words, *(["--editable"] if "editable" in tool else []), _requirement(tool)]


def _requirement(entry: dict[str, Any]) -> str:
    """Returns an entry of a receipt of uv as a requirement: `priority-lab[figures]@/folder`, or `pyarrow>=21`."""
    extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    if "git" in entry:
        return f"{entry['name']}{extras}@git+{entry['git']}"
    place = next((entry[key] for key in _PLACES if key in entry), None)
    if "editable" in entry:
        return f"{place}{extras}"
    return f"{entry['name']}{extras}" + (f"@{place}" if place else entry.get("specifier", ""))


def _past_the_distribution() -> list[str]:
    """Returns the option that pip needs to add a package to a Python which a distribution manages (PEP 668)."""
    managed = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return ["--break-system-packages"] if managed.is_file() else []


def _is_made_by_uv(prefix: Path) -> bool:
    try:
        return bool(_OF_UV.search((prefix / "pyvenv.cfg").read_text()))
    except (OSError, ValueError):
        return False
