"""The closing slide: what to remember, and where the audience finds the published file, as an address and a QR code."""

import html
import re
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from priolab.common.errors import ScenarioError, Unavailable
from priolab.experiments.setup.python_packages import installing
from priolab.extras.demo.story import closing

_ADDRESS = re.compile(r"https?://[!-~]{1,200}")
_OPTION = "--address"


def add_address(parser: ArgumentParser) -> None:
    """Adds `--address` to the parser of a command that shows the story."""
    parser.add_argument(
        _OPTION, metavar="URL", help="where your audience finds the published file: the closing slide shows its QR code"
    )


def finale(address: str | None) -> dict[str, Any]:
    """Returns the closing slide as JSON for the page.

    address: where the audience finds the published file; None if nobody said. `qr`: the QR code as a data: URL of an
    SVG image; None without an address. Raises ScenarioError for any other text than an address of HTTP, and Unavailable
    without the package that draws QR codes.
    """
    return {**closing().as_document(), "address": address, "qr": None if address is None else _qr_code(address)}


def printed(slide: Mapping[str, Any]) -> str:
    """Returns the closing slide as an element of HTML, which print shows on a page of its own."""
    points = "".join(f"<li>{html.escape(point)}</li>" for point in slide["points"])
    where = ""
    if slide["address"]:
        address = html.escape(slide["address"])
        where = (
            f'<figure><img alt="QR code of {address}" src="{slide["qr"]}"><figcaption>{address}</figcaption></figure>'
        )
    return f"<article><h1>{html.escape(slide['title'])}</h1><ol>{points}</ol>{where}</article>"


def _qr_code(address: str) -> str:
    if not _ADDRESS.fullmatch(address):
        raise ScenarioError(_OPTION, address, "an address that begins with https:// or http://, of 200 characters")
    try:
        import segno  # only those who give an address need it
    except ImportError:
        raise Unavailable("a QR code", "its package is not installed", f"run {installing('demo')}") from None
    return segno.make_qr(address, error="m").svg_data_uri(border=2, light="white", omitsize=True)
