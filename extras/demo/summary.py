"""The explanation in a few sentences, with a picture, for browsers in which no script runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.demo.recorded import in_tree

PLACE = '<noscript id="summary"></noscript>'
"""The placeholder of the summary in index.html."""

_NONE, _LINE = {"LOWAT": "none"}, {"LOWAT": "16384"}
_WIDTH, _ROW, _LEFT = 640, 26, 70


def with_summary(page: str, arms: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Returns index.html with the summary of these recordings, by default those of the tree, in its place."""
    return page.replace(PLACE, PLACE.replace("><", f">{summary(in_tree().arms if arms is None else arms)}<"))


def summary(arms: Sequence[Mapping[str, Any]]) -> str:
    """Returns the summary as HTML: an instruction and, if its two arms were recorded, a picture and what happened."""
    note = "<p>This page needs JavaScript for its films. In short:</p>"
    without, limited = (_of(arms, knobs) for knobs in (_NONE, _LINE))
    if without is None or limited is None:
        return note
    unsent = without["ledger"]["other_bytes_at_available"]["unsent"]
    picture, works = (_seconds(without[name]) for name in ("others_last_byte_ms", "important_last_byte_ms"))
    kib = round(limited["scenario"]["lowat"] / 1024)
    sooner = (without["important_last_byte_ms"] - limited["important_last_byte_ms"]) / 1000
    return f"""{note}
<p>A page with a map asks for its script first, and for a picture. The picture is complete after {picture}, the script
only after {works}: when the server has the script, {unsent / 1024:.0f} KiB of the picture are in the send buffer of
its kernel already, and nothing overtakes there.</p>
{_drawn(without, limited)}
<p>The option TCP_NOTSENT_LOWAT bounds the bytes that the kernel takes. With {kib} KiB the picture waits in the server,
the script goes before it, and the map works {sooner:.1f} s sooner, after
{_seconds(limited["important_last_byte_ms"])}. The picture is complete later, after
{_seconds(limited["others_last_byte_ms"])}. It does not help on a fast link, without priorities, or if the network
has a long queue. On Linux: <code>sysctl -w net.ipv4.tcp_notsent_lowat=131072</code></p>"""


def _of(arms: Sequence[Mapping[str, Any]], knobs: Mapping[str, str]) -> Mapping[str, Any] | None:
    wanted = with_defaults(knobs)
    return next((arm["arm"] for arm in arms if with_defaults(arm["knobs"]) == wanted and arm["film"]), None)


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.2f} s"


def _drawn(*arms: Mapping[str, Any]) -> str:
    """Returns a picture: for each arm, from the first byte of each file to its last one."""
    most = max(arm[f"{kind}_last_byte_ms"] for arm in arms for kind in ("important", "others"))
    scale = (_WIDTH - _LEFT) / most
    shapes = []
    for number, (arm, name) in enumerate(zip(arms, ("no limit", "limited"), strict=True)):
        y = number * (2 * _ROW + 14)
        shapes.append(f'<text x="0" y="{y + _ROW + 4}" fill="currentColor" font-size="16">{name}</text>')
        for row, (first, last, colour) in enumerate(
            [
                (arm["others_first_byte_ms"], arm["others_last_byte_ms"], "#2273b0"),
                (arm["first_byte_ms"], arm["important_last_byte_ms"], "#d55e00"),
            ]
        ):
            x, width = _LEFT + first * scale, (last - first) * scale
            shapes.append(
                f'<rect x="{x:.0f}" y="{y + row * _ROW}" width="{width:.0f}" height="{_ROW - 6}" fill="{colour}"/>'
            )
    label = "Two pairs of bars over time. Without a limit the script, in orange, follows the whole picture, in blue. "
    label += "With a limit the script begins early."
    height = 4 * _ROW + 14
    return f'<svg role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {height}" width="100%">{"".join(shapes)}</svg>'
