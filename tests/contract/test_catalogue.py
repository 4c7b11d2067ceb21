"""The files of the catalogues (named scenarios, sweeps, servers) and the tables of knobs in the documents."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from priolab import experiments, proxy
from priolab.client.plan import PlanKind
from priolab.common.formats.plan import Protocol
from priolab.experiments.execution.cli_request import RUN_KNOBS, RunKnob
from priolab.experiments.execution.request import arms_for
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.knobs import KNOBS, scenario_from
from priolab.experiments.scenario.named import catalogue, read_entry
from priolab.experiments.setup.setup_request import DEFAULT_SWEEP
from priolab.experiments.sweep.grid import expand
from priolab.experiments.sweep.sweep_file import catalogue as sweeps
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.proxy.server import Server, server_of
from priolab.proxy.server import catalogue as servers
from priolab.proxy.server_entry import check_entry
from tests.contract.fronts import front, levels
from tools import knob_tables

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((Path(next(iter(experiments.__path__))) / "scenario" / "catalogue").iterdir())
SERVERS = sorted((Path(next(iter(proxy.__path__))) / "servers").iterdir())
_SWITCHES = ("native", "buffering")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_scenario_file_loads(path: Path) -> None:
    """A named scenario is a TOML file with a title and an expectation, and sets only known knobs."""
    entry = read_entry(path)
    assert entry.title
    assert entry.expect
    assert set(entry.knobs) <= set(KNOBS)
    assert catalogue()[path.stem] == entry


@pytest.mark.parametrize("name", [path.stem for path in SCENARIOS])
def test_scenario_can_be_asked_for(name: str) -> None:
    """A named scenario makes a control arm without LOWAT and a treatment arm with it; a probe makes one arm."""
    arms = arms_for(catalogue()[name].knobs, control=True)
    if all(arm.scenario.plan is PlanKind.PROBE for arm in arms):
        assert [arm.name for arm in arms] == ["probe"]
        return
    control, treatment = arms
    assert control.scenario.lowat_bytes is None
    assert treatment.scenario.lowat_bytes


@pytest.mark.parametrize("name", sweeps())
def test_named_sweep(name: str) -> None:
    """A named sweep has a title, at least one twin arm, and another grid than all other named sweeps."""
    assert sweeps()[name].title
    points = expand(sweep_request_from([name]).grid)
    assert any(point.twin_of for point in points)
    assert [other for other in sweeps() if sweep_request_from([other]).grid == sweep_request_from([name]).grid] == [
        name
    ]
    assert DEFAULT_SWEEP in sweeps()


def test_the_catalogue_is_its_folder() -> None:
    """The folder holds only scenario files, each is in the catalogue, and SCENARIO's default is among them."""
    assert [path.suffix for path in SCENARIOS] == [".toml"] * len(SCENARIOS)
    assert sorted(catalogue()) == sorted(path.stem for path in SCENARIOS)
    assert RUN_KNOBS["SCENARIO"].default in catalogue()


def test_no_two_scenarios_are_the_same() -> None:
    """No two named scenarios have the same knobs."""
    scenarios = [scenario_from(entry.knobs) for entry in catalogue().values()]
    assert len(set(scenarios)) == len(scenarios)


def test_every_server_is_loaded() -> None:
    """The catalogue has a server for each folder, and the default server is one that every machine of the lab has."""
    assert sorted(servers()) == [path.name for path in SERVERS]
    assert servers()[KNOBS["SERVER"].default].base


@pytest.mark.parametrize("server", servers().values(), ids=lambda server: server.name)
def test_server_entry(server: Server) -> None:
    """A server's entry names program, scheduling and command, and has the levels NATIVE=off and BUFFERING=on.

    The program comes from packages of the distribution or, if `edition` is set, from a wheel or a suite.

    A setting with two levels has the server's own name for the setting. The versions under `since` are those of levels
    that exist.
    """
    assert server.program
    assert server.image_version
    assert bool(server.packages) != (server.edition in server.wheels)
    assert server.edition in (None, *server.editions)
    assert all(Path(file).is_absolute() for file in server.files)
    assert server.scheduling
    assert server.arguments(server.version, {"program": "/opt/server"})[0] == "/opt/server"
    assert any("{config}" in word for word in server.command)
    assert server.template is not None
    assert server.template.is_file()
    assert "off" in server.native.levels
    assert "on" in server.buffering.levels
    assert server.record_values(None) == server.record.levels["stock"]
    for switch in (server.native, server.buffering, server.record):
        assert (len(switch.levels) == 2) == bool(switch.name)
        assert set(switch.since) <= set(switch.levels)
    assert Protocol(server.protocol)


