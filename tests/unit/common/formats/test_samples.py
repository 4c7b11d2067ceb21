"""Tests of the lines that samplers write."""

import json
from itertools import count
from typing import Any

import pytest

from priolab.common.formats.samples import ConnectionSample, QueueContents, SocketSample, queue_line
from tests.support.builders import socket_sample

_LARGE = 2**63 - 1


@pytest.mark.parametrize("first", [0, _LARGE - 30])
def test_a_line_of_a_socket(first: int) -> None:
    """A line has every field with its value, in the form of json.dumps."""
    values: dict[str, Any] = dict(zip(vars(socket_sample()), count(first), strict=False))
    values["congestion_control"] = "bbr2_x"
    assert SocketSample(**values).to_json() == json.dumps(values)
    connection = values | {"peer_port": 4711}
    assert ConnectionSample(**connection).to_json() == json.dumps(connection)


def test_a_line_of_a_queue() -> None:
    """A line has the time and the direction first, then the contents, in the form of json.dumps."""
    contents = QueueContents(packets=1, bytes=1514, delay_line_packets=_LARGE, delay_line_bytes=0, dropped=5)
    line = queue_line(_LARGE, "up", contents)
    assert line == json.dumps({"t_ns": _LARGE, "direction": "up"} | vars(contents))
