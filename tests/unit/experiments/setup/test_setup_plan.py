"""Tests of the steps that a set-up plans on many kinds of machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.debian.apt import Rights
from priolab.experiments.setup.machine import Distribution, Machine
from priolab.experiments.setup.packages import Want, wants_of
from priolab.experiments.setup.setup_plan import OptionalPackages, SetupPlan, by_release, decide
from priolab.experiments.setup.setup_request import SetupPart, setup_request_from
from priolab.proxy.server import catalogue
from priolab.testbed.guest.kernel_source import KERNEL_FILES, KERNEL_PROGRAMS

ROOT = Path(__file__).resolve().parents[4]
BOOKWORM = Distribution(name="Debian GNU/Linux 12 (bookworm)", families=("debian",))
TRIXIE = Distribution(name="Debian GNU/Linux 13 (trixie)", families=("debian",))
SID = Distribution(name="Debian GNU/Linux forky/sid", families=("debian",))
UBUNTU = Distribution(name="Ubuntu 24.04.3 LTS", families=("ubuntu", "debian"))
ARCH = Distribution(name="Arch Linux", families=("arch",))
DEBIAN = Machine(distribution=BOOKWORM, has_apt=True, rights=Rights.ROOT)
WITHOUT_H2O = {"h2o": False}
_AS_ROOT = "run as root: apt-get update && apt-get install --no-install-recommends"
_MISSING = f"these packages are missing; {_AS_ROOT}"
BUILDING = {*KERNEL_PROGRAMS.values(), *KERNEL_FILES.values()}


def _plan(
    *words: str,
    part: SetupPart = SetupPart.EVERYTHING,
    machine: Machine = DEBIAN,
    obtainable: Mapping[str, bool] | None = None,
    kernel_built: bool = True,
    knows_debian: bool = True,
    there: set[str] = frozenset(),  # type: ignore[assignment]
) -> SetupPlan:
    """Return the plan for a machine on which only the packages in `there` are installed."""
    request = setup_request_from(part, words, ROOT)
    built = kernel_built or not (request.in_guests or part is SetupPart.ENVIRONMENT)
    wants = wants_of(
        request,
        catalogue(),
        kernel_built=built,
        families=machine.distribution.families,
        knows_debian=knows_debian,
    )
    lacking = [want for want in wants if not set(want.packages) <= there]
    return decide(request, machine, lacking, obtainable or {}, builds_kernel=request.in_guests and not kernel_built)


def _optional(plan: SetupPlan) -> dict[str, str]:
    return {package: each.without for each in plan.optional for package in each.packages}


def test_the_base_set() -> None:
    """An experiment needs nginx, Node, and the programs that make links, and nothing else."""
    plan = _plan()
    assert plan.install == ("nginx", "nodejs", "iproute2", "ethtool")
    assert plan.optional == ()
    assert plan.services == ("nginx",)
    assert (plan.notes, plan.refusals) == ((), ())


@pytest.mark.parametrize("distribution", [BOOKWORM, TRIXIE, SID, UBUNTU])
@pytest.mark.parametrize("words", [(), ("FABRIC=netns",), ("LOWAT=131072",), ("SERVER=nginx",)])
def test_a_server_nobody_asked_for_stops_nobody(distribution: Distribution, words: tuple[str, ...]) -> None:
    """A missing package h2o does not affect an experiment with nginx."""
    plan = _plan(*words, machine=replace(DEBIAN, distribution=distribution), obtainable=WITHOUT_H2O)
    assert plan.refusals == ()
    assert plan.notes == ()
    assert "h2o" not in plan.install


@pytest.mark.parametrize("words", [("SERVER=h2o",), ("SERVER=nginx,h2o",), ("SCENARIO=h2o",), ("SWEEP=modem",)])
def test_a_server_that_was_asked_for_and_is_not_to_be_had(words: tuple[str, ...]) -> None:
    """A single line names the requested server without a package and the alternatives. Nothing is installed."""
    plan = _plan(*words, machine=replace(DEBIAN, distribution=TRIXIE), obtainable=WITHOUT_H2O)
    (line,) = plan.refusals
    assert line == (
        "SERVER=h2o: Debian GNU/Linux 13 (trixie) has no package h2o: put a h2o of your own in PATH or,"
        " for an experiment, use SERVER=h2o@bookworm or FABRIC=compose, whose images have this server"
    )
    assert (plan.install, plan.optional) == ((), ())


def test_a_server_that_was_asked_for_and_is_to_be_had() -> None:
    """A requested server with a package is installed in addition to the base set."""
    plan = _plan("SERVER=h2o", obtainable={"h2o": True, "nginx": True})
    assert plan.install == ("h2o", "nginx", "nodejs", "iproute2", "ethtool")
    assert plan.services == ("h2o", "nginx")


@pytest.mark.parametrize("part", [SetupPart.SERVERS, SetupPart.TEST])
def test_many_servers_are_wanted_and_none_is_needed(part: SetupPart) -> None:
    """Servers with a package are optional. A note names each server without one."""
    plan = _plan(part=part, machine=replace(DEBIAN, distribution=TRIXIE), obtainable=WITHOUT_H2O)
    assert "Debian GNU/Linux 13 (trixie) has no package h2o; without it, SERVER=h2o cannot be used" in plan.notes
    assert plan.refusals == ()
    assert {"caddy", "haproxy", "apache2"} <= _optional(plan).keys()
    assert not {"h2o", "caddy"} & set(plan.install)
    assert "h2o" not in _optional(plan)


def test_the_default_sweep_names_no_server() -> None:
    """The default sweep's servers are optional, and a note names each server without a package."""
    plan = _plan("REPEAT=1", part=SetupPart.SWEEP, machine=replace(DEBIAN, distribution=TRIXIE), obtainable=WITHOUT_H2O)
    assert plan.refusals == ()
    assert "Debian GNU/Linux 13 (trixie) has no package h2o; without it, SERVER=h2o cannot be used" in plan.notes
    assert "h2o" in _optional(_plan(part=SetupPart.SWEEP))


