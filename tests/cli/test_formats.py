"""Each command writes each format that it offers, to a pipe and to a file."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import openpyxl
import pyarrow as pa
import pytest
from click.testing import Result
from pyarrow import ipc, parquet
from tests.cli.run import Run

from adanalytics_cli.core.command import CommandGroup, Entry
from adanalytics_cli.main import COMMANDS
from adanalytics_cli.output.formats import FORMATS
from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"
# The words of each command that has rows, and a column of its answer.
LINES = {
    "changes": ("--in events", "figure"),
    "dates": ("", "date"),
    "events": (f"{DAY} --hour 13", "event_id"),
    "export": (DAY, "event_id"),
    "query": ("", "country"),
    "reconcile": (f"theirs.csv {DAY} --by day", "figure"),
    "report": (f"country {DAY} --in events", "country"),
    "server key list": ("--data data", "last_four"),
    "server partner list": ("--data data", "currency"),
    "server user list": ("--data data", "email"),
    "summary": (f"{DAY} -g campaign", "campaign_id"),
}
SQL = "SELECT country, count(*) AS n FROM events GROUP BY ALL"
# Its format is that of the files of a dataset.
OTHERS = {"sync"}


def choices(entries: Mapping[str, Entry], group: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield each command with each of its formats, and whether it can write a file."""
    for name, entry in entries.items():
        command = entry.load()
        if isinstance(command, CommandGroup):
            yield from choices(command.entries, f"{group}{name} ")
            continue
        flags = {flag for each in command.params for flag in each.opts}
        for each in command.params:
            if "-f" in each.opts and isinstance(each.type, click.Choice):
                for form in each.type.choices:
                    yield f"{group}{name}", form, "-o" in flags


ALL = [each for each in choices(COMMANDS) if each[0] not in OTHERS]


def columns_of(form: str, content: bytes) -> Any:
    """Read content strictly as a format; return its columns, or the first line of a table."""
    if form == "parquet":
        return parquet.read_table(pa.BufferReader(content)).column_names
    if form == "arrow":
        return ipc.open_file(content).read_all().column_names
    if form == "xlsx":
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
        return next(book.worksheets[0].iter_rows(values_only=True))
    text = content.decode()
    if form == "csv":
        names, *lines = csv.reader(io.StringIO(text), strict=True)
        assert {len(line) for line in lines} <= {len(names)}
        return names
    if form in {"json", "jsonl"}:
        rows = json.loads(text) if form == "json" else [*map(json.loads, text.splitlines())]
        assert isinstance(rows, list)
        assert all(isinstance(row, dict) for row in rows)
        return {name for row in rows for name in row}
    heading, rule, *_ = text.splitlines()
    table, rows_of_markdown = r"[─-]+", r"\| (--[-:] \| )*--[-:] \|"
    assert re.fullmatch(rows_of_markdown if form == "markdown" else table, rule)
    assert heading.startswith("| ") == (form == "markdown")
    return heading


@pytest.fixture(scope="module")
def place(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset of a day, and the day as a report of others."""
    folder = tmp_path_factory.mktemp("formats")
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        Dataset(folder / "events").sync(client, DAY, DAY)
        (row,) = client.summary(DAY, group_by="day").rows
    (folder / "theirs.csv").write_text(f"date,impressions\n{DAY},{row.impressions}\n")
    return folder


@pytest.fixture
def call(run: Run, service: LocalServer, place: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the folder, with the words that it needs."""
    monkeypatch.chdir(place)
    if not Path("data").exists():
        add_partner = "server partner add acme --data data"
        assert run(*add_partner.split()).exit_code == 0
        add_user = "server user add a@b.test --role admin --password-stdin --data data"
        assert run(*add_user.split(), stdin="correct horse").exit_code == 0
        add_key = "server key create --user a@b.test --name nightly --data data"
        assert run(*add_key.split()).exit_code == 0

    def call(name: str, *options: str) -> Result:
        sql = [SQL] if name == "query" else []
        done = run(*name.split(), *sql, *LINES[name][0].split(), *options)
        assert done.exit_code == 0, done.stderr
        return done

    return call


def test_every_command_with_a_format_is_tried() -> None:
    assert {name for name, _, _ in ALL} == LINES.keys()
    assert {form for _, form, _ in ALL} == FORMATS.keys()


@pytest.mark.parametrize(("name", "form", "has_files"), ALL)
def test_the_content_is_of_the_format_asked_for(
    call: Run, folder: Path, name: str, form: str, has_files: bool
) -> None:
    column = LINES[name][1]
    suffix = next(iter(FORMATS[form].suffixes), "")
    contents = []
    if name != "export":
        contents.append(call(name, "-f", form).stdout_bytes)
    if has_files:
        file = folder / f"x.{suffix}"
        call(name, *([] if suffix else ["-f", form]), "-o", str(file))
        contents.append(file.read_bytes())
    for content in contents:
        columns = columns_of(form, content)
        # No day of the dataset was restated.
        is_empty = name == "changes" and form in {"json", "jsonl"}
        assert FORMATS[form].is_table or is_empty or column in columns
