"""`adanalytics query`: answers in every format, without a request."""

import csv
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import Result

from adanalytics_cli.output import query_output
from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer

Run = Callable[..., Result]

PAGE = Path(__file__).parents[2] / "docs/how-to/query-a-dataset.md"
QUESTIONS = re.findall(r"^adanalytics query (.*)$", PAGE.read_text(), re.MULTILINE)

BY_COUNTRY = "SELECT country, sum(revenue) AS revenue FROM events GROUP BY 1 ORDER BY 2 DESC, 1"
ODD = """
    SELECT TIMESTAMPTZ '2026-01-16 12:37:49.148+01' AS t, DATE '2026-01-16' AS d, sum(11) AS n,
        sum(0.000000000) AS cost, map {'a': 'b'} AS pairs, [1.50] AS list, 'nan'::FLOAT AS nan,
        INTERVAL 26 HOUR AS span, true AS yes, NULL AS none, '=1+1' AS text,
        TIME '01:02:03' AS time, {'x': DATE '2026-01-01'} AS struct, encode('ü') AS bytes
"""
READ = {
    "t": "2026-01-16T11:37:49.148Z",
    "d": "2026-01-16",
    "n": 11,
    "cost": "0.000000000",
    "pairs": {"a": "b"},
    "list": ["1.50"],
    "nan": None,
    "span": "1 day, 2:00:00",
    "yes": True,
    "none": None,
    "text": "=1+1",
    "time": "01:02:03",
    "struct": {"x": "2026-01-01"},
    "bytes": "ü",
}