@pytest.mark.parametrize("server", servers().values(), ids=lambda server: server.name)
def test_server_entry_has_no_stray_keys(server: Server) -> None:
    """A server.toml has all required keys, and no key that the lab does not read."""
    entry = tomllib.loads((server.folder / "server.toml").read_text())
    packaged = {"packages", "image_version"} if server.packages else set()
    needed = {"program", "version", "command", "template", "scheduling", *_SWITCHES, *packaged}
    others = {"base", "edition", "editions", "files", "npm", "privileges", "protocol", "record", "suites"}
    others |= {"listener", "reads_processor_clock", "takes_whole", "upstream"}
    assert needed <= set(entry) <= needed | others
    own = {"template": server.config_name} | ({"edition": server.edition} if server.edition in server.wheels else {})
    elsewhere = ("npm", "protocol", "suites", "template", "edition")
    check_entry({name: value for name, value in entry.items() if name not in elsewhere} | own)
    for switch in _SWITCHES:
        assert set(entry[switch]) <= {
            "name",
            "on",
            "off",
            "on_since",
            "off_since",
            *(["usual"] if switch == "buffering" else []),
        }
    assert set(entry.get("record", {})) <= {"name", "stock", "bytes", "stock_since", "bytes_since"}
    assert set(entry.get("listener", {})) <= {"name", "tls", "http1", "h2c"}
    assert set(entry.get("upstream", {})) <= {"name", "http1", "h2c"}
    assert set(entry.get("writes", {})) <= {"record_bytes", "batch_bytes", "begun_records", "strict"}
    assert set(entry.get("privileges", {})) in ({"root", "ordinary"}, set())


_WITH_WHEELS = [(server, edition) for server in servers().values() for edition in server.wheels]


@pytest.mark.parametrize(("server", "edition"), _WITH_WHEELS, ids=lambda each: getattr(each, "name", each))
def test_a_wheel_is_pinned(server: Server, edition: str) -> None:
    """An edition from a wheel has the wheel's version, and a digest for each machine on which the guest or netns runs.

    SERVER=NAME@EDITION is this edition, and the edition of an entry without packages is one of them.
    """
    wheel = server.wheels[edition]
    assert wheel.requirement.endswith(f"=={edition}")
    assert set(wheel.sha256) == {"x86_64", "aarch64"}
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in wheel.sha256.values())
    assert wheel.source is None or wheel.source.is_file()
    assert server_of(f"{server.name}@{edition}").wheel == wheel
    assert server.edition in (None, *server.editions)


@pytest.mark.parametrize("name", [name for name, server in servers().items() if server.packages])
def test_an_image_installs_the_same(name: str) -> None:
    """The program of a front's image names the packages and versions that the lab has read from the server.toml."""
    server = servers()[name]
    command = [sys.executable, "-I", str(ROOT / "proxy/package_pins.py"), str(server.folder / "server.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{package}={server.image_version}" for package in server.packages]


@pytest.mark.parametrize("server", [server for server in servers().values() if server.npm], ids=lambda each: each.name)
def test_packages_of_npm_are_pinned(server: Server) -> None:
    """A server's npm packages are pinned by version and digest, and the lock file names no registry."""
    assert server.npm
    wanted = json.loads((server.npm / "package.json").read_text())["dependencies"]
    locked = json.loads((server.npm / "package-lock.json").read_text())["packages"]
    assert locked[""]["dependencies"] == wanted
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    for name, package in locked.items():
        assert not name or package["integrity"].startswith("sha512-")
        assert "resolved" not in package


@pytest.mark.parametrize(("name", "native", "buffering"), levels())
def test_template_renders(name: str, native: str, buffering: str) -> None:
    """At every level a server's template and command contain no unreplaced placeholder, but address and origin."""
    described = front(name, native, buffering)
    text = described.settings.server.render(described._values)
    assert "@{" not in text
    assert described.settings.address in "\n".join([text, *described.command])
    assert all(part in text for part in described.settings.origin.split(":"))
    assert not [word for word in described.command if "{" in word]


@pytest.mark.parametrize("name", servers())
def test_template_needs_its_values(name: str) -> None:
    """A template raises KeyError if a value is missing."""
    with pytest.raises(KeyError):
        servers()[name].render({})


def test_the_table_of_knobs_is_the_codes() -> None:
    """docs/reference/knobs.md has the tables of `make knobs`, and README.md has ten of the code's defaults."""
    page = (ROOT / "docs/reference/knobs.md").read_text()
    assert page == knob_tables.document(page)
    rows = re.findall(r"^\| `([A-Z_]+)` \| `([^`]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(rows) == 10
    defaults = {knob.name: knob.default for knob in KNOBS.values()} | {
        knob.name: knob.default for knob in RUN_KNOBS.values()
    }
    assert all(defaults[name] == default for name, default in rows)


def test_no_word_means_two_things() -> None:
    """Scenario knobs and execution options share no name, and each has an allowed range and a meaning."""
    assert not set(KNOBS) & set(RUN_KNOBS)
    knobs: list[Knob | RunKnob] = [*KNOBS.values(), *RUN_KNOBS.values()]
    assert [knob.name for knob in knobs if not (knob.name.isupper() and knob.allowed and knob.meaning)] == []
