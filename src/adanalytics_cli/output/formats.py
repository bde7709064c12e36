"""The format of an output: from `-f`, from the file suffix, or from where it goes."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, cast

import click

from adanalytics_cli.core.command import completing
from adanalytics_cli.core.errors import MissingExtra
from adanalytics_cli.core.invocation import current_invocation

Format = Literal["table", "markdown", "csv", "json", "jsonl", "parquet", "arrow", "xlsx"]
FORMATS: tuple[Format, ...] = ("table", "markdown", "csv", "json", "jsonl")
"""The formats of every list of rows; some commands have more."""

BINARY: tuple[Format, ...] = ("parquet", "arrow", "xlsx")
SHEET_ROWS = 1_048_575
"""The rows of a sheet below its heading."""

REGIONS = {"de": (";", ","), "fr": (";", ","), "us": (",", ".")}
"""The separator and the decimal mark with which spreadsheets of a region read csv."""

_SUFFIXES: dict[str, Format] = {form: form for form in (*FORMATS[2:], *BINARY)}
_SUFFIXES |= {"ndjson": "jsonl", "md": "markdown"}
_PICTURES = frozenset({".svg", ".png", ".html"})
_OTHER_PICTURES = frozenset({".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".pdf"})


def format_option(
    first: Sequence[Format] = FORMATS,
    summary: str = "Output format; the default depends on the file suffix, terminal or pipe.",
) -> click.Option:
    """Make `-f FORMAT`, read before everything else, because `json` also shapes error messages."""
    return click.Option(
        ["-f", "--format", "chosen_format"],
        type=click.Choice(first),
        is_eager=True,
        callback=_note_json,
        help=summary,
    )


def _note_json(
    context: click.Context, _parameter: click.Parameter, value: str | None
) -> str | None:
    if value == "json":
        current_invocation(context).as_json = True
    return value


def json_option() -> click.Option:
    """Make `--json`, read before everything else, because it also shapes error messages."""

    def note(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
        current_invocation(context).as_json |= value
        return value

    return click.Option(
        ["--json"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=note,
        help="Print the report as one JSON object, and an error as another one on stderr.",
    )


def columns_option(names: Sequence[str]) -> click.Option:
    """Make `--columns`; each name once. The shell offers `names`."""

    def split(
        _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
    ) -> tuple[str, ...]:
        names = [name for value in values for name in map(str.strip, value.split(",")) if name]
        if values and not names:
            raise click.BadParameter(
                "No field is named. Name at least one, or leave out --columns."
            )
        return tuple(dict.fromkeys(names))

    return click.Option(
        ["--columns"],
        metavar="A,B",
        multiple=True,
        callback=split,
        shell_complete=completing(names),
        help="Write only these fields, in this order.",
    )


def format_of(path: Path) -> Format | None:
    """Return the format that a file suffix means, also before `.gz`; None for an unknown suffix."""
    return _SUFFIXES.get(path.name.lower().removesuffix(".gz").rpartition(".")[2])


def is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def contradiction(option: str, path: Path) -> click.UsageError:
    """Return the error for an option that contradicts the suffix of the file name."""
    return click.UsageError(
        f"{option} does not match the name '{path.name}'. Leave out the option or change the name."
    )


def check_not_terminal(noun: str, path: Path | None) -> None:
    """Raise click.UsageError where output that people cannot read would go to a terminal."""
    if path is None and sys.stdout.isatty():
        raise click.UsageError(f"{noun} cannot go to a terminal. Name a file with -o FILE.")


def pick_format(
    choice: str | None,
    path: Path | None,
    *,
    piped: Format,
    formats: Sequence[Format] = FORMATS,
    region: str | None = None,
    chart: bool = False,
) -> Format:
    """Return the format: `-f`, else by the file suffix, else by whether stdout is a terminal.

    A `chart` is in the place of a table. Markdown is a table, too, which `as_markdown` of the
    invocation says.

    Raises click.UsageError for a suffix that is unknown or contradicts `-f`, and for a binary
    format that would go to a terminal or be compressed again; MissingExtra for xlsx without its
    library; and click.UsageError for a `region` of csv with another format.
    """
    if chart:
        _check_chart(choice, path)
        return "table"
    # A suffix that means another format would deceive whoever opens the file.
    if choice and path and format_of(path) not in (None, choice):
        raise contradiction(f"-f {choice}", path)
    form = cast("Format", choice) if choice else _fitting(path, piped, formats)
    if form in BINARY:
        check_not_terminal(form, path)
    if form in BINARY and path is not None and is_packed(path):
        raise click.UsageError(f"{form} is already compressed. Leave .gz out of '{path.name}'.")
    if form == "xlsx" and find_spec("xlsxwriter") is None:
        raise MissingExtra("excel", needed_for="xlsx")
    if region and form != "csv":
        raise click.UsageError(f"--csv-for is for csv. Leave it out, or write csv, not {form}.")
    if form == "markdown":
        current_invocation(click.get_current_context()).as_markdown = True
        return "table"
    return form


def _check_chart(choice: str | None, path: Path | None) -> None:
    if choice not in (None, "table"):
        raise click.UsageError(f"--chart draws. Leave out --chart or -f {choice}.")
    suffix = path.suffix.lower() if path else ""
    if path and (format_of(path) or is_packed(path) or suffix in _OTHER_PICTURES):
        raise click.UsageError(
            f"--chart draws text (.txt) and pictures (.svg, .png, .html), not {suffix}. "
            f"Give another name than {path.name}."
        )
    if suffix == ".png" and find_spec("resvg_py") is None:
        raise MissingExtra("png", needed_for=".png")


def is_picture(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() in _PICTURES


def _fitting(path: Path | None, piped: Format, formats: Sequence[Format]) -> Format:
    if path is None:
        return "table" if sys.stdout.isatty() else piped
    form = format_of(path)
    if form and form in formats:
        return form
    binary = "".join(f", .{form}" for form in BINARY if form in formats)
    raise click.UsageError(
        f"Unknown format: '{path.name}'. "
        f"End the name in .jsonl, .csv, .json (each also with .gz), .md{binary}, or give -f."
    )
