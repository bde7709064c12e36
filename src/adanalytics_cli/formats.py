"""Which form the rows take: asked for, told by the suffix, or fitting where they go."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

import click

from adanalytics_cli.invocation import current_invocation

Format = Literal["table", "csv", "json", "jsonl"]
FORMATS: tuple[Format, ...] = ("table", "csv", "json", "jsonl")


def format_option(first: Sequence[Format] = FORMATS) -> click.Option:
    """`-f FORMAT`; read before everything else, because `json` also shapes error messages."""
    return click.Option(
        ["-f", "--format", "chosen_format"],
        type=click.Choice(first),
        is_eager=True,
        callback=_note_json,
        help="Form of the rows; by default what fits the file, the terminal or the pipe.",
    )


def _note_json(
    context: click.Context, _parameter: click.Parameter, value: str | None
) -> str | None:
    if value == "json":
        current_invocation(context).errors_as_json = True
    return value


def pick_format(chosen: str | None, path: Path | None, *, piped: Format) -> Format:
    """The format of an output: `-f`, else the suffix of the file, else by who reads stdout.

    Raises click.UsageError for a suffix that stands for no format.
    """
    if chosen is not None:
        return cast("Format", chosen)
    if path is None:
        return "table" if sys.stdout.isatty() else piped
    name = path.name.removesuffix(".gz")
    suffix = name.rpartition(".")[2]
    if suffix in ("csv", "json", "jsonl"):
        return cast("Format", suffix)
    raise click.UsageError(
        f"no format for '{path.name}'. End it in .jsonl, .csv or .json, also with .gz, or give -f."
    )
