"""Builds the distribution as pyproject.toml says, with a README whose links work on a package index.

A link into the checkout leads to the address of the project, or becomes plain text while the project has no address.
Temporary files stand outside the checkout: files of an earlier build would be packed again.
"""

import re
import tempfile
import tomllib
from pathlib import Path

from setuptools import setup

_AUTHORS = "the priority lab's maintainers"
_ROOT = Path(__file__).parent
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def readme(address: str) -> str:
    """Returns the README for a package index. address: the project's address; empty if it has none."""

    def led(link: re.Match[str]) -> str:
        picture, text, path = link.groups()
        if not address:
            return "" if picture else text
        return f"{picture}[{text}]({address}/{'raw' if picture else 'blob'}/main/{path})"

    return _LINK.sub(led, (_ROOT / "README.md").read_text(encoding="utf-8"))


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
