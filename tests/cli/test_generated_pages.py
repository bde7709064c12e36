"""Generated pages: options of commands, models; `UPDATE_REFERENCE=1 pytest THIS_FILE` renews."""

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import click
import msgspec
import openpyxl
import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel, ValidationError
from tests.cli.run import run
from tests.golden import check

from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import ExitCode
from adanalytics_cli.main import cli
from adanalytics_client import Event, Summary, SummaryRow
from adanalytics_client._json.fields import EVENT_KINDS, GROUPS, SUMMARY_KINDS, Kind
from adanalytics_server.api.responses import EventBody, SummaryMeta
from adanalytics_server.api.responses import SummaryRow as ServerRow
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.events import CHOICES, FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
MARK = "<!-- generated from here -->\n"


def commands(group: click.Group, path: str) -> Iterator[tuple[ExampleCommand, click.Context]]:
    """Walk the commands, without the groups, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        elif isinstance(command, ExampleCommand):
            settings = command.context_settings
            yield command, command.context_class(command, info_name=f"{path} {name}", **settings)


def records(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Return the names of the options that the help shows, each with its text."""
    options = [param for param in command.get_params(context) if "--help" not in param.opts]
    rows = [option.get_help_record(context) for option in options]
    return [row for row in rows if row and all(row)]


def block(rows: Collection[tuple[str, str]]) -> str:
    if not rows:
        return ""
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(rows)
    return f"\n```text\n{formatter.getvalue()}```\n"


def command_text(command: ExampleCommand, context: click.Context, shared: Collection[str]) -> str:
    """Return the options of a command, with only the names of those that others have, too."""
    rows = records(command, context)
    own_rows = [(names, text) for names, text in rows if text not in shared]
    shared_names = [
        f"`{names.rpartition(', ')[2].split()[0]}`" for names, text in rows if text in shared
    ]
    usage = command.get_usage(context).removeprefix("Usage: ").replace(" [OPTIONS]", "")
    also = f" Also: {', '.join(shared_names)}." if shared_names else ""
    return f"\n### {usage}\n\n{command.short_help}{also}\n{block(own_rows)}"


def test_the_page_shows_the_options_of_every_command() -> None:
    written = PAGE.read_text().partition(MARK)[0]
    everything = [*commands(cli, "adanalytics")]
    rows = [row for pair in everything for row in records(*pair)]
    counts = Counter(text for _, text in rows)
    shared = {text: names for names, text in rows if counts[text] > 1 and "[required]" not in text}
    generated = "\n### Options of every command\n"
    generated += block(records(cli, click.Context(cli)))
    generated += "\n### Options of several commands\n"
    generated += block([(names, text) for text, names in shared.items()])
    generated += "".join(command_text(*pair, shared) for pair in everything)
    check(PAGE, written + MARK + generated)


def test_the_page_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert [int(code) for code in listed] == [code.value for code in ExitCode]


DICTIONARY = Path(__file__).parents[2] / "docs" / "reference" / "data-dictionary.md"
BEGIN, END = "<!-- generated from here -->\n", "<!-- generated up to here -->\n"
DAYS = ("2026-01-15", "2026-01-16")
MODELS: list[tuple[str, type[BaseModel], Any]] = [
    ("Events", Event, EventBody),
    ("Summaries", SummaryRow, ServerRow),
    ("The summary as a whole", Summary, SummaryMeta),
]
KINDS = {
    Kind.TEXT: "text",
    Kind.ID: "whole number",
    Kind.WHOLE: "whole number",
    Kind.FLAG: "flag",
    Kind.AMOUNT: "money",
    Kind.TIME: "time",
    Kind.DATE: "day",
    Kind.PAIRS: "pairs",
}
CELLS = {"s": "text", "n": "number", "b": "TRUE or FALSE", "d": "date"}
RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])

TEXTS = {
    (model, name): " ".join((field.description or "").split())
    for _, model, _ in MODELS
    for name, field in model.model_fields.items()
}
EXAMPLES = {
    key: found[1] for key, text in TEXTS.items() if (found := re.search("such as `([^`]+)`", text))
}