def test_a_part_of_the_matrix_needs_a_part() -> None:
    """Requested servers are required, and the other servers are not installed."""
    plan = _plan("SERVER=haproxy", part=SetupPart.MATRIX)
    assert "haproxy" in plan.install
    assert not {"h2o", "caddy"} & _optional(plan).keys()


@pytest.mark.parametrize(
    ("words", "needs_kernel"),
    [((), True), (("FABRIC=auto",), True), (("FABRIC=virtual",), True), (("FABRIC=netns",), False)],
)
def test_the_kernel_is_for_those_who_use_guests(words: tuple[str, ...], *, needs_kernel: bool) -> None:
    """Packages that build the kernel are installed only if guests may be used."""
    assert bool(BUILDING & set(_plan(*words, kernel_built=False).install)) is needs_kernel


def test_a_kernel_that_is_there_needs_no_compiler() -> None:
    """Packages that build the kernel are not installed if the kernel exists."""
    assert not BUILDING & set(_plan().install)


def test_the_kernel_alone_needs_no_server() -> None:
    """`make kernel` installs what compiles the kernel, and nothing that runs in it."""
    plan = _plan(part=SetupPart.KERNEL, kernel_built=False)
    assert set(plan.install) == BUILDING
    assert (plan.optional, plan.notes, plan.refusals) == ((), (), ())
    assert _plan(part=SetupPart.KERNEL).install == ()


def test_containers_need_nothing_of_the_machine() -> None:
    """With containers nothing is installed, because the programs are in the images."""
    plan = _plan("FABRIC=compose", "SERVER=h2o", "CAPTURE=yes", kernel_built=False, obtainable=WITHOUT_H2O)
    assert plan == SetupPlan()


