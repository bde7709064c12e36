"""The abilities of a stream: whether it is a terminal, its colours, width and encoding."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from adanalytics_cli.core.invocation import ColorChoice

DEFAULT_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Terminal:
    """The abilities of a stream.

    `width` is in character cells. `encoding` is for text that people read; data are always UTF-8.
    """

    interactive: bool
    color: bool
    width: int
    encoding: str = "utf-8"

    def can_show(self, characters: str) -> bool:
        """Return whether its encoding has all of them."""
        try:
            characters.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def encode(self, text: str) -> bytes:
        """Encode `text`, with a question mark for what cannot be shown."""
        return text.encode(self.encoding, "replace")


# A file: whoever reads it later may have any terminal, or none.
NOWHERE = Terminal(interactive=False, color=False, width=DEFAULT_WIDTH)


def look_at(stream: TextIO, color: ColorChoice, environment: Mapping[str, str]) -> Terminal:
    """Describe `stream`.

    `--color` wins, then NO_COLOR (https://no-color.org), then FORCE_COLOR
    (https://force-color.org); both count when they are set and not empty.
    """
    watched = stream.isatty()
    moving = watched and environment.get("TERM") != "dumb"
    if color != "auto":
        colored = color == "always"
    elif environment.get("NO_COLOR"):
        colored = False
    else:
        colored = bool(environment.get("FORCE_COLOR")) or moving
    width = _width(stream, environment) if watched else DEFAULT_WIDTH
    return Terminal(moving, colored, width, stream.encoding or "utf-8")


def _width(stream: TextIO, environment: Mapping[str, str]) -> int:
    """Return the cells of a line of a terminal, now; COLUMNS wins."""
    columns = environment.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except OSError:
        return DEFAULT_WIDTH
