"""Lines of text as a picture: an SVG, a PNG made of it, or a page of HTML."""

import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from adanalytics_cli.console.terminal import NOWHERE

CANVAS = NOWHERE._replace(color=True)
"""What the lines of a picture are drawn for."""

# Without the frame of a window, and without the fonts of another host, which a browser would ask
# for. The names in braces are rich's own.
_SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; white-space: pre;
}}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" fill="#ffffff"/>
<g transform="translate({terminal_x}, 20)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def draw_picture(lines: Sequence[str], path: Path) -> bytes:
    """Return the lines, which may have colours, as the picture that the suffix of `path` names."""
    width = max([CANVAS.width, *(Text.from_ansi(line).cell_len for line in lines)])
    console = Console(record=True, width=width, file=io.StringIO())
    for line in lines:
        console.print(Text.from_ansi(line))
    suffix = path.suffix.lower()
    if suffix in {".svg", ".png"}:
        svg = console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=_SVG)
        if suffix == ".svg":
            return svg.encode()
        from resvg_py import svg_to_bytes

        return bytes(svg_to_bytes(svg_string=svg, monospace_family="DejaVu Sans Mono", zoom=1.5))
    return console.export_html(theme=DEFAULT_TERMINAL_THEME).encode()