def test_checks_need_nothing_but_node() -> None:
    """Checks need no package. Node is optional."""
    plan = _plan(part=SetupPart.LINT, kernel_built=False)
    assert (plan.install, _optional(plan)) == ((), {"nodejs": "the demo's page is not checked"})


def test_looking_around_needs_nothing() -> None:
    """The environment's set-up installs nothing, and notes what is missing and how to install it."""
    plan = _plan("SERVER=h2o", part=SetupPart.ENVIRONMENT, kernel_built=False)
    assert (plan.install, plan.optional, plan.refusals) == ((), (), ())
    missing, kernel = plan.notes
    assert missing.startswith(f"not installed, and FABRIC=compose needs none of it; {_AS_ROOT} h2o nginx nodejs")
    assert kernel == "FABRIC=virtual needs the guest kernel, which `make kernel` builds"


@pytest.mark.parametrize("part", [SetupPart.ENVIRONMENT, SetupPart.EVERYTHING])
def test_the_environment_is_for_everybody(part: SetupPart) -> None:
    """If venv is missing, every part of the set-up installs its package, or refuses if it may not install packages."""
    request, lacking = setup_request_from(part, [], ROOT), [Want(packages=("python3-venv",), makes_environment=True)]
    assert decide(request, DEBIAN, lacking, {}, builds_kernel=False).install == ("python3-venv",)
    nobody = replace(DEBIAN, rights=Rights.NONE)
    refused = decide(request, nobody, lacking, {}, builds_kernel=False)
    assert refused.refusals == (f"{_MISSING} python3-venv",)


def test_who_may_not_install_is_told_what_is_missing() -> None:
    """A user without rights to install is told in one line what root has to run."""
    plan = _plan("FABRIC=netns", machine=replace(DEBIAN, rights=Rights.NONE))
    assert plan.refusals == (f"{_MISSING} nginx nodejs iproute2 ethtool",)


def test_an_ordinary_user_is_told_all_packages_at_once() -> None:
    """The first `make experiment` names the packages of the guest kernel, too, although it could run without them."""
    plan = _plan(part=SetupPart.EXPERIMENT, machine=replace(DEBIAN, rights=Rights.NONE), kernel_built=False)
    command, without = plan.refusals
    assert without.endswith("experiments run in real time, not in guests")
    assert set(command.split()) >= BUILDING | {"nginx", "nodejs", "iproute2", "ethtool"}


@pytest.mark.parametrize("part", [SetupPart.EXPERIMENT, SetupPart.EVERYTHING])
def test_no_real_time_is_promised_without_namespaces(part: SetupPart) -> None:
    """Where namespaces are denied, the guest kernel's packages are needed, and no line speaks of real time or netns."""
    denied = replace(DEBIAN, rights=Rights.NONE, no_namespaces=_FORBIDDEN)
    plan = _plan(part=part, machine=denied, kernel_built=False)
    assert set(plan.refusals[0].split()) >= BUILDING
    assert not any(word in line for line in (*plan.refusals, *plan.notes) for word in ("real time", "netns"))
    able = replace(denied, rights=Rights.SUDO)
    assert set(_plan(part=part, machine=able, kernel_built=False).install) >= BUILDING


def test_who_may_not_install_a_compiler_can_do_without_guests() -> None:
    """With FABRIC=auto, a user who cannot install a compiler is told that FABRIC=netns needs none.
    With FABRIC=virtual, the compiler is required.
    """
    nobody = replace(DEBIAN, rights=Rights.NONE)
    base = {"nginx", "nodejs", "iproute2", "ethtool"}
    plan = _plan(machine=nobody, kernel_built=False, there=base)
    assert plan.refusals[-1].endswith("; FABRIC=netns works without them")
    assert plan.refusals[-1].startswith("only the guest kernel needs gcc make flex bison bc xz-utils libc6-dev")
    plan = _plan("FABRIC=virtual", machine=nobody, kernel_built=False, there=base)
    assert not any("works without them" in line for line in plan.refusals)


