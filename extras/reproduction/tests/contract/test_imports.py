"""The reproduction runs and reads its experiments by the public face of the lab."""

from priolab.common.home import ROOT
from tests.support.private_modules import private_modules

_PRIVATE = {
    "pictures in the style of the lab's figures, two of them with the same scales": {
        "priolab.analysis.figures",
        "priolab.analysis.figures.arms",
        "priolab.analysis.figures.lettering",
        "priolab.analysis.figures.palette",
        "priolab.analysis.figures.sheet",
    },
    "sizes, rates and times in the lab's words": {
        "priolab.common.amounts",
        "priolab.common.formats.scenario",
        "priolab.common.packets",
        "priolab.netem",
    },
    "a command of the lab: options, report, document, exit code": {
        "priolab.common.documents",
        "priolab.common.exit_codes",
        "priolab.experiments.commands.console",
        "priolab.experiments.commands.options",
        "priolab.experiments.execution.cli_request",
    },
}
"""The private modules that it may import, by what it needs them for. The list may only shrink."""


def test_what_it_imports_beside_the_face() -> None:
    """A module that is not listed is refused, and one that is not imported any more leaves the list."""
    found = private_modules(ROOT / "extras" / "reproduction", "priolab.extras.reproduction")
    assert found.keys() == set().union(*_PRIVATE.values())
