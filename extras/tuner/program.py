"""Builds `priority-tuner`, the tuner that operators install: `make tuner` makes build/priority-tuner.

1. The Go toolchain is the one that builds the lab's Go front: a wheel with a pinned digest. Go fetches the modules of
   go.mod, and checks them against go.sum.
2. The BPF program stands compiled in the tree, beside its source. The build copies it next to the Go files, because Go
   embeds only files of a package's folder.
3. The program is kept in the cache by a digest of all that it is made of. The same sources make the same bytes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from priolab.common.cache import new_folder
from priolab.common.cache_folder import cache_folder
from priolab.common.errors import LabError, StepFailed
from priolab.common.home import ROOT
from priolab.common.process.lock import alone
from priolab.experiments.setup.go_toolchain import FLAGS, Toolchain, unpacked
from priolab.experiments.setup.wheel_fetching import download
from priolab.proxy.server import server_of
from priolab.proxy.tuner import in_kernel
from priolab.proxy.wheel import Wheel

SERVICE = Path(__file__).parent / "service"
"""The folder of the Go sources, the unit, the configuration file and the man page."""
NAME = "priority-tuner"
LICENCES, TESTED = "licences.txt", "tests.txt"
_STEP = f"building {NAME}"
_DEADLINE_S = 900.0
_MODULES = {"github.com/cilium/ebpf": "", "golang.org/x/sys": " and Go's standard library"}
"""The modules of go.mod, each with what else has the same licence and authors."""


def version() -> str:
    """Returns the lab's version, which is the program's, too."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


@dataclass(frozen=True)
class Workshop:
    """A toolchain, and a folder with all sources of the program."""

    go: Toolchain
    sources: Path

    def run(self, *words: str) -> str:
        """Runs `go` with these words in the folder of the sources; returns its output. Raises StepFailed."""
        command = [str(self.go.program), *words]
        done = subprocess.run(
            command,
            cwd=self.sources,
            env=self.go.environment,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
        if done.returncode != 0:
            raise StepFailed(_STEP, f"go {words[0]}: {(done.stderr + done.stdout).strip()}")
        return done.stdout


def _flags() -> tuple[str, ...]:
    return *FLAGS[:-1], f"{FLAGS[-1]} -X main.version={version()}"


def _sources() -> list[Path]:
    return [*sorted(SERVICE.glob("*.go")), SERVICE / "go.mod", SERVICE / "go.sum", in_kernel.PROGRAM]


def _wheel() -> Wheel:
    wheel = server_of("go").wheel
    if wheel is None or os.uname().machine not in wheel.sha256:
        raise StepFailed(_STEP, f"there is no Go toolchain for {os.uname().machine}")
    return wheel


@contextmanager
def workshop(files: Iterable[Path]) -> Iterator[Workshop]:
    """A context with a toolchain and the sources, which are copies of files. Raises StepFailed, TimedOut, OSError."""
    wheel = _wheel()
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name:
        scratch, sources = Path(name), Path(name) / "sources"
        file = download(wheel, Path(sys.executable), scratch, _STEP, lambda _: None)
        try:
            go = unpacked(file, wheel.path, scratch)
        except zipfile.BadZipFile as error:
            raise StepFailed(_STEP, f"{wheel.requirement}: {error}") from error
        file.unlink()
        sources.mkdir()
        for each in files:
            shutil.copy(each, sources)
        yield Workshop(go, sources)


def digest() -> str:
    """Returns a digest of all that the program is made of."""
    made_of = hashlib.sha256(" ".join((*_flags(), _wheel().sha256[os.uname().machine])).encode())
    for each in _sources():
        made_of.update(each.name.encode() + each.read_bytes())
    return made_of.hexdigest()[:12]


def built() -> Path:
    """Returns the path of the program in the cache; builds it if necessary. Raises LabError, OSError."""
    final = cache_folder() / "programs" / f"{NAME}-{digest()}"
    if (final / NAME).exists():
        return final / NAME
    cache_folder().mkdir(parents=True, exist_ok=True)
    with alone(cache_folder() / f"{NAME}.lock"):
        if not (final / NAME).exists():
            with new_folder(final) as made, workshop(_sources()) as there:
                build(there, made)
    return final / NAME


def build(there: Workshop, made: Path) -> None:
    """Checks, tests and builds the program, and collects the licences of what it contains, into the folder `made`."""
    if unformatted := there.run("fmt", "./..."):
        raise StepFailed(_STEP, f"gofmt would change {unformatted.strip()}")
    there.run("vet", "./...")
    (made / TESTED).write_text(there.run("test", "-v", "./..."))
    there.run("build", *_flags(), "-o", str(made / NAME), ".")
    folders = {name: Path(there.run("list", "-m", "-f", "{{.Dir}}", name).strip()) for name in _MODULES}
    texts = (f"{name}{_MODULES[name]}:\n\n{(folder / 'LICENSE').read_text()}" for name, folder in folders.items())
    (made / LICENCES).write_text("\n".join(texts))


def main() -> int:
    """Builds the program into build/."""
    try:
        target = ROOT / "build" / NAME
        target.parent.mkdir(exist_ok=True)
        print(f"{_STEP} with Go", flush=True)
        shutil.copy(built(), target)
    except (LabError, OSError) as error:
        print(f"make tuner: {error}", file=sys.stderr)
        return 1
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 10**6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
