"""Tests of what commands and guests import: imports are most of the time in which they start."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SLOW = {"aioquic", "altair", "asyncio", "cryptography", "h2", "vl_convert"}
FABRICS = "from priolab.experiments.run.fabrics import FABRICS; list(FABRICS.values())"


def imported(code: str) -> set[str]:
    """Return the names of all modules in a fresh process that has carried out this code."""
    program = f"{code}\nimport sys\nprint('imported:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("imported: ")[2].split())


@pytest.mark.parametrize(
    "code", ["import priolab.experiments.cli", "from priolab.experiments.cli import main; main(['list'])", FABRICS]
)
def test_what_starts_quickly(code: str) -> None:
    """The command line, `priolab list` and the fabrics import no slow package."""
    assert imported(code) & SLOW == set()


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import priolab", 3),
        ("import priolab.experiments.cli", 22),
        ("from priolab.experiments.cli import main; main(['list'])", 90),
        ("from priolab.experiments.cli import command_line; command_line(['run'])", 150),
    ],
)
def test_the_budget_of_imports(code: str, most: int) -> None:
    """Each start of the lab imports at most so many modules of its own: of `priolab run`, before it reads its words."""
    found = [name for name in imported(code) if name.partition(".")[0] == "priolab"]
    assert len(found) <= most, sorted(found)


def test_a_list_of_names() -> None:
    """`priolab list` imports nothing that searches or fetches programs, makes links, or shows arms at work."""
    found = imported("from priolab.experiments.cli import main; main(['list'])")
    assert "priolab.experiments.sweep.listing" in found
    assert not found & {
        "priolab.common.debian.apt",
        "priolab.experiments.setup.root_making",
        "priolab.experiments.setup.wheel_fetching",
        "priolab.netem.shaper",
    }
    assert not found & {"priolab.experiments.commands.progress", "priolab.experiments.commands.live_lines"}


def test_an_experiment_outside_of_its_places() -> None:
    """`priolab run` reads its words first. Experiments make certificates, with cryptography. A run's process makes
    places and loads pages.
    """
    found = imported(f"from priolab.experiments.cli import command_line; command_line(['run'])\n{FABRICS}")
    assert found & SLOW == set()
    assert not any(name.startswith("priolab.analysis.records") for name in found)
    found = imported("import priolab.experiments.run_command, priolab.experiments.execution.experiment")
    assert found & SLOW == {"cryptography"}
    assert not found & {
        "priolab.analysis.loads.findings",  # evaluates runs, which are at work before it is imported
        "priolab.client.load_scheduler",
        "priolab.proxy.front",
        "priolab.experiments.hosts.namespaces.namespaces",
    }


def test_what_a_guest_does_not_need() -> None:
    """A guest takes several times as long for each import."""
    found = imported("import priolab.testbed.guest.guest_init, priolab.experiments.run.guest_task")
    assert not found & {
        "aioquic",
        "altair",
        "priolab.analysis",
        "asyncio",
        "cryptography",
        "priolab.experiments.execution",
        "rich",
    }
    assert not found & {
        "priolab.experiments.setup.programs",
        "priolab.experiments.setup.wheels",
        "priolab.testbed.guest.kernel",
    }


LATER = {
    "priolab.client.spdy.engine",
    "priolab.client.http3.session",  # needed for HTTP/3 alone, and takes a third of a second
    "cryptography.hazmat.primitives.asymmetric.x25519",  # imported before the first run where a client uses HTTP/3
    "priolab.experiments.hosts.containers.compose",
    "priolab.experiments.hosts.virtual",  # starts guests
    "priolab.experiments.hosts.namespaces.front_service",  # needed with SERVICE alone
    "priolab.experiments.hosts.namespaces.front_tuner",
    "priolab.experiments.hosts.namespaces.netns",
    "priolab.netem.ferry.process",
    "priolab.proxy.calls",  # counts on real clocks, with the next one
    "priolab.proxy.tuner.libbpf",
}
"""Modules that functions import, and that no run in a guest needs, or only a run of a special kind."""


def test_a_guest_imports_before_its_first_run() -> None:
    """Runs in a guest are forks of one process. What that process has imported, no run imports again."""
    found = imported("import priolab.testbed.guest.guest_init, priolab.experiments.run.guest_task")
    inside = {name for module in found for name in _inside_functions(module)}
    assert inside - found == LATER


def _inside_functions(module: str) -> Iterator[str]:
    """Yield the modules that the functions of a module of the lab import."""
    file = ROOT / f"{module.replace('.', '/')}.py"
    if not file.exists():
        return
    for function in ast.walk(ast.parse(file.read_text())):
        if isinstance(function, ast.FunctionDef):
            for each in ast.walk(function):
                if isinstance(each, ast.ImportFrom):
                    assert each.module is not None
                    yield each.module
