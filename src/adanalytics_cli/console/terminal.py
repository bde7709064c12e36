"""The abilities of a stream: whether it is a terminal, its colours, width and encoding."""

import os
import sys
from typing import NamedTuple, TextIO

import click

from adanalytics_cli.core.invocation import ColorChoice, Invocation
from adanalytics_cli.core.prose import DEFAULT_WIDTH, fitted, width_of


class Terminal(NamedTuple):
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


def look_at(stream: TextIO, color: ColorChoice) -> Terminal:
    """Describe `stream`.

    `--color` wins, then NO_COLOR (https://no-color.org), then FORCE_COLOR
    (https://force-color.org); both count when they are set and not empty.
    """
    is_watched = stream.isatty()
    can_move = is_watched and os.environ.get("TERM") != "dumb"
    if color != "auto":
        has_color = color == "always"
    # https://no-color.org: any value that is not empty.
    elif os.environ.get("NO_COLOR"):
        has_color = False
    else:
        has_color = bool(os.environ.get("FORCE_COLOR")) or can_move
    width = width_of(stream) if is_watched else DEFAULT_WIDTH
    return Terminal(can_move, has_color, width, stream.encoding or "utf-8")


def print_finding(text: str, word: str, color: str, invocation: Invocation, *, hang: int) -> None:
    """Print lines on stdout that begin with a word, in its colour where stdout shows colours."""
    text = fitted(text, sys.stdout, hang)
    if look_at(sys.stdout, invocation.color).color:
        text = click.style(word, fg=color) + text.removeprefix(word)
    click.echo(text, color=True)