def test_who_may_not_install_is_not_sent_for_what_is_not_there() -> None:
    """The proposed command does not contain packages that do not exist."""
    nobody = replace(DEBIAN, rights=Rights.NONE, distribution=TRIXIE)
    plan = _plan("SERVER=h2o", machine=nobody, obtainable=WITHOUT_H2O)
    assert plan.refusals[0].startswith("SERVER=h2o: Debian GNU/Linux 13 (trixie) has no package h2o")
    assert not any("h2o" in line for line in plan.refusals[1:])


def test_what_can_be_done_without_is_no_reason_to_stop() -> None:
    """Missing optional packages are noted with the command that installs them."""
    plan = _plan(part=SetupPart.LINT, machine=replace(DEBIAN, rights=Rights.NONE))
    assert (plan.refusals, plan.optional) == ((), ())
    assert plan.notes == (
        "not installed: nodejs; without them, the demo's page is not checked",
        f"{_AS_ROOT} nodejs",
    )


def test_sudo_is_as_good_as_root() -> None:
    """sudo without a password is as good as root."""
    assert _plan(machine=replace(DEBIAN, rights=Rights.SUDO)) == _plan()


def test_an_unknown_distribution() -> None:
    """On an unknown distribution, the plan gives Debian's names of the packages."""
    plan = _plan(machine=Machine(distribution=ARCH, has_apt=False, rights=Rights.ROOT))
    assert plan.refusals == ("these packages are missing; install what Debian calls nginx nodejs iproute2 ethtool",)


@pytest.mark.parametrize(("distribution", "wanted"), [(BOOKWORM, False), (UBUNTU, True)])
def test_ubuntus_kernel_source_is_packed_another_way(distribution: Distribution, *, wanted: bool) -> None:
    """Ubuntu's kernel source needs bzip2: it is linux-source-6.8.0.tar.bz2, where Debian has .tar.xz."""
    plan = _plan(machine=replace(DEBIAN, distribution=distribution), kernel_built=False)
    assert ("bzip2" in plan.install) is wanted


@pytest.mark.parametrize(
    ("words", "kernel_built", "installs"),
    [((), False, True), ((), True, False), (("SERVER=h2o@bookworm",), True, True), (("SERVER=h2o",), True, False)],
)
def test_ubuntus_sources_lack_debians_archive(words: tuple[str, ...], *, kernel_built: bool, installs: bool) -> None:
    """What knows the archive and its keys is installed if the kernel's source or a suite's server has to be fetched.

    MIRROR can name the archive, so the set-up does not fail without these packages.
    """
    plan = _plan(*words, machine=replace(DEBIAN, distribution=UBUNTU), kernel_built=kernel_built, knows_debian=False)
    without = "Debian's packages can be fetched only with MIRROR=http://HOST/debian"
    expected = OptionalPackages(packages=("debootstrap", "debian-archive-keyring"), without=without)
    assert (expected in plan.optional) is installs
    assert plan.refusals == ()
    on_debian = _plan(*words, kernel_built=kernel_built)
    assert expected not in on_debian.optional


def test_ubuntu_has_chromium_as_a_snap_only() -> None:
    """If Chromium was requested and has no package, the set-up refuses. For the tests it is a note."""
    machine = replace(DEBIAN, distribution=UBUNTU)
    plan = _plan("CLIENT=chromium", machine=machine, obtainable={"chromium": False})
    assert plan.refusals == ("Ubuntu 24.04.3 LTS has no package chromium; install chromium by other means",)
    plan = _plan(part=SetupPart.TEST, machine=machine, obtainable={"chromium": False})
    assert plan.refusals == ()
    assert "Ubuntu 24.04.3 LTS has no package chromium; without it, CLIENT=chromium cannot be used" in plan.notes


