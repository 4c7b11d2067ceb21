"""Checks of the demo's page; their npm packages are installed outside the checkout."""

from pathlib import Path

from priolab.experiments.setup.npm import folder_for
from priolab.experiments.setup.npm_installing import install_for

_ASKED = Path(__file__).resolve().parent


def axe() -> Path:
    """Return the path of the accessibility checker axe, a script for a page; it may be missing."""
    return folder_for(_ASKED) / "node_modules" / "axe-core" / "axe.min.js"


def installed() -> Path:
    """Install the npm packages if they are missing, and return their folder. Raises StepFailed."""
    return install_for(_ASKED, "the checks of the demo's page need")
