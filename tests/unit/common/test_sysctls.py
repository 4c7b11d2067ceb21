"""Tests of the sysctls and the parameters of congestion controls in a picture."""

from pathlib import Path

import pytest

from priolab.common.snapshot import sysctls


def test_the_parameters_of_congestion_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of modules of TCP are in the picture of a place with sockets; other modules' are not."""
    for name, value in {"tcp_cubic/parameters/beta": "717", "tcp_bbr/version": "1", "loop/parameters/max": "8"}.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(f"{value}\n")
    monkeypatch.setattr(sysctls, "_MODULES", f"{tmp_path}/")
    sysctls._parameters.cache_clear()
    try:
        found = sysctls.sysctls(of_tcp=True)
        assert {name: value for name, value in found.items() if name.startswith("module ")} == {
            "module tcp_cubic, beta": "717"
        }
        (tmp_path / "tcp_cubic/parameters/beta").write_text("100\n")
        assert sysctls.sysctls(of_tcp=True)["module tcp_cubic, beta"] == "100"
        assert not any(name.startswith("module ") for name in sysctls.sysctls(of_tcp=False))
    finally:
        sysctls._parameters.cache_clear()