_FORBIDDEN = (
    "the setting kernel.apparmor_restrict_unprivileged_userns=1 forbids user namespaces to ordinary users; run as root"
)


@pytest.mark.parametrize(("words", "stops"), [(("FABRIC=netns",), True), ((), False), (("FABRIC=virtual",), False)])
def test_ubuntu_forbids_namespaces_to_ordinary_users(words: tuple[str, ...], *, stops: bool) -> None:
    """FABRIC=netns is refused before anything is installed. Guests need no namespaces."""
    plan = _plan(*words, machine=replace(DEBIAN, rights=Rights.SUDO, no_namespaces=_FORBIDDEN))
    assert plan.refusals == ((f"FABRIC=netns: {_FORBIDDEN}, or use FABRIC=virtual",) if stops else ())


_TROUBLE = "the cache folder /home/me/.cache/priolab cannot be made: Read-only file system"


@pytest.mark.parametrize(
    ("part", "has_cache", "kernel_built", "stops"),
    [
        (SetupPart.EVERYTHING, False, True, True),
        (SetupPart.EVERYTHING, True, False, True),
        (SetupPart.EVERYTHING, True, True, False),
        (SetupPart.ENVIRONMENT, False, False, False),
        (SetupPart.LINT, False, False, False),
    ],
)
def test_a_cache_that_cannot_be_written(part: SetupPart, *, has_cache: bool, kernel_built: bool, stops: bool) -> None:
    """A cache that cannot be written is refused before anything is installed, if the part needs the cache."""
    machine = replace(DEBIAN, has_cache=has_cache, cache_trouble=_TROUBLE)
    plan = _plan(part=part, machine=machine, kernel_built=kernel_built)
    lines = (f"{_TROUBLE}; set XDG_CACHE_HOME to a folder that can be written",)
    assert plan.refusals == (lines if stops else ())
    assert not (stops and plan.install)


@pytest.mark.parametrize(
    ("part", "words", "wanted"),
    [
        (SetupPart.EVERYTHING, (), set()),
        (SetupPart.ENVIRONMENT, (), set()),
        (SetupPart.CAPTURE, (), {"tcpdump", "wireshark-common"}),
        (SetupPart.EVERYTHING, ("CAPTURE=yes",), {"tcpdump", "wireshark-common"}),
        (SetupPart.TEST, (), {"tcpdump", "wireshark-common", "tshark"}),
    ],
)
def test_wireshark_is_for_those_who_want_it(part: SetupPart, words: tuple[str, ...], wanted: set[str]) -> None:
    """An ordinary set-up does not install Wireshark, and does not report it as missing."""
    plan = _plan(*words, part=part)
    assert {"tcpdump", "wireshark-common", "tshark"} & {*plan.install, *" ".join(plan.notes).split()} == wanted


@pytest.mark.parametrize(
    ("part", "words", "named"),
    [
        (SetupPart.EVERYTHING, ("CLIENT=firefox",), {"firefox-esr"}),
        (SetupPart.EVERYTHING, ("CLIENT=chromium,firefox",), {"chromium", "firefox-esr"}),
        (SetupPart.FIREFOX, (), {"firefox-esr"}),
        (SetupPart.EVERYTHING, ("CLIENT=webkit",), {"webkit2gtk-driver", "libgtk-3-bin"}),
        (SetupPart.WEBKIT, (), {"webkit2gtk-driver", "libgtk-3-bin"}),
        (SetupPart.CHROMIUM, (), {"chromium"}),
    ],
)
def test_only_the_named_browser_is_installed(part: SetupPart, words: tuple[str, ...], named: set[str]) -> None:
    """A set-up for one browser does not install another; tests can do without any."""
    all_packages = {"chromium", "firefox-esr", "webkit2gtk-driver", "libgtk-3-bin"}
    assert all_packages & set(_plan(*words, part=part).install) == named
    assert all_packages <= set(_optional(_plan(part=SetupPart.TEST)))


