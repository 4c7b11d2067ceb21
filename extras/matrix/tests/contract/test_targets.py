"""The files of `make matrix`, and the servers that its set-up installs."""

import re
from collections.abc import Sequence

import pytest

from tests.support.make_targets import planned


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ([], "docs/measured/matrix.md"),
        (["REUSE=no"], "docs/measured/matrix.md"),
        (["SERVER=h2o"], "results/matrix.md"),
        (["DIALECT=plain", "RESULTS=elsewhere"], "elsewhere/matrix.md"),
    ],
)
def test_a_part_is_not_the_document(words: Sequence[str], file: str) -> None:
    """`make matrix` writes docs/measured/matrix.md only if it measures the whole matrix, otherwise another file."""
    assert re.findall(r"^\.venv/bin/priolab matrix --from-make (.*)$", planned("matrix", *words), re.MULTILINE) == [
        file
    ]
