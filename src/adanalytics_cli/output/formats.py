"""Which form the rows take: asked for, told by the suffix, or fitting where they go."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

import click

from adanalytics_cli.core.invocation import current_invocation

Format = Literal["table", "csv", "json", "jsonl", "parquet", "arrow"]
FORMATS: tuple[Format, ...] = ("table", "csv", "json", "jsonl")
"""The forms of every list of rows; some commands know more."""

BINARY: tuple[Format, ...] = ("parquet", "arrow")


def format_option(first: Sequence[Format] = FORMATS) -> click.Option:
    """`-f FORMAT`; read before everything else, because `json` also shapes error messages."""
    return click.Option(
        ["-f", "--format", "chosen_format"],
        type=click.Choice(first),
        is_eager=True,
        callback=_note_json,
        help="Format of the rows; by default that of the file, the terminal or the pipe.",
    )


def _note_json(
    context: click.Context, _parameter: click.Parameter, value: str | None
) -> str | None:
    if value == "json":
        current_invocation(context).errors_as_json = True
    return value


def pick_format(
    chosen: str | None, path: Path | None, *, piped: Format, known: Sequence[Format] = FORMATS
) -> Format:
    """The format of an output: `-f`, else the suffix of the file, else by who reads stdout.

    Raises click.UsageError for a suffix that stands for no format, and for a binary format that
    would go to a terminal or be packed again.
    """
    form = cast("Format", chosen) if chosen else _fitting(path, piped, known)
    if form in BINARY and path is None and sys.stdout.isatty():
        raise click.UsageError(f"{form} is not for a terminal. Name a file with -o FILE.")
    if form in BINARY and path is not None and path.suffix == ".gz":
        raise click.UsageError(f"{form} is compressed inside. Leave .gz out of '{path.name}'.")
    return form


def _fitting(path: Path | None, piped: Format, known: Sequence[Format]) -> Format:
    if path is None:
        return "table" if sys.stdout.isatty() else piped
    suffix = path.name.removesuffix(".gz").rpartition(".")[2]
    if suffix in known and suffix != "table":
        return cast("Format", suffix)
    binary = "".join(f", .{form}" for form in BINARY if form in known)
    raise click.UsageError(
        f"Unknown format: '{path.name}'. "
        f"End the name in .jsonl, .csv, .json (each also with .gz){binary}, or give -f."
    )
