"""Reads the table of the servers that `make matrix` measures by default. Uses the standard library alone."""

import tomllib
from pathlib import Path

_TABLE = Path("extras", "matrix", "matrix.toml")


def matrix_servers(root: Path) -> list[str]:
    """Returns the servers of the table as SERVER names them, such as `nginx@sid`, in the table's order.

    root: the folder that holds the lab's packages. Without the extra `matrix` there are none.
    """
    table = tomllib.loads((root / _TABLE).read_text()) if (root / _TABLE).exists() else {}
    return [f"{name}@{edition}" for name, editions in table.items() for edition in editions]
