"""The packages that the set-up installs for each need. Names are Debian's; Ubuntu's are the same unless noted."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from priolab.common.debian.suite_sources import KEYRING
from priolab.experiments.setup.setup_request import SetupPart, SetupRequest
from priolab.experiments.setup.tools import BROWSERS, BrowserProgram
from priolab.proxy.server import SUITES, Server, server_of
from priolab.testbed import kernel_source

ANYWHERE: Mapping[str, str] = MappingProxyType({"node": "nodejs", "ip": "iproute2", "ethtool": "ethtool"})
"""The programs that every run on this machine needs, with their packages."""

CAPTURING: Mapping[str, str] = MappingProxyType({"tcpdump": "tcpdump", "editcap": "wireshark-common"})
LOADING: Mapping[str, str] = MappingProxyType({"h2load": "nghttp2-client"})
READING_CAPTURES: Mapping[str, str] = MappingProxyType({"tshark": "tshark"})

KERNEL_ALSO: Mapping[str, Mapping[str, str]] = MappingProxyType({"ubuntu": {"bzip2": "bzip2"}})
"""Further programs that a distribution's kernel source needs: Ubuntu packs the source as .tar.bz2."""

ARCHIVE_FILES: Mapping[str, str] = MappingProxyType(
    {"/usr/sbin/debootstrap": "debootstrap", KEYRING: "debian-archive-keyring"}
)
"""The packages, by file, that know Debian's archive and its keys, for a machine whose sources do not name it."""

COMPILING_BPF: Mapping[str, str] = MappingProxyType({"clang": "clang", "llvm-strip": "llvm"})
BPF_FILES: Mapping[str, str] = MappingProxyType({"/usr/include/bpf/bpf_helpers.h": "libbpf-dev"})
"""The packages, by program and by file, with which `make bpf` compiles the BPF programs."""

_NOT_TESTED = "some examples of the sandbox are not tested"
_FOR_TESTS: Mapping[str, tuple[Mapping[str, str], str]] = MappingProxyType(
    {
        "h2load": (LOADING, "`priolab cost` does not measure processor time"),
        "cargo": ({"cargo": "cargo"}, "the example of a server in Rust is not tested"),
        "clang": (COMPILING_BPF, "the BPF programs in the tree are not compared with their sources"),
        "lintian": ({"lintian": "lintian"}, "the tuner's package for Debian is not checked"),
        "curl": ({"curl": "curl"}, _NOT_TESTED),
        "iperf3": ({"iperf3": "iperf3"}, _NOT_TESTED),
        "dnsmasq": ({"dnsmasq": "dnsmasq-base"}, _NOT_TESTED),
        "nft": ({"nft": "nftables"}, _NOT_TESTED),
        "chromium": (
            {"chromium-headless-shell": "chromium-headless-shell"},
            "the demo's page is tested in the whole of Chromium",
        ),
        "spdy": ({"npm": "npm"}, "SERVER=spdy cannot be used"),
        "axe": ({"npm": "npm"}, "the demo's page is not checked"),
    }
)
"""By what tests need, the programs with their packages, and what is lost without them."""


@dataclass(frozen=True, kw_only=True)
class Want:
    """Something that should be installed on this machine, such as a program.

    packages: the packages that contain it.
    programs, files: the want is met if one of the programs and all of the files exist; a file may be a glob pattern.
    server: the server that needs the packages. suites: the Debian suites that have them.
    in_images: True if the container images contain this server.
    without: the loss if the want is not met; empty if the set-up fails in this case.
    if_there: True if the set-up fails unless the want is met, where the distribution has the packages.
    starts: True if Debian would start the program as a service.
    builds_kernel: True if only the build of the guest kernel needs the packages.
    makes_environment: True if only the Python environment needs the packages.
    """

    packages: tuple[str, ...]
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    server: str = ""
    suites: tuple[str, ...] = ()
    in_images: bool = False
    without: str = ""
    if_there: bool = False
    starts: bool = False
    builds_kernel: bool = False
    makes_environment: bool = False

    @property
    def needed(self) -> bool:
        """True if the set-up fails unless the want is met."""
        return not self.without


