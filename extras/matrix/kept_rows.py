"""Puts a newly measured part of the matrix into the earlier matrix, whose other rows and cells stay. Pure."""

from dataclasses import replace

from priolab.extras.matrix.matrix import Front, Matrix, in_order


def together(earlier: Matrix, part: Matrix) -> Matrix:
    """Returns the matrix with the rows of both.

    A row of the part replaces that of the earlier matrix; cells of other dialects stay if server, library and digest
    are the same. Rows and dialects have the order of the earlier matrix, and new ones follow.
    """
    fronts = in_order({**earlier.fronts, **part.fronts}.values())
    dialects = list(dict.fromkeys([*earlier.dialects, *part.dialects]))
    stay = {key: cell for key, cell in earlier.cells.items() if _stays(key[0], earlier, part)}
    cells = {**stay, **part.cells}
    return replace(
        part,
        date=max(earlier.date, part.date),
        fronts=fronts,
        cells={key: cells[key] for name in fronts for dialect in dialects if (key := (name, dialect)) in cells},
        unasked={**earlier.unasked, **part.unasked},
        absent={name: why for name, why in {**earlier.absent, **part.absent}.items() if name not in fronts},
    )


def _stays(name: str, earlier: Matrix, part: Matrix) -> bool:
    return name not in part.fronts or _program(earlier.fronts[name]) == _program(part.fronts[name])


def _program(front: Front) -> tuple[str, str, str]:
    return front.said, front.built_with, front.digest
