"""Lines of text as a picture: an SVG, or a page of HTML."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from adanalytics_cli.console.terminal import NOWHERE

CANVAS = replace(NOWHERE, color=True)
"""What the lines of a picture are drawn for."""

_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def draw_picture(lines: Sequence[str], path: Path) -> bytes:
    """Return the lines, which may have colours, as the picture that the suffix of `path` names."""
    width = max([CANVAS.width, *(Text.from_ansi(line).cell_len for line in lines)])
    console = Console(record=True, width=width, file=io.StringIO(), highlight=False)
    for line in lines:
        console.print(Text.from_ansi(line))
    if path.suffix.lower() == ".svg":
        svg = console.export_svg(title=path.stem, theme=DEFAULT_TERMINAL_THEME)
        # Without the fonts of another host, which a browser would ask for.
        return _FONT.sub("", svg).encode()
    return console.export_html(theme=DEFAULT_TERMINAL_THEME).encode()
