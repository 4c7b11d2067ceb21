"""A tc(8) process that stays running. It carries out a command within 0.1 ms; a new tc takes several milliseconds."""

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

_PATIENCE_S = 10.0
_READ_BYTES = 65536
_END = b"]\n"


class TcSession:
    """A tc process in the caller's network namespace. A context manager; raises OSError if tc is not installed."""

    def __init__(self, device: str) -> None:
        """Starts tc. device: the device whose qdiscs `tell` returns."""
        self._show = f"qdisc show dev {device}\n".encode()
        self._process = subprocess.Popen(
            ["tc", "-json", "-batch", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # tc exits at the end of its input.
        with suppress(BrokenPipeError):
            self._to.close()
        self._from.close()
        self._process.wait()

    def tell(self, commands: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Carries out commands of tc, each an argument list; returns the device's qdiscs afterwards.

        Raises RuntimeError if tc fails or does not answer.
        """
        lines = "".join(" ".join(command[1:]) + "\n" for command in commands)
        try:
            self._to.write(lines.encode() + self._show)
            self._to.flush()
            answer = self._answer()
        except OSError as error:
            raise RuntimeError(f"tc: {error}") from error
        try:
            qdiscs: list[dict[str, Any]] = json.loads(answer)
        except ValueError:
            raise RuntimeError(f"tc: {answer.decode(errors='replace').strip()}") from None
        return qdiscs

    def _answer(self) -> bytes:
        """Reads to the end of a JSON list; if tc exits before, returns everything that it printed."""
        answer = b""
        end_s = time.monotonic() + _PATIENCE_S
        while not answer.endswith(_END):
            if not select.select([self._from], [], [], max(0.0, end_s - time.monotonic()))[0]:
                raise RuntimeError(f"tc did not answer within {_PATIENCE_S:g} s")
            part = os.read(self._from.fileno(), _READ_BYTES)
            if not part:
                break
            answer += part
        return answer
