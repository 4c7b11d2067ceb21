"""A browser's connections, as browser.json lists them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A TCP connection of the browser. requests: the number of requests; 0 if the browser only preconnected."""

    local: str
    remote: str
    tls: str | None
    alpn: str | None
    requests: int
    received_bytes: int
