"""The guest kernel: User-Mode Linux from the distribution's kernel source, built once, kept outside the tree."""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from experiments.cache import cache_folder
from experiments.errors import StepFailed, Unavailable
from experiments.guest.edits import CHANGES
from experiments.processes import die_with_parent, tail

_CONFIG = Path(__file__).with_name("kernel.config")
_SOURCE = re.compile(r"linux-source-(\d+)\.(\d+)\.tar\.xz")
_COMPILED = re.compile(r"^  (CC|AR|AS|LD)\b")
_EXPECTED_LINES = 1085
_DEADLINE_S = 3600


def source() -> Path:
    """The newest kernel source of the distribution. Raises Unavailable."""
    found = [path for path in Path("/usr/src").glob("linux-source-*.tar.xz") if _SOURCE.fullmatch(path.name)]
    if not found:
        raise Unavailable("the guest kernel", "no kernel source in /usr/src", "run `apt-get install linux-source-6.1`")
    return max(found, key=_version)


def _version(path: Path) -> tuple[int, ...]:
    match = _SOURCE.fullmatch(path.name)
    assert match is not None
    return tuple(map(int, match.groups()))


def path() -> Path:
    """Where the kernel for this recipe is or will be. A new recipe or a new source is a new file.

    Without a source the newest kernel built so far serves.
    """
    recipe = hashlib.sha256(_CONFIG.read_bytes() + repr(CHANGES).encode())
    try:
        tarball = source()
    except Unavailable:
        built = sorted(cache_folder().glob("linux-*"), key=lambda file: file.stat().st_mtime)
        return built[-1] if built else cache_folder() / "linux-missing"
    recipe.update(f"{tarball.name} {tarball.stat().st_size}".encode())
    version = ".".join(map(str, _version(tarball)))
    return cache_folder() / f"linux-{version}-{recipe.hexdigest()[:12]}"


def offers(option: str) -> bool:
    """Whether the built kernel has an option such as NET_SCH_NETEM; it carries its own configuration."""
    try:
        done = subprocess.run([path(), "--showconfig"], capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return False
    return f"CONFIG_{option}=y" in done.stdout.splitlines()


def build(tell: Callable[[str, float], None]) -> Path:
    """Build the kernel unless it is there; tell(step, fraction done) reports. Raises StepFailed, Unavailable."""
    target = path()
    if target.exists():
        return target
    tarball = source()
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StepFailed("building the guest kernel", f"{cache_folder()} cannot be made: {error.strerror}") from error
    log = cache_folder() / "kernel-build.log"
    with (cache_folder() / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another build", 0.0)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        for wreck in cache_folder().glob(".build-*"):
            shutil.rmtree(wreck)  # of a build that was killed: nobody else builds while we hold the lock
        with tempfile.TemporaryDirectory(prefix=".build-", dir=cache_folder()) as scratch, log.open("w") as output:
            tell("unpacking", 0.0)
            _run(
                ["tar", "-xf", str(tarball), "-C", scratch, "--strip-components=1"], Path(scratch), output.fileno(), log
            )
            tell("configuring", 0.03)
            _configure(Path(scratch), output.fileno(), log)
            _compile(Path(scratch), output.fileno(), log, tell)
            built = Path(scratch) / "linux"
            _run(["strip", str(built)], Path(scratch), output.fileno(), log)
            temporary = target.with_name(f".{target.name}.new")
            shutil.copy(built, temporary)
            temporary.replace(target)
    return target


def _run(command: list[str], folder: Path, output: int, log: Path) -> None:
    """One step of the build; its output goes to the log."""
    try:
        with _start(command, folder, output) as process:
            code = _wait(process)
    except FileNotFoundError:
        raise StepFailed("building the guest kernel", f"{command[0]} is not installed", log) from None
    if code != 0:
        raise StepFailed("building the guest kernel", f"{' '.join(command[:3])} ended with {code}: {tail(log)}", log)


def _start(command: list[str], folder: Path, output: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        text=True,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )


def _wait(process: subprocess.Popen[str], timeout_s: float = _DEADLINE_S) -> int:
    """Wait; whatever interrupts the wait also ends the process and its children."""
    try:
        return process.wait(timeout_s)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def _configure(tree: Path, output: int, log: Path) -> None:
    for change in CHANGES:
        change.apply(tree)
    _run(["make", "ARCH=um", "defconfig"], tree, output, log)
    wanted = _CONFIG.read_text()
    with (tree / ".config").open("a") as config:
        config.write(wanted)
    _run(["make", "ARCH=um", "olddefconfig"], tree, output, log)
    given = (tree / ".config").read_text().splitlines()
    missing = [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in given]
    if missing:
        raise StepFailed("building the guest kernel", f"this source does not offer {', '.join(missing)}", log)


def _compile(tree: Path, output: int, log: Path, tell: Callable[[str, float], None]) -> None:
    process = _start(["make", "ARCH=um", f"-j{os.cpu_count() or 1}", "linux"], tree, output)
    with process:
        while True:
            try:
                code = process.wait(1.0)
                break
            except subprocess.TimeoutExpired:
                lines = sum(1 for line in log.read_text(errors="replace").splitlines() if _COMPILED.match(line))
                tell("compiling", 0.05 + 0.95 * min(1.0, lines / _EXPECTED_LINES))
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
    if code != 0:
        raise StepFailed("building the guest kernel", f"make ended with {code}: {_first_error(log)}", log)


def _first_error(log: Path) -> str:
    errors = [line for line in log.read_text(errors="replace").splitlines() if "error" in line.lower() or "***" in line]
    return errors[0].strip() if errors else tail(log)