@pytest.mark.parametrize("name", sorted(name for name, server in catalogue().items() if not server.base))
def test_a_server_is_for_those_who_want_it(name: str) -> None:
    """A named server's packages are required, and npm if the server has npm packages. A root has its own packages."""
    plan, server = _plan(f"SERVER={name}"), catalogue()[name]
    packages = () if server.edition else server.packages
    assert set(packages) <= set(plan.install)
    assert ("npm" in plan.install) is (server.npm is not None)
    if server.program != "nginx":
        assert (server.program in plan.services) is (bool(packages) and server.program != "node")


def test_unknown_servers_are_left_to_the_lab() -> None:
    """The set-up ignores an unknown server, because the lab's own error says which servers exist."""
    assert _plan("SERVER=no-such-server") == _plan()


def test_an_experiment_goes_on_without_what_compiles_the_kernel() -> None:
    """An experiment without a compiler runs in real time, with a note. With FABRIC=virtual the compiler is required."""
    nobody = replace(DEBIAN, rights=Rights.NONE)
    base = {"nginx", "nodejs", "iproute2", "ethtool"}
    plan = _plan(part=SetupPart.EXPERIMENT, machine=nobody, kernel_built=False, there=base)
    assert plan.refusals == ()
    assert any(
        "gcc make flex bison bc xz-utils libc6-dev; without them, experiments run in real time" in note
        for note in plan.notes
    )
    plan = _plan("FABRIC=virtual", part=SetupPart.EXPERIMENT, machine=nobody, kernel_built=False, there=base)
    assert plan.refusals[0] == f"{_MISSING} gcc make flex bison bc xz-utils libc6-dev"


def test_the_cores_tests_need_what_an_experiment_needs() -> None:
    """The core's tests need the packages of an experiment in guests. A user is told of all of them in one line."""
    plan = _plan("TESTS=core", part=SetupPart.TEST, kernel_built=False)
    assert set(plan.install) == BUILDING | {"nginx", "nodejs", "iproute2", "ethtool"}
    assert (plan.optional, plan.notes) == ((), ())
    nobody = _plan("TESTS=core", part=SetupPart.TEST, kernel_built=False, machine=replace(DEBIAN, rights=Rights.NONE))
    assert nobody.refusals == (f"{_MISSING} {' '.join(plan.install)}",)


def test_the_tests_of_an_extra_need_what_it_says(tmp_path: Path) -> None:
    """What an extra's tests need is required if this Debian has it; else a note says what is lost."""
    (tmp_path / "extras/mine").mkdir(parents=True)
    needs = ["h2o", "curl", "chromium", "axe"]
    (tmp_path / "extras/mine/extra.toml").write_text(f"tests_need = {needs}")
    request = setup_request_from(SetupPart.TEST, ["TESTS=mine"], tmp_path)
    lacking = wants_of(request, catalogue(), kernel_built=True)
    programs = {"curl", "chromium", "chromium-headless-shell", "npm", "nginx", "nodejs", "iproute2", "ethtool"}
    plan = decide(request, DEBIAN, lacking, {}, builds_kernel=False)
    assert (set(plan.install), plan.optional, plan.notes) == (programs | {"h2o"}, (), ())
    on_trixie = replace(DEBIAN, distribution=TRIXIE)
    plan = decide(request, on_trixie, lacking, by_release(lacking, TRIXIE), builds_kernel=False)
    assert (set(plan.install), plan.optional, plan.refusals) == (programs, (), ())
    assert plan.notes == ("Debian GNU/Linux 13 (trixie) has no package h2o; without it, SERVER=h2o cannot be used",)


def test_an_unknown_extra_has_no_tests() -> None:
    """A misspelt extra is refused."""
    with pytest.raises(ValueError, match="TESTS=dmeo is not allowed; allowed: core, sandbox, or the name of an extra"):
        setup_request_from(SetupPart.TEST, ["TESTS=dmeo"], ROOT)
