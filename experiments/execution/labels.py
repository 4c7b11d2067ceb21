"""Labels for the values of knobs, as parts of the names of arms, which are names of folders."""

import re
from collections.abc import Callable, Sequence

from priolab.proxy.server import absolute

_MOST_LETTERS = 60


def labels(values: Sequence[str], is_path: Callable[[str], bool] | None) -> dict[str, str]:
    """Returns a label for each value of a knob. No two labels are equal.

    The label of a path has as many of the path's last names as it needs to differ from the others; any other value is
    its own label. is_path: tells paths from other values; None if no value is a path.
    """
    parts = {value: absolute(value).parts[1:] for value in values if is_path and is_path(value)}
    for length in range(1, max(map(len, parts.values()), default=0) + 1):
        found = {value: _label(parts[value][-length:]) if value in parts else value for value in values}
        if len(set(found.values())) == len(found):
            return found
    return {
        value: f"{number}-{_label(parts[value])}" if value in parts else value for number, value in enumerate(values, 1)
    }


def _label(names: Sequence[str]) -> str:
    return re.sub("[^A-Za-z0-9._-]", "-", "-".join(names))[-_MOST_LETTERS:]
