"""Names the article, and holds what it reports: its set-up, and its numbers beside which the lab puts its own.

Every figure of the article that the lab shows is here or in `claims`. A figure of the lab comes from a run.
"""

from dataclasses import dataclass

TITLE = "SPDYとLinuxの間でGoogleマップがハマった落とし穴"
"""The article's title."""

TRANSLATED = "The pitfall that Google Maps fell into between SPDY and Linux"
"""The article's title in English."""

BLOG = "ぼちぼち日記"
DATE = "early 2014"
RETOLD = "Prioritization Only Works When There's Pending Data to Prioritize"
"""The title of the post that the article retells, by Will Chan."""

_RETELLS = f"It retells Will Chan's “{RETOLD}”, and repeats it in a set-up of its own."

CITATION = f"“{TITLE}” ({TRANSLATED}), on the blog {BLOG}, {DATE}. {_RETELLS}"

NO_COUNTERPART = "-"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A number or a fact of the article beside the lab's. what: its name."""

    what: str
    article: str
    here: str


@dataclass(frozen=True, kw_only=True)
class SetUp:
    """The lab's set-up, in words, as it is read from a run."""

    server: str
    protocol: str
    kernel: str
    backend: str
    client: str
    link: str
    held_back: str
    sizes: str
    congestion_control: str
    fabric: str
    run: str


def set_up(here: SetUp) -> list[Compared]:
    """Returns the article's set-up beside the lab's."""
    rows = (
        ("server", "nginx 1.5.10", here.server),
        ("protocol", "SPDY/3.1", here.protocol),
        ("server's kernel", "Linux 3.12.9", here.kernel),
        ("backend", "Node.js", here.backend),
        ("client", "Chrome", here.client),
        ("slow link", "128Kbps and 300 msec, by tc on the nginx machine", here.link),
        ("script held back for", "0.2 s", here.held_back),
        ("image and script", "of the same size; the image is named first", here.sizes),
        ("congestion control", NO_COUNTERPART, here.congestion_control),
        ("fabric", NO_COUNTERPART, here.fabric),
        ("run", DATE, here.run),
    )
    return [Compared(what=what, article=article, here=ours) for what, article, ours in rows]