@pytest.fixture(scope="session")
def dataset(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two days of the server, 4,000 events."""
    folder = tmp_path_factory.mktemp("query") / "events"
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        assert Dataset(folder).sync(client).events == 4_000
    return folder


@pytest.fixture
def query(run: Run, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `adanalytics query` beside the dataset, without any setting of a service."""
    monkeypatch.chdir(dataset.parent)
    return lambda *words: run("query", *words)


# What DuckDB has and Python, Arrow or a format has not, and how csv shows it.
FOREIGN = {
    "DATE 'infinity'": "infinity",
    "TIMESTAMP '-infinity'": "-infinity",
    "TIMESTAMP_S 'infinity'": "infinity",
    "DATE '12026-01-01'": "+012026-01-01",
    "DATE '0044-03-15 (BC)'": "-000043-03-15",
    "TIMESTAMPTZ '12026-01-01 00:00:01.5+00'": "+012026-01-01T00:00:01.500Z",
    "TIMESTAMP_NS '2026-01-01 00:00:00.123456789'": "2026-01-01T00:00:00.123456789",
    "TIMESTAMP '2026-01-01 00:00:00.123456'": "2026-01-01T00:00:00.123456",
    "TIME '24:00:00'": "24:00:00",
    "TIMETZ '24:00:00+05:30'": "24:00:00+05:30",
    "INTERVAL '2000000000 days'": "2000000000 days, 0:00:00",
    "INTERVAL '2 months 3 days'": "2 months, 3 days, 0:00:00",
    "'10110'::BIT": "10110",
    "union_value(a := DATE 'infinity')": "infinity",
    "123456789012345678901234567890::HUGEINT": "123456789012345678901234567890",
    "'a'::ENUM('a', 'b')": "a",
    "'0190cb64-0000-7000-8000-000000000000'::UUID": "0190cb64-0000-7000-8000-000000000000",
    "'\\xAA'::BLOB": "\\xaa",
    "'-inf'::DOUBLE": "",
    "{'a': [DATE 'infinity', NULL]}": '{"a":["infinity",null]}',
    "map {DATE 'infinity': TIME '24:00'}": '{"infinity":"24:00:00"}',
}


def expected(dataset: Path) -> list[tuple[str, Decimal]]:
    """Return the revenue by country, added up in Python."""
    sums: dict[str, Decimal] = {}
    for row in Dataset(dataset).query("SELECT country, revenue FROM events").to_pylist():
        country = row["country"] or ""
        sums[country] = sums.get(country, Decimal(0)) + row["revenue"]
    return sorted(sums.items(), key=lambda each: (-each[1], each[0] or "ZZ"))


def test_a_pipe_gets_csv_with_every_digit(query: Run, dataset: Path) -> None:
    done = query(BY_COUNTRY)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = [*csv.reader(io.StringIO(done.stdout))]
    assert lines[0] == ["country", "revenue"]
    assert [(country, Decimal(amount)) for country, amount in lines[1:]] == expected(dataset)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_has_amounts_as_text_and_nothing_unreadable(form: str, query: Run) -> None:
    text = query(ODD, "-f", form).stdout
    found = json.loads(text)[0] if form == "json" else json.loads(text)
    assert found == READ
    assert query("SELECT 1 WHERE false", "-f", form).stdout == ("[]\n" if form == "json" else "")


def test_csv_has_objects_and_lists_as_json(query: Run) -> None:
    (found,) = csv.DictReader(io.StringIO(query(ODD, "-f", "csv").stdout))
    as_json = {name: json.dumps(READ[name], separators=(",", ":")) for name in ("pairs", "list")}
    assert {name: found[name] for name in ("pairs", "list")} == as_json
    assert (found["n"], found["none"], found["yes"]) == ("11", "", "true")


def test_files_have_the_types_of_the_answer(query: Run, folder: Path, dataset: Path) -> None:
    done = query(BY_COUNTRY, "-o", str(folder / "by.parquet"))
    count = len(expected(dataset))
    assert done.stderr.startswith(f"{count} rows, ")
    assert done.stderr.endswith("by.parquet\n")
    table = import_module("pyarrow.parquet").read_table(folder / "by.parquet")
    assert str(table.schema.field("revenue").type) == "decimal128(38, 9)"
    assert query(BY_COUNTRY, "-o", str(folder / "by.xlsx")).exit_code == 0
    book = import_module("openpyxl").load_workbook(folder / "by.xlsx")
    about = {name: str(value) for name, value in book["about"].iter_rows(values_only=True)}
    assert [*about] == [
        *("about", "query", "datasets", "partner", "first day", "last day", "time zone", "made")
    ]
    assert (about["partner"], about["first day"][:10], about["last day"][:10]) == (
        *("acme", "2026-01-15"),
        "2026-01-16",
    )
    sheet = book["query"]
    assert sheet.max_row == count + 1
    assert Decimal(str(sheet["B2"].value)) == expected(dataset)[0][1]
    assert query("SELECT INTERVAL 1 DAY", "-o", str(folder / "i.parquet")).exit_code == 2
    assert sorted(each.name for each in folder.iterdir()) == ["by.parquet", "by.xlsx"]


def test_a_long_answer_is_cut_in_a_table_only(query: Run) -> None:
    shown = query("SELECT event_id FROM events", "-f", "table").stdout
    assert len(shown.splitlines()) == query_output.MOST_LINES + 3
    assert "The first 1,000 rows." in shown
    assert len(query("SELECT event_id FROM events").stdout.splitlines()) == 4_001


def test_a_chart_has_a_label_and_a_number(query: Run) -> None:
    drawn = query("SELECT hour, count(*)::FLOAT AS n FROM events GROUP BY 1 ORDER BY 1", "--chart")
    assert drawn.stdout.splitlines()[0] == "n"
    assert drawn.stdout.splitlines()[-1] == "24 rows."
    wrong = query("SELECT country, hour, 1 FROM events", "--chart")
    assert (wrong.exit_code, "a label and a number" in wrong.stderr) == (2, True)


def test_the_page_has_eleven_queries_for_ten_questions() -> None:
    assert len(QUESTIONS) == 11


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_the_page_has_an_answer(question: str, query: Run) -> None:
    done = query(*shlex.split(question))
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) > 2 or re.match(r"\d+ rows, .* -> by-", done.stderr)


