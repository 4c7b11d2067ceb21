"""A front as a run would describe it, at addresses and paths that never change."""

from pathlib import Path

from proxy.certificates import certificates_in
from proxy.front import Front, FrontSettings
from proxy.server import catalogue

RUN = Path("/run/priolab")


def levels() -> list[tuple[str, str, str]]:
    """Every server with every level of its own mechanism, and of buffering."""
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
    """The front of a run in RUN."""
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
            config=RUN / "asked" / server.template.name,
            state=RUN / "front" / "state",
            as_root=True,
            log=RUN / "front" / "error.log",
            output=RUN / "front" / "output.log",
            modules=RUN / "npm",
            record_bytes=record_bytes,
        )
    )
