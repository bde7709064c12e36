"""Prose for a terminal: wrapped between words, with commands that can still be pasted."""

import os
import re
import textwrap
from collections.abc import Sequence
from typing import TextIO

DEFAULT_WIDTH = 80
# Remedies end with the command to run, after a colon.
_COMMAND = re.compile(r"(?:^ *|(?<=: ))(?:adanalytics|rm|python|chmod|ulimit) .*$")
_QUOTED = re.compile(r"'[^']*'")


def width_of(stream: TextIO) -> int:
    """Return the cells of a line of a terminal, now; COLUMNS wins."""
    # A recording or a test sets it.
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except OSError:
        return DEFAULT_WIDTH


def fitted(text: str, stream: TextIO, hang: int = 0) -> str:
    """Return `text` for `stream`: as `wrapped` if it is a terminal, else as it is."""
    return wrapped(text, width_of(stream), hang) if stream.isatty() else text


def wrapped(text: str, width: int, hang: int = 0) -> str:
    r"""Wrap each line between words; what follows its first line is indented by `hang`.

    On a narrow terminal that is a third of the line. A command at the end of a line moves to its
    own lines, which a shell still reads as one. A word that is longer than a line stays whole.
    """
    indent = " " * min(hang, width // 3)
    return "\n".join(row for line in text.split("\n") for row in _lines(line, width, indent))


def _lines(line: str, width: int, indent: str) -> list[str]:
    if indent and line.startswith(indent):
        line = indent + line.lstrip()
    if len(line) <= width:
        return [line]
    match = _COMMAND.search(line)
    prose = line[: match.start()] if match else line
    lines = lines_of(prose, width, indent=indent)
    if match:
        # Without the spaces inside quotation marks, between which no line may end.
        command = _QUOTED.sub(lambda quotation: quotation[0].replace(" ", "\0"), match[0].strip())
        pieces = lines_of(command, width - 2, f"{indent}  ", f"{indent}    ")
        lines.append(" \\\n".join(pieces).replace("\0", " "))
    return lines


def listed(names: Sequence[str], most: int, noun: str = "more") -> str:
    """Return the first names between commas, and how many others there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} {noun}" if rest > 0 else "")


def lines_of(text: str, width: int, first: str = "", indent: str = "") -> list[str]:
    """Wrap `text` only at spaces; `first` and then `indent` begin the lines."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