def test_the_profit_of_campaigns_is_that_of_the_summary(query: Run, server: LocalServer) -> None:
    (question,) = [each for each in QUESTIONS if "profit" in each]
    rows = csv.DictReader(io.StringIO(query(*shlex.split(question)).stdout))
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        summary = client.summary("2026-01-15", "2026-01-16", group_by="campaign").rows
    expected = {str(row.campaign_id or ""): row.profit for row in summary}
    assert {row["campaign_id"]: Decimal(row["profit"]) for row in rows} == expected


def test_this_folder_or_events_in_it_is_the_dataset(
    query: Run, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [query("SELECT count(*) FROM events").stdout]
    monkeypatch.chdir(dataset)
    answers.append(query("SELECT count(*) FROM events").stdout)
    assert answers == ["count_star()\n4000\n"] * 2


def test_several_datasets_are_told_apart(query: Run, dataset: Path, folder: Path) -> None:
    other = shutil.copytree(dataset, folder / "other")
    sql = "SELECT dataset, count(*) FROM events GROUP BY 1 ORDER BY 1 DESC"
    both = query(sql, "--in", "events", "--in", str(other))
    assert both.stdout.splitlines()[1:] == ["events,4000", f"{other},4000"]
    twice = query(sql, "--in", "events", "--in", str(dataset))
    assert (twice.exit_code, "a dataset twice" in twice.stderr) == (2, True)


def test_a_query_needs_no_setting_and_sends_nothing(
    query: Run, server: LocalServer, dataset: Path
) -> None:
    server.journal.clear()
    assert query("FROM events LIMIT 1").exit_code == 0
    assert [*server.journal.entries()] == []


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["SELECT 1", "--in", "nope"], 1, "Make one: adanalytics sync -7d --to nope"),
        (["DROP TABLE events"], 2, "DROP is refused"),
        (["SELECT * FROM read_csv('/etc/passwd')"], 2, '"/etc/passwd"'),
        (["SELECT cuntry FROM events"], 2, "DESCRIBE events lists its columns"),
        (["SELECT 1", "--memory", "lots"], 2, "500MB or 4GB"),
        (["SELECT list(range) FROM range(999999)", "--memory", "3MB"], 1, "larger --memory"),
        (["SELECT 1", "-f", "json", "--chart"], 2, "Leave out --chart"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else None,
)
def test_errors_say_what_to_do(words: list[str], code: int, what: str, query: Run) -> None:
    done = query(*words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert what in done.stderr
    assert "Traceback" not in done.stderr


def test_without_duckdb_the_extra_is_named(query: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adanalytics_cli.commands.query.find_spec", lambda _name: None)
    done = query("SELECT 1")
    assert (done.exit_code, "'adanalytics[sql]'" in done.stderr) == (1, True)


@pytest.mark.parametrize("value", FOREIGN)
def test_values_that_python_does_not_have(query: Run, value: str, tmp_path: Path) -> None:
    sql = f"SELECT {value} AS v, 1 AS n"
    done = query(sql, "-f", "csv")
    assert [*csv.reader(io.StringIO(done.stdout))] == [["v", "n"], [FOREIGN[value], "1"]], done
    for form in ("table", "json", "jsonl", "parquet", "xlsx"):
        done = query(sql, "-f", form, "-o", str(tmp_path / f"x.{form}"))
        assert done.exit_code in {0, 2}, (form, done.stderr)
        assert done.exit_code == 0 or "VARCHAR" in done.stderr
    assert "This is a bug" not in query(sql, "--chart").stderr


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT"])
def test_a_number_of_39_digits_is_no_other_number(query: Run, kind: str) -> None:
    done = query(f"SELECT {2**127 - 1}::{kind} AS v")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Could not cast value" in done.stderr


ENDINGS = ["; -- remark", ";;", " -- a; b", "; /* a; */ ;\n-- c", " /* ; */;", "\n;\n", "; --'ü;"]


@pytest.mark.parametrize("beginning", ["", "-- a;\n", "/* ä; /* b; */ */ ", "; ", "\ufeff"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_remarks_and_semicolons_around_a_query(query: Run, beginning: str, ending: str) -> None:
    done = query(f"{beginning}SELECT '--;ü' AS v{ending}", "-f", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [{"v": "--;ü"}]
