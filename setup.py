"""Builds the distribution as pyproject.toml says, with a README whose links work on a package index.

A link into the checkout leads to the address of the project, or becomes plain text while the project has no address.
Temporary files stand outside the checkout: files of an earlier build would be packed again.
"""

import re
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from setuptools import setup

_AUTHORS = "the priority lab's maintainers"
_ROOT = Path(__file__).parent
_LINK = re.compile(
    r"(?P<code>^```.*?^```$|`[^`\n]*`)|(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)",
    re.DOTALL | re.MULTILINE,
)


def with_links(text: str, lead: Callable[[str, bool], str]) -> str:
    """Returns Markdown whose links into the checkout lead elsewhere.

    lead: is called with the path of a link, and with True if the link shows a picture. Returns the new address; empty
    for none: then the link becomes plain text, and a picture is left out.
    """

    def led(link: re.Match[str]) -> str:
        if link["code"]:
            return link[0]
        if address := lead(link["path"], bool(link["picture"])):
            return f"{link['picture']}[{link['text']}]({address})"
        return "" if link["picture"] else link["text"]

    return _LINK.sub(led, text)


def in_project(address: str, path: str, *, is_picture: bool = False) -> str:
    """Returns where a file of the checkout is on the web; empty if the project has no address."""
    return f"{address}/{'raw' if is_picture else 'blob'}/main/{path}" if address else ""


def readme(address: str) -> str:
    """Returns the README for a package index. address: the project's address; empty if it has none."""
    text = (_ROOT / "README.md").read_text(encoding="utf-8")
    return with_links(text, lambda path, is_picture: in_project(address, path, is_picture=is_picture))


def main() -> None:
    """Carries out the command of setuptools."""
    declared = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address, email = declared["tool"]["address"]["project"], declared["tool"]["address"]["email"]
    pages = {"Homepage": "", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
    with tempfile.TemporaryDirectory(prefix="priolab-build-") as folder:
        setup(
            long_description=readme(address),
            long_description_content_type="text/markdown",
            author=_AUTHORS,
            author_email=f'"{_AUTHORS}" <{email}>' if email else None,
            project_urls={name: f"{address}{path}" for name, path in pages.items()} if address else {},
            options={"build": {"build_base": folder}},
        )


if __name__ == "__main__":  # the builder of wheels runs this file under this name
    main()