def wants_of(
    request: SetupRequest,
    servers: Mapping[str, Server],
    *,
    kernel_built: bool,
    families: Iterable[str] = (),
    knows_debian: bool = True,
) -> tuple[Want, ...]:
    """Returns everything that should be installed on this machine for the request.

    kernel_built: True if the guest kernel need not be built. families: the values of ID and ID_LIKE in this machine's
    os-release(5). knows_debian: False if this machine has apt, but not Debian's archive among its package sources.
    """
    wants: list[Want] = []
    if request.runs_here or request.part is SetupPart.ENVIRONMENT:
        wants += [want for server in servers.values() if (want := _of_server(server, request))]
        wants += _programs(ANYWHERE)
    if request.part is SetupPart.LINT:
        wants.append(Want(packages=("nodejs",), programs=("node",), without="the demo's page is not checked"))
    if (request.capture and request.runs_here) or request.part is SetupPart.CAPTURE or request.tests(*CAPTURING):
        wants += _programs(CAPTURING)
    if request.tests(*READING_CAPTURES):
        wants += _programs(READING_CAPTURES)
    for need, (table, without) in _FOR_TESTS.items():
        if request.tests(need) or (need == "h2load" and request.part is SetupPart.COST):
            wants += _programs(table, without=without)
    if request.tests("clang"):
        wants += _files(BPF_FILES, without=_FOR_TESTS["clang"][1])
    for program, package in {"sshd": "openssh-server", "redis-server": "redis-server"}.items():
        if request.tests(program):
            wants.append(Want(packages=(package,), programs=(program,), without=_NOT_TESTED, starts=True))
    if request.tests("stock-runner", "bare-debian"):
        wants += _files(ARCHIVE_FILES, without="nothing is tested in bare file systems")
    if request.runs_here:
        for browser in wanted_browsers(request):
            without = "" if is_named(browser, request) else f"CLIENT={browser.name} cannot be used"
            wants += _programs(browser.programs, without=without)
    if npm_servers(request, servers, needed=True) and request.runs_here:
        wants.append(Want(packages=("npm",), programs=("npm",)))
    if not kernel_built and (request.in_guests or request.part is SetupPart.ENVIRONMENT):
        # Unless FABRIC=virtual is given, an experiment can run in real time.
        free = request.part is SetupPart.EXPERIMENT and "virtual" not in request.fabrics
        without = "experiments run in real time, not in guests" if free else ""
        tables = [kernel_source.KERNEL_PROGRAMS, *(KERNEL_ALSO.get(name, {}) for name in families)]
        wants += [
            *(want for table in tables for want in _programs(table, without=without, builds_kernel=True)),
            *_files(kernel_source.KERNEL_FILES, without=without, builds_kernel=True),
        ]
    of_suites = request.runs_here and any(server.edition in SUITES for server in _known(request.servers))
    if not knows_debian and ((request.in_guests and not kernel_built) or of_suites):
        wants += _files(ARCHIVE_FILES, without="Debian's packages can be fetched only with MIRROR=http://HOST/debian")
    if request.tests_need is not None:
        wants = [replace(want, if_there=bool(want.without)) for want in wants]
    return tuple(wants)


def wanted_browsers(request: SetupRequest) -> list[BrowserProgram]:
    """Returns the browsers that the request is for."""
    return [each for each in BROWSERS.values() if is_named(each, request) or request.tests(each.name)]


def is_named(browser: BrowserProgram, request: SetupRequest) -> bool:
    """Returns True if the request names the browser, so that the set-up fails without it."""
    return browser.name in request.clients or request.part == browser.name


def npm_servers(request: SetupRequest, servers: Mapping[str, Server], *, needed: bool) -> list[Server]:
    """Returns servers that use npm packages.

    needed: True for the servers that the request names, also those that some tests need. False for the others, if the
    request is for all tests; otherwise none.
    """
    names = request.servers | (request.tests_need or frozenset())
    named = [server for server in servers.values() if server.npm and server.name in names]
    if needed:
        return named
    return [server for server in servers.values() if server.npm and server not in named and request.tests(server.name)]


def wheel_servers(request: SetupRequest, servers: Mapping[str, Server], *, needed: bool) -> list[Server]:
    """Returns servers whose programs are in wheels, with the requested edition.

    needed: True for the servers that the request names; other names are left out. False for servers that it does not
    name. All tests want all editions of these. The part `servers` wants one edition of each server that the
    distribution lacks. The default sweep wants the servers that it can do without.
    """
    named = _known(request.servers | (request.tests_need or frozenset()))
    if needed:
        return [server for server in named if server.wheel]
    spare = [*_known(request.others)]
    if request.part is SetupPart.SERVERS and not request.servers:
        spare += servers.values()
    if request.part is SetupPart.TEST and request.tests_need is None:
        spare += servers.values()
        spare += [server_of(f"{name}@{edition}") for name, server in servers.items() for edition in server.wheels]
    return [server for server in spare if server.wheel and server not in named]


def _known(names: Iterable[str]) -> list[Server]:
    """Returns the servers with these names. A later command reports names without a server."""
    found = []
    for name in sorted(names):
        with suppress(ValueError):
            found.append(server_of(name))
    return found


def _programs(table: Mapping[str, str], *, without: str = "", builds_kernel: bool = False) -> Iterable[Want]:
    return [
        Want(packages=(package,), programs=(program,), without=without, builds_kernel=builds_kernel)
        for program, package in table.items()
    ]


def _files(table: Mapping[str, str], *, without: str, builds_kernel: bool = False) -> Iterable[Want]:
    return [
        Want(packages=(package,), files=(file,), without=without, builds_kernel=builds_kernel)
        for file, package in table.items()
    ]


def _of_server(server: Server, request: SetupRequest) -> Want | None:
    """Returns a Want with the server's packages; None if the request does not concern the server.

    Servers that every set-up installs, and servers that the request names, are needed. A request for the part
    `servers` or `test` of the lab, or for the default sweep, adds servers that the lab can do without.
    """
    if not server.packages or server.edition is not None:
        return None
    is_needed = server.base or server.name in request.servers
    many = request.part is SetupPart.SERVERS and not request.servers and not server.npm
    if not (is_needed or many or server.name in request.others or request.tests(server.name)):
        return None
    return Want(
        packages=server.packages,
        programs=(server.program,),
        files=server.files,
        server=server.name,
        suites=server.suites,
        in_images=server.in_images,
        without="" if is_needed else f"SERVER={server.name} cannot be used",
        starts=server.program not in ANYWHERE,
    )
