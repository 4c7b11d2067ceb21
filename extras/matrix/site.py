"""The matrix in the documents' web site (tools/site.py): matrix.md with links from its cells into the matrix's page."""

from priolab.analysis.reports.markdown import with_places
from priolab.extras.matrix import page, text
from priolab.extras.matrix.matrix_files import DOCUMENT, documented

__all__ = ["DOCUMENT", "PAGE", "for_site"]

PAGE = "matrix-loads.html"
"""The page's name beside the document, which becomes matrix.html itself."""


def for_site(document: str, address: str) -> tuple[str, str]:
    """Returns the document, whose cells link to the page, and the page. address: that of the page in links.

    Links from the page to runs, which the site does not have, lead out of docs/: the site makes plain text of them.
    """
    found = documented()
    return with_places(document, text.places(found, address)), page.html(found, f"../{page.RUNS}")
