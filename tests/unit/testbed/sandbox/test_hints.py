"""Hints about programs that fail for a usual reason."""

import pytest

from priolab.testbed.sandbox.daemons import foreground
from priolab.testbed.sandbox.hints import of_words


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (["nginx", "-p", "."], ": nginx with -g 'daemon off;'"),
        (["/usr/sbin/php-fpm8.2"], ": php-fpm with -F"),
        (["sh", "-c", "cd x && exec /usr/sbin/sshd -p 22"], ": sshd with -D"),
        (["stunnel4", "stunnel.conf"], ": stunnel with `foreground = yes` in its file"),
        (["./serve"], ", by an option of its own"),
    ],
)
def test_a_server_in_the_background(command: list[str], end: str) -> None:
    """A known server's option is named, also in a shell's text, and with a version in its name."""
    assert foreground(command) == f"; a server that goes into the background must stay in the foreground{end}"


@pytest.mark.parametrize(
    "words",
    [
        b"OSError: [Errno 24] Too many open files: '/etc/hosts'",
        b"Error: EMFILE, open",
        b"accept4: too many open files; retrying in 5ms",
    ],
)
def test_too_many_open_files(words: bytes) -> None:
    """What programs in C, Python, Node and Go write is known."""
    (hint,) = of_words({"client": b"EMFILES are fine", "phone": words}, (1024, 4096), ipv6=False)
    assert hint.startswith("a program of the host phone wants more open files than it may have, 1024; `ulimit -n ")
