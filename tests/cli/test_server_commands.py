"""The commands that fill a server's data folder, and what they refuse."""

import builtins
import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.run import Run

HEADER = "event_time,event_type,supply_tag_id,note\n"
PASSWORD = "correct horse"


@pytest.fixture
def data(run: Run, tmp_path: Path) -> str:
    """A data folder with the partner acme and the admin ada."""
    folder = str(tmp_path / "data")
    add_user = ("server", "user", "add", "ada@example.org", "--role", "admin")
    assert run("server", "partner", "add", "acme", "--data", folder).exit_code == 0
    assert run(*add_user, "--password-stdin", "--data", folder, stdin=PASSWORD).exit_code == 0
    return folder


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_partners(run: Run, data: str) -> None:
    added = run("-v", "server", "partner", "add", "b", "--name", "B & Co", "--currency", "EUR",
                "--data", data)  # fmt: skip
    assert added.stdout == ""
    assert added.stderr == f"Added partner b (B & Co, EUR) in {data}.\n"
    assert rows(run("server", "partner", "list", "--data", data)) == [
        {"id": "acme", "name": "acme", "currency": "USD"},
        {"id": "b", "name": "B & Co", "currency": "EUR"},
    ]


def test_users(run: Run, data: str) -> None:
    words = ["server", "user", "add", "bo@acme.example", "--role", "analyst", "--partner", "acme"]
    assert run(*words, "--password-stdin", "--data", data, stdin=PASSWORD + "\n").exit_code == 0
    listed = rows(run("server", "user", "list", "--data", data))
    assert [each["email"] for each in listed] == ["ada@example.org", "bo@acme.example"]
    assert run("server", "user", "delete", "bo@acme.example", "--data", data).exit_code == 0
    assert len(rows(run("server", "user", "list", "--data", data))) == 1


def test_keys(run: Run, data: str) -> None:
    words = ["server", "key", "create", "--user", "ada@example.org", "--name", "nightly"]
    created = run(*words, "--data", data)
    assert (
        created.stderr == "This key is not shown again. Clients read it from ADANALYTICS_API_KEY.\n"
    )
    key = created.stdout.strip()
    assert created.stdout == f"{key}\n"
    assert key.startswith("aak_")
    (listed,) = rows(run("server", "key", "list", "--data", data))
    assert (listed["name"], listed["last_four"], listed["last_used_at"]) == (
        "nightly",
        key[-4:],
        "",
    )
    assert key not in run("server", "key", "list", "--data", data).stdout
    (as_json,) = json.loads(run("server", "key", "list", "-f", "json", "--data", data).stdout)
    assert (as_json["id"], as_json["last_used_at"]) == (int(listed["id"]), None)
    assert run("server", "key", "delete", "nightly", "--data", data).exit_code == 0
    assert rows(run("server", "key", "list", "--data", data)) == []


