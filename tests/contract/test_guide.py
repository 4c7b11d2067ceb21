"""docs/guide/adding-a-server.md: its examples are files of the catalogue, and it names every field of an entry."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/guide/adding-a-server.md").read_text()
SHOWN = re.findall(r"^`(proxy/servers/[^`]+)`:\n\n```\w*\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_example_is_the_trees() -> None:
    """The guide's example shows both files of the server caddy, to the letter."""
    assert {Path(path).parent for path, _ in SHOWN} == {Path("proxy/servers/caddy")}
    folder = ROOT / "proxy/servers/caddy"
    assert sorted(ROOT / path for path, _ in SHOWN) == sorted(folder.iterdir())
    for path, text in SHOWN:
        assert text == (ROOT / path).read_text(), path
