"""The documents as a web site, tools/site.py: opened from a folder, without a server and without a network."""

import re
import socket
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page, expect

from priolab.common.home import ROOT
from tools.site import build

pytestmark = [
    pytest.mark.release,  # test_links looks at links of the documents, tests/unit/tools/test_site.py at those of sites
    pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning"),  # it is pinned with its Sphinx
]
_IS_HERE = re.compile("file:|data:|about:|blob:")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Path:  # noqa: ARG001
    """Build the site of this checkout, without a connection to anywhere."""
    folder = tmp_path_factory.mktemp("built") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", None)
        assert build(ROOT, folder, "")
    return folder


@pytest.fixture
def visited(browser: Browser) -> Iterator[Page]:
    """Yield a page without a network, for which only files may be loaded, without an error."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    faults: list[str] = []
    context.on("request", lambda request: None if _IS_HERE.match(request.url) else faults.append(request.url))
    context.on("weberror", lambda error: faults.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert not faults


def test_links_lead_somewhere(site: Path) -> None:
    """Each link of each page, also of those that were HTML before, leads to a file of the site, and to an anchor."""

    @cache
    def anchors(page: Path) -> set[str]:
        return {unescape(name) for name in re.findall(r'\sid="([^"]*)"', page.read_text())}

    def is_there(page: Path, link: str) -> bool:
        path, _, anchor = unquote(unescape(link)).partition("#")
        file = page.parent / path.partition("?")[0] if path else page
        return file.is_file() and (not anchor or anchor in anchors(file.resolve()))

    led = 0
    for page in site.rglob("*.html"):
        text = re.sub(r"<script\b.*?</script>", "", page.read_text(), flags=re.DOTALL)
        links = re.findall(r'\s(?:href|src)="(?![a-z]+:)([^"]*)"', text)
        assert [link for link in links if not is_there(page, link)] == [], page.name
        led += len(links)
    assert led > 10_000


def test_the_first_page_fits(site: Path, visited: Page) -> None:
    """On a desktop and on a phone the first page is no wider than the window."""
    for width in (1280, 390):
        visited.set_viewport_size({"width": width, "height": 844})
        visited.goto((site / "index.html").as_uri())
        assert visited.evaluate("document.documentElement.scrollWidth") == width


def test_a_search_finds_a_page(site: Path, visited: Page) -> None:
    """A word typed into the search of any page finds a page, which has the navigation. Its links lead to an anchor."""
    visited.goto((site / "guide" / "tutorial.html").as_uri())
    visited.get_by_placeholder("Search").fill("reorderable")
    visited.keyboard.press("Enter")
    found = visited.locator("#search-results").get_by_role("link", name="Glossary", exact=True)
    found.click()
    expect(visited).to_have_url(re.compile(r"/reference/glossary\.html"))
    for caption in ("Guide", "Reference", "Measured", "How the lab is made"):
        expect(visited.locator(".sidebar-tree .caption", has_text=caption)).to_be_visible()
    visited.locator(".sidebar-tree").get_by_role("link", name="Who keeps the order").click()
    cell = visited.locator("a[href*='matrix-loads.html#']").first
    anchor = str(cell.get_attribute("href")).partition("#")[2]
    cell.click()
    expect(visited.locator(f"[id='{anchor}']")).to_be_visible()


def test_a_question_finds_the_guide(site: Path, visited: Page) -> None:
    """The search leaves out the words of a question; a heading that asks the same comes first."""
    visited.goto((site / "index.html").as_uri())
    visited.get_by_placeholder("Search").first.fill("how do I set LOWAT in nginx")
    visited.keyboard.press("Enter")
    first = visited.locator("#search-results li a").first
    expect(first).to_contain_text("How do I set LOWAT in nginx")
    first.click()
    expect(visited).to_have_url(re.compile(r"/guide/choosing\.html"))


@pytest.mark.parametrize("width", [320, 820, 1366])
def test_pages_can_be_read(site: Path, visited: Page, axe_script: Path, width: int) -> None:
    """The accessibility checker finds nothing, no page is wider than the window, and no word is broken.

    A long name of code may break behind an underscore.
    """
    visited.set_viewport_size({"width": width, "height": 800})
    for name in ("index", "search", "guide/choosing", "reference/knobs", "measured/myths"):
        visited.goto((site / f"{name}.html").as_uri())
        visited.add_script_tag(path=axe_script)
        found = visited.evaluate("async () => (await axe.run({ iframes: false })).violations")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], name
        assert visited.evaluate("document.documentElement.scrollWidth") == width
        assert visited.evaluate(_BROKEN) == [], name


_BROKEN = """
() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest("script, style, noscript, pre")) continue;
    for (const { 0: word, index } of node.textContent.matchAll(/\\p{L}+/gu)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word);
    }
  }
  return found;
}
"""
