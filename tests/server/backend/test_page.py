"""Tests of the origin's responses for a page: bodies, chunks, and HTML that names the resources to load next."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import ScenarioError
from priolab.common.formats.page import Page
from priolab.common.process.search_path import find
from priolab.experiments.scenario.pages import Parameters, page_of, read_page
from tests.support.pages import MS, page_file

BACKEND = Path(__file__).parents[3] / "backend"
PARAMETERS = Parameters(size_bytes=716_800, script_delay_ns=200 * MS)
A = '[[resource]]\nname = "a"\ntype = "text/plain"\nsize = 5\n'
B = '[[resource]]\nname = "b"\ntype = "text/plain"\nsize = 5\nimportant = true\n'


def read(folder: Path, text: str) -> Page:
    file = folder / "mine.toml"
    file.write_text(text)
    return read_page(file, PARAMETERS)


_SERVED = """
import { pageIn, resources } from "%s/page.mjs";
for (const file of process.argv.slice(1)) {
  const page = pageIn(file);
  const lengths = (pieces) => pieces.map(([at, piece]) => [at, piece.length]);
  const made = resources(page);
  const sizes = page.resources.map(({ path }) => made.get(path).body.length);
  const pieces = page.resources.map(({ path }) => made.get(path).pieces ?? []);
  console.log(JSON.stringify({ sizes, pieces: pieces.map(lengths), html: made.get("/")?.body.toString() ?? null }));
}
"""


def served(folder: Path, pages: Sequence[Page]) -> list[dict[str, Any]]:
    """Return the sizes, chunks, and HTML that the origin's code makes for each page."""
    node = find("node")
    assert node is not None
    files = []
    for number, page in enumerate(pages):
        (folder / str(number)).mkdir()
        files.append(str(page_file(folder / str(number), page)))
    words = [node, "--input-type=module", "-e", _SERVED % BACKEND, *files]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _html(name: str, size: int, rest: str = "") -> str:
    return f'[[resource]]\nname = "{name}"\ntype = "text/html"\nsize = {size}\npath = "/{name}"\n{rest}'


_NAME = 36 * "n"
_TIGHT = {
    "tags": [
        _html("p", 0),
        *(f'[[resource]]\nname = "{_NAME}{n}"\ntype = "text/css"\nsize = 16\nafter = "p"\n' for n in range(30)),
        B,
    ],
    "fetched": [_html("p", 0), *(A.replace('"a"', f'"{_NAME}{n}"') + 'after = "p"\n' for n in range(30)), B],
    "two documents": [_html("p", 0), _html("q", 9000, "after = 'p'\n"), A + "after = 'q'\n", B],
    "after what is important": [
        _html("p", 0),
        B.replace("text/plain", "text/javascript").replace("size = 5", "size = 300") + "after = 'p'\n",
        '[[resource]]\nname = "i"\ntype = "image/jpeg"\nsize = 3000\nafter = "b"\n',
    ],
    "html that nobody waits for": [
        _html("q", 9000),
        _html("p", 0),
        '[[resource]]\nname = "i"\ntype = "image/jpeg"\nsize = 3000\nafter = "q"\n',
        B,
    ],
}


def test_html_of_the_least_size_holds_its_tags(tmp_path: Path) -> None:
    """If `read_page` accepts a size for an HTML resource, the origin can serve the page with this size."""
    pages = []
    for tables in _TIGHT.values():
        text = "".join(tables)
        with pytest.raises(ScenarioError, match="for HTML that loads") as raised:
            read(tmp_path, text.replace("size = 0", "size = 20"))
        least = int(str(raised.value).partition("at least ")[2].split()[0])
        pages.append(read(tmp_path, text.replace("size = 0", f"size = {least}")))
    for page, found in zip(pages, served(tmp_path, pages), strict=True):
        assert found["sizes"] == [each.size_bytes for each in page.resources]


def test_the_catalogue_is_served(tmp_path: Path) -> None:
    """Each resource has its exact size, and its chunks have their times.
    The HTML names the resources that wait for it, in the page's order.
    """
    pages = [page_of(name, PARAMETERS) for name in ("maps", "news", "tokens")]
    maps, news, tokens = served(tmp_path, pages)
    for page, found in zip(pages, (maps, news, tokens), strict=True):
        assert found["sizes"] == [each.size_bytes for each in page.resources]
        places = [found["html"].index(f'"{each.path}"') for each in page.resources if each.after]
        assert places == sorted(places)
    assert news["html"].count("<img ") == 20
    assert [len(pieces) for pieces in tokens["pieces"]] == [0, 0, 400]
    assert tokens["pieces"][2][:2] == [[200 * MS, 40], [220 * MS, 40]]
    assert tokens["pieces"][2][-1] == [8180 * MS, 40]
    assert "fetch(path, { priority })" in tokens["html"]
    assert '["tokens","/tokens","page","high"]' in tokens["html"]
    assert '["bulk","/bulk","page","low"]' in tokens["html"]
