"""Sites of small checkouts: where links lead, and what fails the build."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.site import build

pytestmark = pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # it is pinned with its Sphinx
_LINKED = """\
[code](tools/site.py) [folder](docs/guide) [page](docs/guide/how.md#the-end) [data](docs/data.json)
[loads](docs/loads.html)
"""
_LOADS = '<p>{results}, <a href="data.json">all</a>, <a href="#two">two</a></p>'
_HOW = """\
# How

The window has 98
% of it -- "all".

## The end

```
[code](../../tools/site.py)
```
"""


def _checkout(root: Path, readme: str) -> Path:
    """Write the documents of a small checkout; return its folder."""
    files: Mapping[str, str] = {
        "README.md": f"# Lab\n\nIt is.\n\n{readme}\n",
        "docs/README.md": "# Documents\n\n## guide: how to do something\n\n[how](guide/how.md)\n",
        "docs/guide/how.md": _HOW,
        "docs/data.json": "{}",
        "docs/loads.html": _LOADS.format(results='<a href="../results/one/">one</a>'),
        "tools/site.py": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize("address", ["", "https://example.org/lab"])
def test_links_of_the_site(tmp_path: Path, address: str) -> None:
    """Links between pages and to data stay in the site; others lead to the project's address, or are plain text.

    Code and prose stay as they are. A page that is HTML has no links to results. Without films, none are shown.
    """
    site = tmp_path / "site"
    site.mkdir()
    (site / "stale.html").touch()
    assert build(_checkout(tmp_path / "checkout", _LINKED), site, address)
    assert not (site / "stale.html").exists()
    first = (site / "index.html").read_text()
    links = {
        text: address
        for address, text in re.findall(r'<a class="reference[^>]* href="([^"]*)"[^>]*>(?:<span[^>]*>)?(\w+)<', first)
    }
    inside = {"page": "guide/how.html#the-end", "data": "data.json", "loads": "loads.html"}
    outside = {"code": f"{address}/blob/main/tools/site.py", "folder": f"{address}/blob/main/docs/guide"}
    assert {name: links.get(name) for name in (*inside, *outside)} == inside | dict.fromkeys(outside) | (
        outside if address else {}
    )
    assert (site / "data.json").read_text() == "{}"
    assert (site / "loads.html").read_text() == _LOADS.format(results="one")
    assert "explore" not in first
    how = (site / "guide/how.html").read_text()
    assert "[code](../../tools/site.py)" in how
    assert "<p>The window has 98\n% of it -- &quot;all&quot;.</p>" in how


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("[x](docs/guide/none.md)", "index.md:.*'docs/guide/none.md'"),
        ("[x](docs/guide/how.md#nowhere)", "index.md:.*'nowhere'"),
        ("![x](docs/none.png)", "index.md:.*none.png"),
    ],
)
def test_a_broken_link_fails_the_build(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], link: str, fault: str
) -> None:
    """The build names the page of a link to a page, a heading or a picture that is not there, and leaves no site."""
    site = tmp_path / "site"
    assert not build(_checkout(tmp_path / "checkout", link), site, "")
    assert re.search(fault, capfd.readouterr().err)
    assert not site.exists()
