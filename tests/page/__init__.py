"""Checks of the demo's page, with npm packages that are kept outside the tree."""

from pathlib import Path

from experiments.host.npm import folder_for, install_for

_ASKED = Path(__file__).resolve().parent


def axe() -> Path:
    """The accessibility checker, a script to be put into a page; it need not be there."""
    return folder_for(_ASKED) / "node_modules" / "axe-core" / "axe.min.js"


def installed() -> Path:
    """The folder of packages, installed unless it is there. Raises StepFailed."""
    return install_for(_ASKED, "the checks of the demo's page need")
