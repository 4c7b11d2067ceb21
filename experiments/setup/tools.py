"""The programs that a run uses, and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from priolab.common.clock_route import ClockRoute

FRONT, SECOND = "front", "second"
"""The names of the front's program and of the second front's (VIA) among the programs of a run."""


@dataclass(frozen=True, kw_only=True)
class BrowserProgram:
    """A browser.

    name: its name among the programs of a run, and the value of CLIENT. program: the name of its executable file.
    package: Debian's package that has it. driver: the Python package that drives it; None if the lab does. others:
    further programs that it needs, with their packages. asked: the command that prints its version; None for the
    program itself.
    """

    name: str
    program: str
    package: str
    driver: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] | None = None

    @property
    def programs(self) -> Mapping[str, str]:
        """All programs that it needs, with their packages."""
        return {self.program: self.package, **self.others}


BROWSERS: Mapping[str, BrowserProgram] = MappingProxyType(
    {
        each.name: each
        for each in (
            BrowserProgram(name="chromium", program="chromium", package="chromium", driver="playwright"),
            BrowserProgram(name="firefox", program="firefox-esr", package="firefox-esr", driver="websockets"),
            # Neither of its programs prints a version without a display. libsoup sends its priorities.
            BrowserProgram(
                name="webkit",
                program="WebKitWebDriver",
                package="webkit2gtk-driver",
                others=MappingProxyType({"broadwayd": "libgtk-3-bin"}),
                asked=(
                    "dpkg-query",
                    "--show",
                    "--showformat=${Package} ${Version} ",
                    "webkit2gtk-driver",
                    "libsoup-3.0-0",
                ),
            ),
        )
    }
)
"""The browsers by name."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The programs that a run uses.

    programs: by name, the command that starts the program in its namespace or container; outside containers an absolute
    path. versions: the version of each program, by name. node_route: how Node reads the clock; None if this is unknown
    before the run. root: the folder in whose file tree the front is installed and runs (debian_tree.py); None for this
    machine's. second_root: the same of the second front.
    """

    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: ClockRoute | None = None
    root: str | None = None
    second_root: str | None = None
