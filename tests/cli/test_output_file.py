"""Every format of every command, in pipes and in files that appear whole or not at all."""

import csv
import errno
import fcntl
import gzip
import io
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import click
import openpyxl
import pyarrow as pa
import pytest
from click.testing import Result
from pyarrow import ipc, parquet
from tests.cli.run import Run, run
from tests.programs import run_program
from tests.server_answers import operations

from adanalytics_cli.core.command import CommandGroup, Entry
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.main import COMMANDS
from adanalytics_cli.output.formats import FORMATS
from adanalytics_cli.output.output_file import open_output
from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.usefixtures("service")


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def break_off(target: Path, error: BaseException) -> None:
    with open_output(target) as stream:
        stream.write(b"new")
        raise error


def test_the_file_takes_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "day.csv"
    with open_output(target) as stream:
        stream.write(b"date\n")
        assert not target.exists()
    assert target.read_bytes() == b"date\n"
    assert names(tmp_path) == ["day.csv"]


@pytest.mark.parametrize("name", ["x" * 255, "€" * 85], ids=["ascii", "euros"])
def test_the_longest_name_is_one(tmp_path: Path, name: str) -> None:
    with open_output(tmp_path / name) as stream:
        stream.write(b"date\n")
    assert names(tmp_path) == [name]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "day.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half-way"):
        break_off(target, RuntimeError("half-way"))
    assert target.read_text() == "old"
    assert names(tmp_path) == ["day.csv"]


def test_a_run_removes_what_killed_ones_left_and_no_part_that_another_still_writes(
    folder: Path,
) -> None:
    target = folder / "day[1].csv"
    left = folder / f".{target.name}.0123456789ab.tmp"
    others = [folder / ".day1.csv.0123456789ab.tmp", folder / f".{target.name}.notes.tmp"]
    for each in (left, *others):
        each.touch()
    with open_output(target) as first, open_output(target) as second:
        first.write(b"first")
        second.write(b"second")
    assert names(folder) == sorted([*(each.name for each in others), target.name])
    assert target.read_bytes() == b"first"


def test_a_part_that_another_run_removed_before_it_was_locked_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def too_late(file: BinaryIO, how: int) -> None:
        monkeypatch.undo()
        next(folder.iterdir()).unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with open_output(folder / "day.csv") as stream:
        stream.write(b"date")
    assert (names(folder), (folder / "day.csv").read_bytes()) == (["day.csv"], b"date")


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        break_off(tmp_path / "day.csv.gz", KeyboardInterrupt())
    assert names(tmp_path) == []


def test_gzip_by_suffix_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        with open_output(tmp_path / name) as stream:
            stream.write(b"date\n")
    first, second = (tmp_path / name for name in ("a.csv.gz", "b.csv.gz"))
    assert gzip.decompress(first.read_bytes()) == b"date\n"
    assert first.read_bytes() == second.read_bytes()


def test_the_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, bool]] = []
    target = tmp_path / "day.jsonl"

    def note(handle: int) -> None:
        synced.append((os.fstat(handle).st_size, target.exists()))

    monkeypatch.setattr(os, "fsync", note)
    with open_output(target) as stream:
        stream.write(b"data")
    assert (4, False) in synced


def test_the_usual_permissions_of_a_new_file_and_those_of_a_replaced_one(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch()
    old.chmod(0o640)
    before = os.umask(0o022)
    try:
        for path in (new, old):
            with open_output(path) as stream:
                stream.write(b"x")
    finally:
        os.umask(before)
    assert new.stat().st_mode & 0o777 == 0o644
    assert old.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    link = tmp_path / "link"
    link.symlink_to("real")
    with open_output(link) as stream:
        stream.write(b"x")
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_a_device_is_written_directly() -> None:
    with open_output(Path(os.devnull)) as stream:
        stream.write(b"x")
    assert not Path(os.devnull).is_file()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(CommandError, match=r"Cannot write .*day\.csv: No such file"),
        open_output(tmp_path / "none" / "day.csv"),
    ):
        pass


OUTPUTS = [
    ("dates", "-f", "csv"),
    ("summary", "2026-01", "-f", "parquet"),
    ("events", "2026-01-15", "-f", "json"),
    ("events", "2026-01-15", "-f", "jsonl"),
    ("events", "2026-01-15", "-f", "csv"),
    ("events", "2026-01-15", "-f", "parquet"),
    ("export", "2026-01-15", "--format", "csv"),
]


