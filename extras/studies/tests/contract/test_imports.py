"""Studies run and read their experiments by the public face of the lab."""

from priolab.common.home import ROOT
from tests.support.private_modules import private_modules

_PRIVATE = {
    "a study's document: its places, tables, words and files": {
        "priolab.analysis.reports.markdown",
        "priolab.analysis.reports.summary",
        "priolab.common.amounts",
        "priolab.common.packets",
        "priolab.common.plural",
        "priolab.experiments.commands.study",
    },
    "pictures in the style of the lab's figures": {
        "priolab.analysis.figures.palette",
        "priolab.analysis.figures.sheet",
    },
    "a command of the lab: options, report, exit code, folders": {
        "priolab.common.exit_codes",
        "priolab.common.home",
        "priolab.common.process.scratch",
        "priolab.experiments.commands.console",
        "priolab.experiments.commands.options",
        "priolab.experiments.execution.cli_request",
    },
    "arms that are planned before anything runs: their knobs and scenarios": {
        "priolab.experiments.execution.request",
        "priolab.experiments.scenario.knobs",
        "priolab.experiments.scenario.named",
        "priolab.experiments.scenario.scenario",
        "priolab.experiments.scenario.service",
        "priolab.netem.link",
        "priolab.netem.trace_generator",
    },
    "guests of other kernels, and the journals of their runs": {
        "priolab.experiments.commands.guest_kernel",
        "priolab.experiments.results.journal_lines",
        "priolab.testbed",
    },
    "every fabric and shaper of this machine, with fewer runs at a time on real clocks (agreement)": {
        "priolab.analysis.records.rate",
        "priolab.common.formats.scenario",
        "priolab.experiments.commands.doctor",
        "priolab.experiments.execution.experiment",
        "priolab.experiments.run.fabrics",
        "priolab.experiments.setup.machine",
        "priolab.netem.shaper_kind",
    },
    "sweeps of hours, which show and learn how long they take, and LOWAT=auto judged by them (auto)": {
        "priolab.analysis.figures.following",
        "priolab.analysis.reports",
        "priolab.analysis.reports.following",
        "priolab.analysis.sweeps",
        "priolab.analysis.sweeps.auto_vs_fixed",
        "priolab.analysis.sweeps.cautious_tuner",
        "priolab.analysis.sweeps.folder",
        "priolab.analysis.sweeps.measures",
        "priolab.analysis.sweeps.moment_means",
        "priolab.analysis.sweeps.network_knobs",
        "priolab.analysis.sweeps.networks",
        "priolab.analysis.sweeps.validation",
        "priolab.experiments.execution.local",
        "priolab.experiments.sweep",
        "priolab.experiments.sweep.instants",
        "priolab.experiments.sweep.sweep",
        "priolab.experiments.sweep.sweep_request",
    },
    "real fronts under load, outside of runs: processor time": {
        "priolab.common.process.processes",
        "priolab.common.process.search_path",
        "priolab.common.running",
        "priolab.experiments.hosts.real_fronts",
        "priolab.proxy.counters",
        "priolab.proxy.server",
    },
    "what browsers sent, and a load without an order (transition)": {
        "priolab.analysis.loads.verdict",
        "priolab.common.formats.files",
    },
}
"""The private modules that studies may import, by what they need them for. The list may only shrink."""


def test_what_studies_import_beside_the_face() -> None:
    """A module that is not listed is refused, and one that no study imports any more leaves the list."""
    found = private_modules(ROOT / "extras" / "studies", "priolab.extras.studies")
    assert found.keys() == set().union(*_PRIVATE.values())
