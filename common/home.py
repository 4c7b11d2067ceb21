"""Locates the lab's own files, in a clone or in an installed lab."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder that holds the lab's packages: the clone, or the installed package `priolab`."""

IMPORTED_FROM = ROOT if (ROOT / "priolab").is_dir() else ROOT.parent
"""The folder that holds the package `priolab`, for PYTHONPATH."""

_OF_A_CLONE = ("pyproject.toml", "constraints.txt", "Makefile")


def is_clone(root: Path = ROOT) -> bool:
    """Returns True if the folder is a clone of the lab: an installed lab lacks the Makefile, for example."""
    return all((root / name).is_file() for name in _OF_A_CLONE)


def setup_command(words: str = "") -> str:
    """Returns the command that sets this machine up, for messages. words: the command's arguments."""
    return f"`{'make' if is_clone() else 'priolab'} setup{f' {words}' if words else ''}`"


def set_up_part(part: str) -> str:
    """Returns the command that sets up a part of the lab, for messages. part: a value of SetupPart."""
    return f"`make setup-{part}`" if is_clone() else f"`priolab setup {part}`"


def kernel_command(source: str = "") -> str:
    """Returns the command that builds the guest kernel, for messages.

    source: the file that the command takes: a kernel that was built elsewhere, or a kernel's source; empty for none.
    """
    if is_clone():
        return f"`make kernel{f' KERNEL={source}' if source else ''}`"
    return f"`{f'PRIOLAB_KERNEL={source} ' if source else ''}priolab kernel`"


def run_command(words: str) -> str:
    """Returns the command that runs an experiment, without backticks. words: the command's arguments."""
    return f"{'make experiment' if is_clone() else 'priolab run'} {words}"


def in_checkout() -> bool:
    """Returns True if this process runs in the .venv of the clone that its code comes from."""
    return is_clone() and Path(sys.prefix) == ROOT / ".venv"