def test_load_reports_what_became_of_a_file(run: Run, data: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text(
        HEADER
        + "2026-01-17 10:00:00,impression,1,a\n"
        + "2026-01-18T10:00:00Z,click,1,b\n"
        + "2026-01-18T10:00:00Z,click,1,c\n"
    )
    words = ["server", "load", str(path), "--partner", "acme", "--data", data]
    first = run(*words, "--where", "event_type=impression")
    assert first.stdout == (
        f"{path}: 3 rows, 1 event stored, 2 rows left out by --where, 1 day (2026-01-17)\n"
        "  columns ignored: note\n"
        "  times without a zone, taken as UTC: 1\n"
    )
    second = run(*words)
    assert "3 rows, 2 events stored, 1 duplicate skipped, 1 day (2026-01-18)" in second.stdout


def test_load_with_a_mapping(run: Run, data: str, tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("timestamp\n2026-01-17T10:00:00Z\n")
    result = run(
        *("server", "load", str(path), "--partner", "acme", "--data", data),
        *("--map", "event_time=timestamp", "--set", "event_type=click"),
        *("--set", "supply_tag_id=1"),
    )
    assert "1 row, 1 event stored" in result.stdout


def test_load_that_replaces_hours(run: Run, data: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    words = ["server", "load", str(path), "--partner", "acme", "--data", data]
    path.write_text(HEADER + "2026-01-17T10:00:00Z,impression,1,a\n")
    run(*words)
    path.write_text(HEADER + "2026-01-17T10:30:00Z,click,1,a\n")
    assert "hours replaced: 1" in run(*words, "--replace-hours").stdout


def test_load_of_changed_rows_says_how_to_replace_them(run: Run, data: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    words = ["server", "load", str(path), "--partner", "acme", "--data", data]
    row = "01890000-0000-7000-8000-00000000000{},2026-01-17T10:00:00Z,{},1\n"
    header = "event_id,event_time,event_type,supply_tag_id\n"
    path.write_text(header + "".join(row.format(n, "impression") for n in range(4)))
    assert "differ" not in run(*words).stdout
    assert "differ" not in run(*words).stdout
    # The third comes twice, and only once as it is stored.
    kinds = [(0, "click"), (1, "impression"), (2, "impression"), (2, "click"), (4, "impression")]
    path.write_text(header + "".join(row.format(*each) for each in kinds))
    told = run(*words).stdout
    assert "5 rows, 1 event stored, 4 duplicates skipped" in told
    assert "2 rows differ from those stored; --replace-hours replaces them" in told
    path.write_text(header + row.format(0, "click"))
    assert "1 event stored" in run(*words, "--replace-hours").stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER + "2026-01-17T10:00:00Z,impression,1,a\n2026-01-17,clack,1,b\n", "day.csv:3: "),
        (HEADER + "2026-01-17T10:00:00Z,clack,1,a\n", "day.csv:2: event_type: 'clack'"),
        ("event_time\n2026-01-17T10:00:00Z\n", "event_type"),
    ],
)
def test_a_bad_file_is_refused_as_a_whole(
    run: Run, data: str, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "day.csv"
    path.write_text(text)
    result = run("server", "load", str(path), "--partner", "acme", "--data", data)
    assert result.exit_code == 1
    assert said in result.stderr
    assert "nothing was loaded" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    path.write_text(HEADER + "2026-01-17T10:00:00Z,impression,1,a\n")
    again = run("server", "load", str(path), "--partner", "acme", "--data", data)
    assert "1 event stored" in again.stdout


def test_generate_the_same_again(run: Run, data: str) -> None:
    words = ["server", "generate", "--partner", "acme", "--start", "-5d", "--days", "2",
             "--events-per-day", "100", "--seed", "7", "--data", data]  # fmt: skip
    assert run(*words).stdout == "acme: 200 events stored on 2 days from 2026-01-15\n"
    assert "0 events stored on 2 days from 2026-01-15, 200 already there" in run(*words).stdout


def test_a_folder_that_holds_something_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("no database, but long enough to look like a file" * 99)
    result = run("serve", "--data", str(tmp_path), "--port", "0")
    assert result.exit_code == 1
    assert "not a database" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["demo"],
        ["serve"],
        ["server", "partner", "list"],
        ["server", "load", "day.csv", "--partner", "acme"],
        ["server", "generate", "--partner", "acme", "--start", "today"],
    ],
    ids=" ".join,
)
def test_without_the_server_extra(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    real = builtins.__import__

    def without_server(name: str, *rest: object) -> object:
        if name.startswith("adanalytics_server"):
            raise ModuleNotFoundError("No module named 'msgspec'", name="msgspec")
        return real(name, *rest)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(builtins, "__import__", without_server)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adanalytics-data").mkdir()
    result = run(*words)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: The embedded server needs the 'server' extra, which is not installed.",
        "Install it: python -m pip install 'adanalytics[server]'",
    ]
