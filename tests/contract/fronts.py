"""The fronts whose configurations the tests check: made as a run makes them, with fixed addresses and paths."""

from pathlib import Path

from priolab.proxy.certificate_files import certificates_in
from priolab.proxy.front import Front, FrontSettings
from priolab.proxy.server import catalogue

RUN = Path("/run/priolab")


def levels() -> list[tuple[str, str, str]]:
    """Return each server with every combination of its levels of NATIVE and BUFFERING."""
    return [
        (name, native, buffering)
        for name, server in catalogue().items()
        for native in sorted(server.native.levels)
        for buffering in sorted(server.buffering.levels)
    ]


def front(
    name: str,
    native: str = "off",
    buffering: str = "on",
    *,
    size_bytes: int = 716_800,
    record_bytes: int | None = None,
) -> Front:
    """Return the front of a run in the folder RUN."""
    server = catalogue()[name]
    return Front(
        FrontSettings(
            server=server,
            native=native,
            buffering=buffering,
            program=f"/usr/sbin/{server.program}",
            server_name="maps.test",
            address="198.18.1.2",
            port=443,
            origin="198.18.2.2:8080",
            size_bytes=size_bytes,
            certificates=certificates_in(RUN / "asked"),
            config=RUN / "asked" / server.config_name,
            state=RUN / "front" / "state",
            as_root=True,
            log=RUN / "front" / "error.log",
            output=RUN / "front" / "output.log",
            modules=RUN / "npm",
            record_bytes=record_bytes,
        )
    )
