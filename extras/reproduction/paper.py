"""Joins PDF documents of one page each into one document. Pure.

svg2pdf, which vl-convert uses, writes one page per document: plain objects and a cross-reference table, as PDF 1.7 has
them (ISO 32000-1, 7.5). The objects of each document get new numbers, and one tree of pages holds all pages.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_CATALOG, _TREE = 1, 2
_ENTRY = re.compile(rb"(\d{10}) \d{5} n")
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_NUMBER = re.compile(rb"(\d+) 0 obj\b")
_PAGE, _SINGLE = re.compile(rb"/Type /Page\b"), re.compile(rb"/Type /(Catalog|Pages)\b|/Producer\b")
_PARENT = re.compile(rb"/Parent \d+ 0 R")


def joined(documents: Sequence[bytes]) -> bytes:
    """Returns a document with the pages of all documents, in their order. Raises ValueError for another kind of PDF."""
    objects: dict[int, bytes] = {}
    pages: list[int] = []
    for document in documents:
        shift = max(objects, default=_TREE)
        for number, body in _objects(document):
            dictionary, stream, content = body.partition(b"stream")
            if _SINGLE.search(dictionary):
                continue
            dictionary = _renumbered(dictionary, shift)
            if _PAGE.search(dictionary):
                dictionary = _PARENT.sub(b"/Parent %d 0 R" % _TREE, dictionary)
                pages.append(number + shift)
            objects[number + shift] = dictionary + stream + content
    if len(pages) != len(documents):
        raise ValueError(f"{len(documents)} documents have {len(pages)} pages; expected: a page each")
    kids = b" ".join(b"%d 0 R" % number for number in pages)
    objects[_CATALOG] = b"<< /Type /Catalog /Pages %d 0 R >>\nendobj\n" % _TREE
    objects[_TREE] = b"<< /Type /Pages /Count %d /Kids [%s] >>\nendobj\n" % (len(pages), kids)
    return _written(objects)


def _renumbered(dictionary: bytes, shift: int) -> bytes:
    return _REFERENCE.sub(lambda found: b"%d 0 R" % (int(found[1]) + shift), dictionary)


def _objects(document: bytes) -> Iterable[tuple[int, bytes]]:
    """Yields number and body of each object. The table at the end says where objects begin."""
    table = document.rfind(b"\nxref")
    starts = sorted(int(entry[1]) for entry in _ENTRY.finditer(document, max(table, 0)))
    for start, end in pairwise([*starts, table + 1]):
        head = _NUMBER.match(document, start)
        if head is None:
            raise ValueError(f"no object begins at byte {start}")
        yield int(head[1]), document[head.end() : end].strip() + b"\n"


def _written(objects: dict[int, bytes]) -> bytes:
    written = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    starts = {}
    for number, body in sorted(objects.items()):
        starts[number] = len(written)
        written += b"%d 0 obj\n%s" % (number, body)
    end, most = len(written), max(objects)
    written += b"xref\n0 %d\n0000000000 65535 f \n" % (most + 1)
    for number in range(1, most + 1):
        # A number that no object has is free.
        written += b"%010d 00000 n \n" % starts[number] if number in starts else b"0000000000 00001 f \n"
    written += b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (most + 1, _CATALOG, end)
    return bytes(written)
