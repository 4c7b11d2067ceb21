"""Tests of the PDF document that is joined from pages."""

import re

import pytest
import vl_convert

from priolab.extras.reproduction.drawing import A4_POINTS
from priolab.extras.reproduction.paper import joined

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="595.276" height="841.89" viewBox="0 0 1500 2121">'
    '<text x="60" y="{y}" font-family="Liberation Sans" font-size="40">Sheet {y}</text></svg>'
)


def sheets(count: int) -> list[bytes]:
    return [vl_convert.svg_to_pdf(_SVG.format(y=100 * number)) for number in range(1, count + 1)]


def objects(document: bytes) -> dict[int, bytes]:
    """Return the objects by number, as the table at the end of the document places them."""
    start = int(re.findall(rb"startxref\n(\d+)", document)[-1])
    assert document[start:].startswith(b"xref\n0 ")
    found = {}
    for number, line in enumerate(document[start:].split(b"trailer")[0].splitlines()[2:]):
        offset, _, kind = line.split()
        if kind == b"n":
            head = b"%d 0 obj\n" % number
            assert document[int(offset) :].startswith(head)
            found[number] = document[int(offset) + len(head) :].partition(b"endobj")[0]
    return found


@pytest.mark.parametrize("count", [1, 3])
def test_all_pages_are_there(count: int) -> None:
    """The document has all pages in their order, each of the size of A4 and with its own content."""
    made = objects(joined(sheets(count)))
    (tree,) = (body for body in made.values() if b"/Type /Pages" in body)
    pages = [made[int(number)] for number in re.findall(rb"(\d+) 0 R", tree)]
    assert len(pages) == count
    assert len({re.findall(rb"/Contents (\d+)", page)[0] for page in pages}) == count
    for page in pages:
        box = [float(number) for number in re.findall(rb"/MediaBox \[([^\]]+)\]", page)[0].split()]
        assert box == pytest.approx([0, 0, *A4_POINTS], abs=0.01)


def test_references_lead_to_objects() -> None:
    """Every object to which another refers is in the document."""
    made = objects(joined(sheets(3)))
    heads = [body.partition(b"stream")[0] for body in made.values()]
    assert {int(number) for head in heads for number in re.findall(rb"\b(\d+) 0 R", head)} <= made.keys()


@pytest.mark.parametrize("document", [b"", b"%PDF-1.7\n", b"%PDF-1.7\n1 0 obj\nxref\n0000000003 00000 n"])
def test_another_document_is_refused(document: bytes) -> None:
    """A document that is not a page as svg2pdf writes it is refused."""
    with pytest.raises(ValueError, match=r"expected: a page each|no object begins at byte"):
        joined([document])
