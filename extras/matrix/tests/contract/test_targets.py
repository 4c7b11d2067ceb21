"""What `make matrix` writes, and the servers that its set-up installs."""

import re
from collections.abc import Sequence

import pytest

from tests.support.make_targets import planned


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ([], "docs/matrix.md"),
        (["REUSE=no"], "docs/matrix.md"),
        (["SERVER=h2o"], "results/matrix.md"),
        (["DIALECT=plain", "RESULTS=elsewhere"], "elsewhere/matrix.md"),
    ],
)
def test_a_part_is_not_the_document(words: Sequence[str], file: str) -> None:
    """`make matrix` writes docs/matrix.md only if the whole matrix is measured, otherwise results/matrix.md."""
    assert re.findall(r"^\.venv/bin/priolab matrix --from-make (.*)$", planned("matrix", *words), re.MULTILINE) == [
        file
    ]
