"""Tests of the check of live sockets' options."""

import pytest

from priolab.common.errors import InvalidRun
from priolab.common.formats.samples import NEW_SOCKET, OptionsSample
from priolab.experiments.run.checks.sockets import check_sockets

_NEW = {
    "SO_SNDBUF": "16384",
    "SO_BUF_LOCK": "0",
    "SO_MAX_PACING_RATE": "-1",
    "TCP_NODELAY": "0",
    "TCP_WINDOW_CLAMP": "0",
    "TCP_NOTSENT_LOWAT": "0",
    "TCP_TX_DELAY": "0",
}
_LIVE = _NEW | {"SO_SNDBUF": "69120", "TCP_WINDOW_CLAMP": "64088"}


def _samples(*seen: dict[str, str]) -> list[OptionsSample]:
    """The samples of a new socket, and of a connection in which these options were seen one after the other."""
    live = [OptionsSample(t_ns=number, socket="port 1", options=each) for number, each in enumerate(seen)]
    return [OptionsSample(t_ns=0, socket=NEW_SOCKET, options=_NEW), *live]


def test_what_server_and_kernel_change() -> None:
    """The kernel enlarges buffers and moves the clamp a little; a server sets TCP_NODELAY, and LOWAT with NATIVE=on."""
    later = _LIVE | {"SO_SNDBUF": "566784", "TCP_WINDOW_CLAMP": "61952", "TCP_NODELAY": "1", "TCP_NOTSENT_LOWAT": "9"}
    check_sockets("front", _samples(_LIVE, later))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SO_SNDBUF", "9216"),
        ("SO_BUF_LOCK", "1"),
        ("SO_MAX_PACING_RATE", "60000"),
        ("TCP_WINDOW_CLAMP", "20000"),
        ("TCP_TX_DELAY", "50000"),
    ],
)
def test_an_option_that_somebody_changed(name: str, value: str) -> None:
    """A run is invalid if an option changes during the load, or is another from the beginning."""
    with pytest.raises(InvalidRun, match=rf"{name} of the front's live socket \(port 1\): asked for .*{value}"):
        check_sockets("front", _samples(_LIVE, _LIVE | {name: value}))
    if name != "TCP_WINDOW_CLAMP":  # a new socket has none
        with pytest.raises(InvalidRun, match=f"{name} of"):
            check_sockets("front", _samples(_NEW | {name: value}))


def test_what_a_users_own_server_sets() -> None:
    """The first options of a user's own server are the user's, but later ones are not."""
    paced = _LIVE | {"SO_MAX_PACING_RATE": "60000"}
    check_sockets("front", _samples(paced, paced), own=True)
    with pytest.raises(InvalidRun, match="asked for 60000, observed -1"):
        check_sockets("front", _samples(paced, _LIVE), own=True)
