"""`--chart`: charts drawn as text, on a terminal, in a pipe or in a file."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from adanalytics_cli.console.terminal import NOWHERE, Terminal, look_at
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.formats import format_of, is_packed
from adanalytics_cli.output.output_file import open_output

Draw = Callable[[Terminal], Sequence[str]]


def check_chart(chosen_format: str | None, output: Path | None) -> None:
    """Raise click.UsageError for a format that a chart cannot have."""
    if chosen_format not in (None, "table"):
        raise click.UsageError(f"--chart draws text. Leave out --chart or -f {chosen_format}.")
    if output and (format_of(output) or is_packed(output)):
        raise click.UsageError(f"--chart draws text. Give a name that ends in .txt, not {output}.")


def write_chart(draw: Draw, output: Path | None, invocation: Invocation) -> None:
    """Write the lines that `draw` makes for the terminal.

    In a file, lines are 80 columns wide, without colour.
    """
    with open_output(output) as stream:
        terminal = NOWHERE if output else look_at(sys.stdout, invocation.color, os.environ)
        text = "".join(f"{line.rstrip()}\n" for line in draw(terminal))
        stream.write(terminal.encode(text))
