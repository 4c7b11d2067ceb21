"""Writes a figure's declaration as interactive HTML, SVG and PNG.

The HTML contains the Vega program, and the HTML's content security policy forbids to fetch anything. The figure is as
large as its window allows, and all of it is visible: the page scales the drawing as a whole, because the positions of
texts are for one size. Bundling the program takes more than a second, so the bundle is cached beside the guest's
kernel (common/cache_folder.py). If that folder cannot be written, the program is bundled each time.
"""

import html
import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from priolab.common.cache_folder import cache_folder
from priolab.common.formats.files import write, write_all
from priolab.common.limits import too_low_for_drawing

if lack := too_low_for_drawing():
    raise ImportError(lack, name="vl_convert")
import vl_convert

_PNG_SCALE = 1.25
_BELOW_PX = 40
"""The room for the line of text below the interactive figure."""
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox="[^"]*">')
VEGA_LITE = "6.4"
"""The version of Vega-Lite in which the figures are declared."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0; font: 16px sans-serif; }}
p {{ margin: 0; padding: 4px 24px 12px; color: #5a5a5a; font-size: 14px; }}
#picture.vega-embed {{ display: block; padding: 0; }}
#picture svg.marks {{ display: block; width: 100%; height: auto; max-height: calc(100vh - {below_px}px); }}
</style>
<script>{program}</script>
</head>
<body>
<div id="picture"></div>
<p>Drag to move along the axis, turn the wheel to zoom, double-click to see the whole axis. Hold the pointer over a \
bar, an area or a mark to see its numbers.</p>
<script>
const picture = document.getElementById("picture");
const pointer = new DOMPoint();
const types = "pointerdown pointermove mousedown mousemove mouseover touchstart touchmove wheel dblclick";
for (const type of types.split(" ")) {{
  addEventListener(type, function (event) {{
    const at = event.changedTouches ? event.changedTouches[0] : event;
    pointer.x = at.clientX;
    pointer.y = at.clientY;
  }}, {{ capture: true, passive: true }});
}}
vegaEmbed(picture, {declaration}, {options}).then(function () {{
  const svg = picture.querySelector("svg.marks");
  // Vega subtracts the drawing's corner from the pointer's position, as if the drawing had its own size.
  svg.getBoundingClientRect = function () {{
    const at = pointer.matrixTransform(svg.getScreenCTM().inverse());
    return new DOMRect(pointer.x - at.x, pointer.y - at.y, svg.viewBox.baseVal.width, svg.viewBox.baseVal.height);
  }};
}}).catch(function (error) {{
  picture.textContent = error;
}});
</script>
</body>
</html>
"""
# No link to an online editor.
_OPTIONS = {"mode": "vega-lite", "renderer": "svg", "actions": {"export": True, "source": True, "editor": False}}


def save(declaration: Mapping[str, Any], folder: Path, name: str) -> list[Path]:
    """Writes NAME.svg, NAME.png and NAME.html, each atomically. Returns the paths. Raises OSError.

    The declaration is not validated. Tests validate every figure.
    """
    svg = drawn(declaration)
    files = {
        folder / f"{name}.svg": svg.encode(),
        folder / f"{name}.png": png(svg),
        folder / f"{name}.html": page(declaration, name).encode(),
    }
    write_all(files)
    return list(files)


def drawn(declaration: Mapping[str, Any]) -> str:
    """Draws a declaration as SVG."""
    return vl_convert.vegalite_to_svg(still(declaration), vl_version=VEGA_LITE)


def framed(svg: str, ratio: float) -> str:
    """Returns a drawing on a white page of this ratio of width to height, as small as the drawing allows."""
    head = _SIZE.search(svg)
    if head is None:
        raise ValueError("the drawing has no size")
    width, height = float(head[1]), float(head[2])
    wide, high = max(width, height * ratio), max(height, width / ratio)
    left, top = (width - wide) / 2, (height - high) / 2
    page = f'<rect x="{left:g}" y="{top:g}" width="{wide:g}" height="{high:g}" fill="white"/>'
    size = f'width="{wide:g}" height="{high:g}" viewBox="{left:g} {top:g} {wide:g} {high:g}">'
    return f"{svg[: head.start()]}{size}{page}{svg[head.end() :]}"


def png(svg: str) -> bytes:
    """Converts an SVG to PNG."""
    made: bytes = vl_convert.svg_to_png(svg, scale=_PNG_SCALE)
    return made


def page(declaration: Mapping[str, Any], title: str) -> str:
    """Returns the interactive figure as HTML."""
    return _PAGE.format(
        title=html.escape(title),
        program=_program(),
        declaration=script(declaration),
        options=script(_OPTIONS),
        below_px=_BELOW_PX,
    )


def still(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the declaration without invisible layers and without parameters for interaction, for SVG and PNG."""

    def seen(node: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in node.items() if key != "params"}
        for key in ("vconcat", "hconcat", "layer"):
            if key in kept:
                kept[key] = [seen(below) for below in kept[key] if below.get("mark", {}).get("opacity") != 0]
        return kept

    return seen(declaration)


def script(value: Any) -> str:
    """Returns JSON that is safe inside a script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _program() -> str:
    kept = cache_folder() / f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js"
    try:
        return kept.read_text()
    except OSError:
        pass
    program: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write(kept, program.encode())
    except OSError:  # a cache that cannot be written only costs time
        pass
    return program
