"""Gives a link other values while packets pass it."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self

from priolab.netem import control, shaper
from priolab.netem.link import Link
from priolab.netem.tc_session import TcSession


class LinkChanger(Protocol):
    """Changes a link."""

    @property
    def link(self) -> Link:
        """The link as it is."""

    def change(self, link: Link) -> None:
        """Makes the link another one of the same `links_over_time`. Raises OSError and RuntimeError."""


class FerryChanger:
    """Changes a ferry's link. link: the link as it is."""

    def __init__(self, link: Link, path: Path) -> None:
        """path: the path of the socket at which the ferry listens for the begin of the load."""
        self.link = link
        self._path = path

    def change(self, link: Link) -> None:
        """Makes the link another one. Raises OSError."""
        values = replace(link, trace=None, trace_up=None, rate_steps=())
        control.tell(self._path, json.dumps(values.as_document()))
        self.link = link


class NetemChanger:
    """Changes a link of netem. A context manager. link: the link as it is.

    The first change starts a tc that stays: one that ran before would draw random numbers of the kernel, so that
    programs would get others than without any change.
    """

    def __init__(
        self, link: Link, to_client: str, to_front: str, entered: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """link: the first of `links_over_time` (netem/later_links.py). entered: moves this thread to its place."""
        self.link = link
        self._devices = to_client, to_front
        self._entered = entered
        self._tc: TcSession | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._tc is not None:
            self._tc.__exit__()

    def change(self, link: Link) -> None:
        """Makes the link another one of the same `links_over_time`. Raises OSError without tc, and RuntimeError."""
        if commands := shaper.later(self.link, link, *self._devices):
            if self._tc is None:
                with self._entered():
                    self._tc = TcSession(self._devices[0])
            self._tc.tell(commands)
        self.link = link
