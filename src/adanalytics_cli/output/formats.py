"""The formats of outputs, and the choice of one: from `-f`, the file suffix, or the destination."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import click

from adanalytics_cli.core.command import Gather, completing, option
from adanalytics_cli.core.errors import MissingExtra
from adanalytics_cli.core.invocation import current_invocation

if TYPE_CHECKING:
    from .row_output import RowWriter


class Format(NamedTuple):
    """A format of an output, as commands ask about it.

    Attributes:
        name: the value of `-f`.
        readers: who reads it. People see few columns and rounded money; for a sheet, amounts are
            numbers; for programs, days and amounts are exact text.
        writer: the module of this folder and its class that write rows; empty if the format is
            only made of events, or of columns with a schema.
        suffixes: the suffixes of its files.
        is_binary: whether it is compressed inside, and nothing for a terminal.
        is_typed: whether cells keep the values of days, times and shares, not their text.
        is_document: whether people read it also from a file or a pipe.
        is_csv: whether it is csv, which has a form for the spreadsheets of each of `REGIONS`, and
            which DuckDB writes, too.
        extra: the module that its writer needs, and the extra of the package that has it.
    """

    name: str
    readers: Literal["people", "sheet", "programs"]
    writer: str = ""
    suffixes: tuple[str, ...] = ()
    is_binary: bool = False
    is_typed: bool = False
    is_document: bool = False
    is_csv: bool = False
    extra: tuple[str, str] | None = None

    @property
    def is_table(self) -> bool:
        return self.readers == "people"

    @property
    def has_text_amounts(self) -> bool:
        """Whether amounts are text, so that no program takes them for floats."""
        return self.readers == "programs"

    def row_writer(self) -> "type[RowWriter]":
        module, _, name = self.writer.partition(":")
        home = import_module(f"adanalytics_cli.output.{module}")
        return cast("type[RowWriter]", getattr(home, name))


_TABLE = (
    Format("table", "people", "row_output:TableRows"),
    Format("markdown", "people", "row_output:TableRows", ("md",), is_document=True),
    Format("csv", "sheet", "row_output:CsvRows", ("csv",), is_csv=True),
    Format("json", "programs", "row_output:JsonRows", ("json",)),
    Format("jsonl", "programs", "row_output:JsonlRows", ("jsonl", "ndjson")),
    Format("parquet", "programs", suffixes=("parquet",), is_binary=True),
    Format("arrow", "programs", suffixes=("arrow",), is_binary=True),
    Format(
        "xlsx",
        "sheet",
        "workbook:WorkbookRows",
        ("xlsx",),
        is_binary=True,
        is_typed=True,
        extra=("xlsxwriter", "excel"),
    ),
)
FORMATS = {form.name: form for form in _TABLE}
"""The formats by their names; a new one needs a line above, and its writer."""

TABLE = FORMATS["table"]
SHEET_ROWS = 1_048_575
"""The rows of a sheet below its heading."""

REGIONS = {"de": (";", ","), "fr": (";", ","), "us": (",", ".")}
"""The separator and the decimal mark with which spreadsheets of a region read csv."""

_FORMAT_OF = {suffix: form for form in _TABLE for suffix in form.suffixes}
_PICTURES = frozenset({".svg", ".png", ".html"})
_OTHER_PICTURES = frozenset({".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".pdf"})


def formats_with(*names: str) -> tuple[Format, ...]:
    """Return the formats of every list of rows, and others by their names, in one order."""
    return tuple(form for form in _TABLE if form.writer or form.name in names)


TEXT_FORMATS = tuple(form for form in formats_with() if not form.is_binary)


def format_option(
    formats: Sequence[Format],
    summary: str = "Output format; the default depends on the file suffix, terminal or pipe.",
) -> click.Option:
    """Make `-f FORMAT`, read before everything else, because `json` also shapes error messages."""
    return click.Option(
        ["-f", "--format", "chosen_format"],
        type=click.Choice([form.name for form in formats]),
        is_eager=True,
        callback=_note_json,
        help=summary,
    )


def _note_json(
    context: click.Context, _parameter: click.Parameter, value: str | bool | None
) -> str | bool | None:
    current_invocation(context).as_json |= value in ("json", True)
    return value


def json_option() -> click.Option:
    """Make `--json`, read before everything else, because it also shapes error messages."""
    return click.Option(
        ["--json"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_json,
        help="Print the report as one JSON object, and an error as another one on stderr.",
    )


def columns_option(names: Sequence[str]) -> click.Option:
    """Make `--columns`; each name once. The shell offers `names`."""

    def split(values: tuple[str, ...]) -> tuple[str, ...]:
        names = [name for value in values for name in map(str.strip, value.split(",")) if name]
        if values and not names:
            raise click.BadParameter(
                "No field is named. Name at least one, or leave out --columns."
            )
        return tuple(dict.fromkeys(names))

    return option(
        "--columns",
        str,
        "A,B",
        "Write only these fields, in this order.",
        multiple=True,
        reader=split,
        complete=completing(names),
    )


def format_of(path: Path) -> Format | None:
    """Return the format that a file suffix means, also before `.gz`; None for an unknown suffix."""
    return _FORMAT_OF.get(path.name.lower().removesuffix(".gz").rpartition(".")[2])


def is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


class Output(NamedTuple):
    """Where rows go, and as what.

    Attributes:
        form: the format.
        path: the file; None for stdout.
        region: the region whose spreadsheets open the csv.
        choice: the value of `-f`.
    """

    form: Format
    path: Path | None = None
    region: str | None = None
    choice: str | None = None


def gather_output(formats: Sequence[Format], *, piped: str = "csv") -> Gather:
    """Put the `Output` in the place of the values of `output_options`.

    Its format is that of `-f`, else that of the file suffix, else by whether stdout is a terminal.
    A chart is in the place of a table.

    It raises click.UsageError for a suffix that is unknown or contradicts `-f`, for a binary format
    that would go to a terminal or be compressed again, and for a region with another format than
    csv; MissingExtra for xlsx without its library.
    """

    def gather(values: dict[str, Any]) -> None:
        names = ("chosen_format", "output", "region")
        choice, path, region = (values.pop(name, None) for name in names)
        form = TABLE
        if values.get("chart"):
            _check_chart(choice, path)
        else:
            form = FORMATS[choice] if choice else _fitting(path, piped, formats)
            _check_form(form, choice, path, region)
        values["output"] = Output(form, path, region, choice)

    return gather


def contradiction(option: str, path: Path) -> click.UsageError:
    """Return the error for an option that contradicts the suffix of the file name."""
    return click.UsageError(
        f"{option} does not match the name '{path.name}'. Leave out the option or change the name."
    )


def check_not_terminal(noun: str, path: Path | None) -> None:
    """Raise click.UsageError where output that people cannot read would go to a terminal."""
    if path is None and sys.stdout.isatty():
        raise click.UsageError(f"{noun} cannot go to a terminal. Name a file with -o FILE.")


def _check_form(form: Format, choice: str | None, path: Path | None, region: str | None) -> None:
    # A suffix that means another format would deceive whoever opens the file.
    if path and format_of(path) not in (None, form):
        raise contradiction(f"-f {choice}", path)
    if form.is_binary:
        check_not_terminal(form.name, path)
    if form.is_binary and path is not None and is_packed(path):
        raise click.UsageError(
            f"{form.name} is already compressed. Leave .gz out of '{path.name}'."
        )
    if form.extra:
        MissingExtra.check(*form.extra, needed_for=form.name)
    if region and not form.is_csv:
        raise click.UsageError(
            f"--csv-for is for csv. Leave it out, or write csv, not {form.name}."
        )


def _check_chart(choice: str | None, path: Path | None) -> None:
    if choice not in (None, "table"):
        raise click.UsageError(f"--chart draws. Leave out --chart or -f {choice}.")
    suffix = path.suffix.lower() if path else ""
    if path and (format_of(path) or is_packed(path) or suffix in _OTHER_PICTURES):
        raise click.UsageError(
            f"--chart draws text (.txt) and pictures (.svg, .png, .html), not {suffix}. "
            f"Give another name than {path.name}."
        )
    if suffix == ".png":
        MissingExtra.check("resvg_py", "png", needed_for=".png")


def is_picture(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() in _PICTURES


def _fitting(path: Path | None, piped: str, formats: Sequence[Format]) -> Format:
    if path is None:
        return TABLE if sys.stdout.isatty() else FORMATS[piped]
    form = format_of(path)
    if form and form in formats:
        return form
    texts, binary = (
        [f".{form.suffixes[0]}" for form in formats if form.suffixes and form.is_binary is kind]
        for kind in (False, True)
    )
    ends = ", ".join([f"{', '.join(texts)} (each also with .gz)", *binary])
    raise click.UsageError(f"Unknown format: '{path.name}'. End the name in {ends}, or give -f.")