def table(head: str, lines: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {head} |"
    yield re.sub("[^|]+", "---", f"|{head}|")
    for cells in lines:
        yield f"| {' | '.join(cells)} |"


def fields(title: str, model: type[BaseModel]) -> Iterator[str]:
    lines = []
    for name, field in model.model_fields.items():
        what, _, null = TEXTS[model, name].partition(" None ")
        # Any field may be None, which the page says once.
        kind = re.sub(r"\b\w+\.", "", str(field.annotation)).removesuffix(" | None")
        written = [kind_of(model, name)] if model is not Summary else []
        lines.append((f"`{name}`", what, null.rstrip("."), f"`{kind}`", *written))
    column = " | in files" if model is not Summary else ""
    yield from (f"## {title}", "", *table(f"field | what it is | None | in Python{column}", lines))


def kind_of(model: type[BaseModel], name: str) -> str:
    kind = (EVENT_KINDS if model is Event else SUMMARY_KINDS)[name]
    if is_quotient(name):
        return "price" if "per thousand" in TEXTS[model, name] else "fraction"
    return KINDS[kind]


def is_quotient(name: str) -> bool:
    is_amount = SUMMARY_KINDS.get(name) is Kind.AMOUNT
    return is_amount and " / " in TEXTS[SummaryRow, name]


def columns(folder: Path, *words: str) -> list[dict[str, tuple[str, ...]]]:
    """Return what a file of each format holds in each row, by field."""
    paths = {suffix: folder / f"rows.{suffix}" for suffix in ("jsonl", "csv", "parquet", "xlsx")}
    for path in paths.values():
        assert run(*words, "-o", str(path)).exit_code == 0
    lines = [RAW.decode(line) for line in paths["jsonl"].read_bytes().splitlines()]
    with paths["csv"].open(newline="") as file:
        cells = list(csv.DictReader(file))
    schema = pq.read_schema(paths["parquet"])
    head, *sheet = openpyxl.load_workbook(paths["xlsx"]).worksheets[0].iter_rows()
    names = [cell.value for cell in head]
    return [
        {
            name: (
                bytes(line[name]).decode(),
                cell[name],
                re.sub(r" \('\w+'\)", "", str(schema.field(name).type)),
                looks(row[names.index(name)]),
            )
            for name in names
        }
        # Below the rows, a summary has one of totals.
        for line, cell, row in zip(lines, cells, sheet[: len(lines)], strict=True)
    ]


def looks(cell: Any) -> str:
    look = "" if cell.number_format == "General" else f" `{cell.number_format}`"
    return "empty" if cell.value is None else f"{CELLS[cell.data_type]}{look}"


def formats(folder: Path) -> Iterator[str]:
    events = columns(folder, "events", DAYS[0], "--limit", "200")
    event = next(
        each
        for each in events
        if Decimal(each["revenue"][1]) and each["country"][1] and each["key_values"][1] != "{}"
    )
    row = columns(folder, "summary", *DAYS, "-g", "day")[0]
    samples = {
        **{KINDS[kind]: event[name] for name, kind in EVENT_KINDS.items() if event[name][1]},
        "text": event["country"],
        "money": event["revenue"],
        "fraction": row["fill_rate"],
        "price": row["ecpm"],
        "null": (*event["error_code"][:2], "null", event["error_code"][3]),
    }
    code = "`{}`".format
    lines = [
        (kind, code(text), code(cell) if cell else "empty", code(arrow), sheet)
        for kind, (text, cell, arrow, sheet) in samples.items()
    ]
    head = "in files | JSON lines | CSV | Parquet, Arrow | Excel"
    yield from ("## File formats", "", *table(head, lines))


def test_the_page_shows_the_models_and_the_files(service: LocalServer, folder: Path) -> None:
    head, _, rest = DICTIONARY.read_text().partition(BEGIN)
    tail = rest.partition(END)[2]
    parts = [*(fields(title, model) for title, model, _ in MODELS), formats(folder)]
    generated = "".join("\n" + "\n".join(part) + "\n" for part in parts) + "\n"
    check(DICTIONARY, head + BEGIN + generated + END + tail)


@pytest.mark.parametrize(("model", "told"), [each[1:] for each in MODELS])
def test_a_field_says_when_it_is_null(model: type[BaseModel], told: Any) -> None:
    says = {name for name in model.model_fields if " None " in TEXTS[model, name]}
    nullable = {
        name for name, field in told.model_fields.items() if NoneType in get_args(field.annotation)
    }
    assert says == nullable


def test_the_examples_of_an_event_are_good(service: LocalServer) -> None:
    event = json.loads(run("events", DAYS[0], "-f", "jsonl").stdout.splitlines()[0])
    for name, field in FIELDS.items():
        if field.kind in CHOICES:
            words = re.findall(r"`(\w+)`", TEXTS[Event, name])
            assert words == list(CHOICES[field.kind])
        elif name != "is_filtered":
            text = EXAMPLES[Event, name]
            try:
                EventBody.model_validate({**event, name: text})
            except ValidationError:
                EventBody.model_validate({**event, name: json.loads(text)})


def test_the_examples_of_a_summary_are_the_servers(service: LocalServer) -> None:
    found: dict[str, str] = {}
    # The last one is the total.
    for group in (*reversed(GROUPS), None):
        words = ["-g", group] if group else []
        rows = run("summary", *DAYS, *words, "-f", "jsonl").stdout.splitlines()
        found |= json.loads(rows[0], parse_float=str)
    told = {name: EXAMPLES[SummaryRow, name] for name in SummaryRow.model_fields}
    assert told == {name: str(found[name]) for name in told}


def test_a_formula_gives_its_example() -> None:
    values = {
        name: Decimal(text) for (_, name), text in EXAMPLES.items() if re.fullmatch(r"[\d.]+", text)
    }
    for name in SUMMARY_KINDS:
        if is_quotient(name):
            (formula,) = re.findall("`([^`]+ / [^`]+)`", TEXTS[SummaryRow, name])
            assert f"{eval(formula, {}, values):.6f}" == EXAMPLES[SummaryRow, name]
