"""The study's kernels and the Linux source: the change fits it, and the option is there."""

import subprocess
from pathlib import Path

import pytest

from priolab.extras.studies.own_kernels import BEFORE_5_18, WITH_KTLS
from priolab.testbed.guest import kernel, kernel_source
from priolab.testbed.guest.kernel_patches.study_kernels import added

pytestmark = pytest.mark.needs("kernel-source")

_KTLS = "net/tls/Kconfig"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of the pinned Linux source that the lab's kernel and the study's change."""
    tarball = kernel_source.present(kernel_source.PINNED)
    assert tarball
    folder = tmp_path_factory.mktemp("linux")
    with added(BEFORE_5_18):
        files = {_KTLS, *(name for change in kernel.needed(kernel_source.PINNED) for name in change.files)}
    patterns = [f"*/{name}" for name in files]
    command = ["tar", "-x", "-f", str(tarball), "-C", str(folder), "--strip-components=1", "--wildcards"]
    subprocess.run([*command, "--no-wildcards-match-slash", *patterns], check=True)
    return folder


def test_each_option_is_in_the_source(source: Path) -> None:
    """The option of kTLS has its name."""
    assert WITH_KTLS.options == ("CONFIG_TLS=y",)
    assert "config TLS\n" in (source / _KTLS).read_text()


def test_the_change_fits_the_source(source: Path) -> None:
    """The study's change fits the source beside the lab's. It takes out the only call that wakes a writer."""
    output = source / "net/ipv4/tcp_output.c"
    assert "\ttcp_check_space(sk);" in output.read_text()
    with added(BEFORE_5_18):
        assert all(change.apply(source) for change in kernel.needed(kernel_source.PINNED))
    assert "tcp_check_space" not in output.read_text()
