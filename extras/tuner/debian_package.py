"""Packs `priority-tuner` for Debian: `make tuner-deb` makes build/priority-tuner_VERSION_ARCHITECTURE.deb.

The package has the program, its systemd unit, its configuration file and its man page. Installing it starts nothing:
`systemctl enable --now priority-tuner` does. The same sources make the same bytes: all files have the release's date.
"""

import gzip
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from priolab.common.errors import LabError
from priolab.common.home import ROOT
from priolab.common.process import processes
from priolab.extras.tuner.program import LICENCES, NAME, SERVICE, built, version

_STEP = "packing"
_WHO = "The priority lab's maintainers <priority-lab@example.org>"
_CONTROL = """\
Package: {name}
Version: {version}
Section: net
Priority: optional
Architecture: {architecture}
Maintainer: {who}
Installed-Size: {size_kib}
Recommends: systemd
Description: tunes TCP_NOTSENT_LOWAT of each connection of a server
 A server can send urgent data first only while little other data waits in the
 kernel. The right limit depends on the rate of each client's link, and a
 server's configuration has one value for all links.
 .
 This program tunes the limit of each connection that the servers of a cgroup
 accept, with a program in the kernel. Servers and their configuration stay as
 they are. It needs Linux 5.15 or newer, and cgroup2.
"""
_CHANGELOG = """\
{name} ({version}) unstable; urgency=medium

  * Release {version} of the priority lab; see its CHANGELOG.md.

 -- {who}  {date}
"""
_COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: priority lab
Comment: The program contains Go's standard library and the modules below.

Files: *
Copyright: 2026 the priority lab's maintainers
License: Expat
{licence}
Files: usr/sbin/{name}
Copyright: the authors of the modules that the program contains, as named below
License: modules
{modules}
"""
_OVERRIDES = """\
# Programs of Go are linked statically, so that they need nothing of the machine.
{name}: statically-linked-binary [usr/sbin/{name}]
# The first version was never uploaded to Debian.
{name}: initial-upload-closes-no-bugs [usr/share/doc/{name}/changelog.gz:1]
"""
_BEGIN = "#!/bin/sh\nset -e\n"
_SCRIPTS = {
    # An update restarts the tuner if it runs. deb-systemd-helper remembers whether the administrator has enabled it.
    "postinst": _BEGIN
    + """\
if [ "$1" = configure ] || [ "$1" = abort-upgrade ]; then
    deb-systemd-helper unmask {name}.service >/dev/null || true
    if [ -n "$2" ] && deb-systemd-helper --quiet was-enabled {name}.service; then
        deb-systemd-helper enable {name}.service >/dev/null || true
    fi
    deb-systemd-helper update-state {name}.service >/dev/null || true
    if [ -d /run/systemd/system ]; then
        systemctl --system daemon-reload >/dev/null || true
        [ -z "$2" ] || deb-systemd-invoke try-restart {name}.service >/dev/null || true
    fi
fi
""",
    "prerm": _BEGIN
    + """\
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop {name}.service >/dev/null || true
fi
""",
    "postrm": _BEGIN
    + """\
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ "$1" = remove ] && command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper mask {name}.service >/dev/null || true
fi
if [ "$1" = purge ]; then
    if command -v deb-systemd-helper >/dev/null; then
        deb-systemd-helper purge {name}.service >/dev/null || true
        deb-systemd-helper unmask {name}.service >/dev/null || true
    fi
    rm -rf /var/log/{name}
fi
""",
}


def pack(program: Path, licences: str, folder: Path) -> Path:
    """Makes the package of a built program in the folder; returns its path. Raises StepFailed, OSError."""
    architecture = processes.run(["dpkg", "--print-architecture"], step=_STEP).strip()
    when = _released()
    target = folder / f"{NAME}_{version()}_{architecture}.deb"
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name:
        tree = Path(name) / "tree"
        _install(tree, program, _notes(licences, format_datetime(when)))
        size_kib = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file()) // 1024
        values = {"name": NAME, "version": version(), "architecture": architecture, "who": _WHO, "size_kib": size_kib}
        _write(tree / "DEBIAN/control", _CONTROL.format(**values))
        _write(tree / "DEBIAN/conffiles", f"/etc/{NAME}/{NAME}.toml\n")
        for each, text in _SCRIPTS.items():
            _write(tree / "DEBIAN" / each, text.replace("{name}", NAME), 0o755)
        _write(tree / "DEBIAN/md5sums", _sums(tree))
        for path in (tree, *tree.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
        command = ("dpkg-deb", "--build", "--root-owner-group", "-Zxz", str(tree), str(target))
        processes.run(["env", f"SOURCE_DATE_EPOCH={int(when.timestamp())}", *command], step=_STEP)
    return target


def _released() -> datetime:
    """Returns the date of the release."""
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    date = next(line.partition(": ")[2] for line in lines if line.startswith("date-released:"))
    return datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)


def _notes(licences: str, date: str) -> dict[str, str]:
    """Returns the texts of the package's documents by file name."""
    values = {"name": NAME, "version": version(), "who": _WHO, "date": date}
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8").partition("\n\n")[2].partition("\n\n")[2]
    texts = {"licence": _indented(licence), "modules": _indented(licences)}
    return {"changelog": _CHANGELOG.format(**values), "copyright": _COPYRIGHT.format(**values, **texts)}


def _indented(text: str) -> str:
    """Returns the text in the form of a Debian control file's long value."""
    return "".join(f" {line}\n" if line else " .\n" for line in map(str.rstrip, text.strip().splitlines()))


def _install(tree: Path, program: Path, notes: dict[str, str]) -> None:
    doc = tree / "usr/share/doc" / NAME
    _copy(program, tree / "usr/sbin" / NAME, 0o755)
    _copy(SERVICE / f"{NAME}.service", tree / "lib/systemd/system" / f"{NAME}.service")
    _copy(SERVICE / f"{NAME}.toml", tree / "etc" / NAME / f"{NAME}.toml")
    _zip((SERVICE / f"{NAME}.8").read_bytes(), tree / "usr/share/man/man8" / f"{NAME}.8.gz")
    _zip(notes["changelog"].encode(), doc / "changelog.gz")
    _write(doc / "copyright", notes["copyright"])
    _write(tree / "usr/share/lintian/overrides" / NAME, _OVERRIDES.format(name=NAME))


def _sums(tree: Path) -> str:
    files = sorted(
        str(file.relative_to(tree)) for file in tree.rglob("*") if file.is_file() and "DEBIAN" not in file.parts
    )
    return processes.run(["md5sum", *files], step=_STEP, folder=tree)


def _copy(source: Path, target: Path, mode: int = 0o644) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _write(target: Path, text: str, mode: int = 0o644) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    target.chmod(mode)


def _zip(content: bytes, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(content, 9, mtime=0))
    target.chmod(0o644)


def main() -> int:
    """Builds the program and packs it into build/."""
    try:
        target = ROOT / "build"
        target.mkdir(exist_ok=True)
        program = built()
        made = pack(program, program.with_name(LICENCES).read_text(), target)
    except (LabError, OSError) as error:
        print(f"make tuner-deb: {error}", file=sys.stderr)
        return 1
    print(made.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
