"""A kernel of a study's own: the lab's, with further changes of the source and further options.

The kernel has a name of its own, because the name follows from the recipe. It is built when the study runs, and only
then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from priolab.testbed.guest.kernel_patches.edit import Change


@dataclass(frozen=True, kw_only=True)
class Additions:
    """Additions to the lab's kernel. options: configuration lines such as CONFIG_TLS=y."""

    changes: tuple[Change, ...] = ()
    options: tuple[str, ...] = ()


_current = Additions()


def current() -> Additions:
    """Returns the additions of the guest kernel that runs use; none outside of a study that has a kernel of its own."""
    return _current


@contextmanager
def added(additions: Additions) -> Iterator[None]:
    """Runs use a kernel with these additions while the context is open. It has to be built (`built_kernel`)."""
    global _current
    before, _current = _current, additions
    try:
        yield
    finally:
        _current = before