def run_into_a_pipe(words: tuple[str, ...], place: Path) -> "subprocess.Popen[bytes]":
    """Write to a link to stdout, as `/dev/stdout` is one; a real one could be replaced by this."""
    place.symlink_to("/proc/self/fd/1")
    command = [sys.executable, "-m", "adanalytics_cli", "-q", *words, "-o", str(place)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_link_to_stdout_is_written_and_stays(folder: Path, words: tuple[str, ...]) -> None:
    piped = run_into_a_pipe(words, folder / "stdout")
    out, err = piped.communicate(timeout=60)
    assert (piped.returncode, err) == (0, b"")
    assert len(out) > 20
    assert names(folder) == ["stdout"]
    assert (folder / "stdout").is_symlink()


@pytest.mark.parametrize("words", OUTPUTS[3:], ids=" ".join)
def test_a_named_pipe_whose_reader_went_away_ends_it_silently(
    folder: Path, words: tuple[str, ...]
) -> None:
    piped = run_into_a_pipe(words, folder / "stdout")
    assert piped.stdout is not None
    piped.stdout.close()
    assert piped.wait(60) == 141
    assert piped.stderr is not None
    assert piped.stderr.read() == b""
    piped.stderr.close()


def test_an_export_keeps_a_link(folder: Path) -> None:
    (folder / "real.csv").touch()
    (folder / "link.csv").symlink_to("real.csv")
    assert run("export", "2026-01-15", "-o", str(folder / "link.csv")).exit_code == 0
    assert names(folder) == ["link.csv", "real.csv"]
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").stat().st_size > 1000


@pytest.mark.parametrize("words", [("events",), ("events", "-f", "csv"), ("export",)])
def test_a_disk_that_fills_up_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Files of the process may only grow to 64 KiB, which is less than the data."""
    suffix = "csv" if words != ("events",) else "jsonl"
    target = tmp_path / f"day.{suffix}"
    target.write_text("before")
    limit = "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)); "
    program = limit + "runpy.run_module('adanalytics_cli', run_name='__main__', alter_sys=True)"
    command, *rest = words
    done = run_program(
        [sys.executable, "-c", program, command, "2026-01-15", "-o", str(target), *rest]
    )
    assert done.returncode == 1
    # The quota log may outgrow the limit, too, which is one warning before the error.
    first, _, others = done.stderr.partition("\n")
    errors = others if first.startswith("The quota log ") else done.stderr
    assert errors.startswith(f"Error: Cannot write {target}: File too large.\n")
    assert target.read_text() == "before"


@pytest.mark.parametrize(
    "words", [("export", "-o"), ("export", "--no-wait", "--job"), ("events", "-o"), ("dates", "-o")]
)
def test_a_folder_that_takes_no_files_costs_no_request(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    service.journal.clear()
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != folder)
    target = folder / "day.csv"
    result = run(words[0], "2026-01-15", *words[1:], str(target))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: Cannot write {target}: {folder} takes no new files.")
    assert operations(service) == []


DAY = "2026-01-15"
WRITERS = [
    f"events {DAY} --hour 3 -o day.jsonl",
    f"events {DAY} --hour 3 -o day.parquet",
    f"summary {DAY} -f csv -o summary.csv",
    f"summary {DAY} -f json -o summary.json",
    f"export {DAY} -o export.csv",
    "login --api-key-stdin",
    f"sync {DAY} --to new/events",
]
# Made anew when they are lost, or, as the history of runs, of no use to the next run.
SCRATCH = {"quota", "scratch", "journal", "spool", "__pycache__", "runs.json"}


class Disk:
    """Watches which new names a power cut would lose."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, folders: bool = True) -> None:
        self._folders = folders
        self._real = os.fsync, os.replace, os.mkdir
        self._synced_files: set[int] = set()
        self.unsynced: set[Path] = set()
        self.renamed: list[Path] = []
        for name in ("fsync", "replace", "mkdir"):
            monkeypatch.setattr(os, name, getattr(self, name))

    def fsync(self, opened: int) -> None:
        found = os.fstat(opened)
        if not stat.S_ISDIR(found.st_mode):
            self._synced_files.add(found.st_ino)
        elif not self._folders:
            raise OSError(errno.EINVAL, "Invalid argument")
        folder = Path(f"/proc/self/fd/{opened}").resolve()
        self.unsynced -= {each for each in self.unsynced if each.parent == folder}
        self._real[0](opened)

    def replace(self, path: Any, target: Any) -> None:
        if Path(path).is_file() and not SCRATCH & {*Path(target).parts}:
            assert Path(path).stat().st_ino in self._synced_files, target
        self._real[1](path, target)
        self.unsynced.add(Path(target).resolve())
        self.renamed.append(Path(target))

    def mkdir(self, path: Any, *options: Any, **named: Any) -> None:
        self._real[2](path, *options, **named)
        self.unsynced.add(Path(path).resolve())

    def lost(self, below: Path) -> set[Path]:
        made = {each for each in self.unsynced if each.exists() and below in each.parents}
        return {each for each in made if not SCRATCH & {*each.parts}}


@pytest.mark.parametrize("command", WRITERS)
def test_a_power_cut_loses_nothing_that_was_reported(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(folder)
    disk = Disk(monkeypatch)
    done = run(*command.split(), stdin=f"{service.api_key}\n")
    assert done.exit_code == 0, done.stderr
    assert disk.renamed
    assert not disk.lost(below=folder.parent)


def test_a_file_system_that_syncs_no_folders_is_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Disk(monkeypatch, folders=False)
    done = run("events", DAY, "--hour", "3", "-o", "day.jsonl")
    assert done.exit_code == 0, done.stderr


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
def folder_of_data(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset of a day, and the day as a report of others."""
    folder = tmp_path_factory.mktemp("formats")
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        Dataset(folder / "events").sync(client, DAY, DAY)
        (row,) = client.summary(DAY, group_by="day").rows
    (folder / "theirs.csv").write_text(f"date,impressions\n{DAY},{row.impressions}\n")
    return folder


@pytest.fixture
def call(service: LocalServer, folder_of_data: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the folder, with the words that it needs."""
    monkeypatch.chdir(folder_of_data)
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
