"""Gives netem's link other values while packets pass it."""

from contextlib import ExitStack
from typing import Self

from priolab.netem import shaper
from priolab.netem.link import Link
from priolab.netem.tc_session import TcSession


class LinkChanger:
    """Changes a link without the delay of starting tc. A context manager, which must be created in the link's place.

    link: the link as it is. Raises OSError if tc is not installed, and RuntimeError if tc fails.
    """

    def __init__(self, link: Link, to_client: str, to_front: str) -> None:
        """link: the first of `links_over_time` (netem/later_links.py)."""
        self.link = link
        self._devices = to_client, to_front
        with ExitStack() as stack:
            self._tc = stack.enter_context(TcSession(to_client))
            self._tc.tell([])  # waits some milliseconds until tc has started
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def change(self, link: Link) -> None:
        """Makes the link another one of the same `links_over_time`."""
        if commands := shaper.later(self.link, link, *self._devices):
            self._tc.tell(commands)
        self.link = link
