"""The study's kernels and the Linux source: their changes fit it, and the options are there."""

import shutil
import subprocess
from pathlib import Path

import pytest

from priolab.experiments.testbed.guest import kernel, kernel_source
from priolab.experiments.testbed.guest.kernel_patches.additions import Additions, added
from priolab.extras.studies.own_kernels import BEFORE_5_10, BEFORE_5_18, WITH_KTLS

_KTLS = "net/tls/Kconfig"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of the pinned Linux source that the lab's kernel and the study's change."""
    tarball = kernel_source.present(kernel_source.PINNED)
    if tarball is None:
        pytest.skip(f"the source of Linux {kernel_source.words(kernel_source.PINNED)} is not on this machine")
    folder = tmp_path_factory.mktemp("linux")
    with added(BEFORE_5_10):
        files = {_KTLS, *(name for change in kernel.needed(kernel_source.PINNED) for name in change.files)}
    patterns = [f"*/{name}" for name in files]
    command = ["tar", "-x", "-f", str(tarball), "-C", str(folder), "--strip-components=1", "--wildcards"]
    subprocess.run([*command, "--no-wildcards-match-slash", *patterns], check=True)
    return folder


def test_each_option_is_in_the_source(source: Path) -> None:
    """The option of kTLS has its name."""
    assert WITH_KTLS.options == ("CONFIG_TLS=y",)
    assert "config TLS\n" in (source / _KTLS).read_text()


@pytest.mark.parametrize("own", [BEFORE_5_18, BEFORE_5_10])
def test_the_changes_fit_the_source(source: Path, tmp_path: Path, own: Additions) -> None:
    """The study's changes fit the source beside the lab's. They take out the call that wakes a writer."""
    tree = tmp_path / "linux"
    shutil.copytree(source, tree)
    output = tree / "net/ipv4/tcp_output.c"
    assert "\ttcp_check_space(sk);" in output.read_text()
    with added(own):
        assert all(change.apply(tree) for change in kernel.needed(kernel_source.PINNED))
    assert "tcp_check_space" not in output.read_text()
