"""`adanalytics query` and `report`: answers of a dataset in every format, without a request."""

import csv
import dataclasses
import gzip
import io
import json
import re
import shlex
import shutil
import signal
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal

import pytest
from click.testing import Result
from pytest_httpserver import HTTPServer
from tests.cli.run import Run, run
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.vocabularies import CAMEL_CASE, COUNTERS, EPOCHS, Vocabulary

from adanalytics_cli.output import query_output
from adanalytics_client import Client
from adanalytics_client._json.fields import COLUMN_OF_TYPE
from adanalytics_client._json.rates import RATES
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.records.manifest import DayRecord, seal, unseal
from adanalytics_server.local import LocalServer, Sample

PAGE = Path(__file__).parents[2] / "docs/how-to/query-a-dataset.md"
QUESTIONS = re.findall(r"^adanalytics query (.*)$", PAGE.read_text(), re.MULTILINE)

FOOTER = (
    "acme, USD: 2026-01-15 to 2026-01-16, 2 days, 48 hours, none missing between. "
    "93 of 4,000 events (2.3 %) are filtered; traffic is without.\n"
)
BY_COUNTRY = "SELECT country, sum(revenue) AS revenue FROM events GROUP BY 1 ORDER BY 2 DESC, 1"
ODD = """
    SELECT TIMESTAMPTZ '2026-01-16 12:37:49.148+01' AS t, DATE '2026-01-16' AS d, sum(11) AS n,
        sum(0.000000000) AS cost, map {'a': 'b'} AS pairs, [1.50] AS list, 'nan'::FLOAT AS nan,
        INTERVAL 26 HOUR AS span, true AS yes, NULL AS none, '=1+1' AS text,
        TIME '01:02:03' AS time, encode('ü') AS bytes,
        {'x': DATE '2026-01-01', 'n': NULL::HUGEINT} AS struct
"""
READ = {
    "t": "2026-01-16T11:37:49.148Z",
    "d": "2026-01-16",
    "n": 11,
    "cost": "0.000000000",
    "pairs": {"a": "b"},
    "list": ["1.50"],
    "nan": None,
    "span": "26:00:00",
    "yes": True,
    "none": None,
    "text": "=1+1",
    "time": "01:02:03",
    "bytes": "ü",
    "struct": {"x": "2026-01-01", "n": None},
}


@pytest.fixture
def query(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `adanalytics query` beside the dataset, without any setting of a service."""
    monkeypatch.chdir(dataset.parent)
    return partial(run, "query")


# What DuckDB has and Python, Arrow or a format has not, and how csv shows it.
FOREIGN = {
    "DATE 'infinity'": "infinity",
    "TIMESTAMP '-infinity'": "-infinity",
    "TIMESTAMP_S 'infinity'": "infinity",
    "DATE '12026-01-01'": "12026-01-01",
    "DATE '0044-03-15 (BC)'": "0044-03-15 (BC)",
    "TIMESTAMPTZ '12026-01-01 00:00:01.5+00'": "12026-01-01T00:00:01.500Z",
    "TIMESTAMP_NS '2026-01-01 00:00:00.123456789'": "2026-01-01T00:00:00.123456789",
    "TIMESTAMP '2026-01-01 00:00:00.123456'": "2026-01-01T00:00:00.123456",
    "TIME '24:00:00'": "24:00:00",
    "TIMETZ '24:00:00+05:30'": "24:00:00+05:30",
    "INTERVAL '2000000000 days'": "2000000000 days",
    "INTERVAL '2 months 3 days'": "2 months 3 days",
    "'10110'::BIT": "10110",
    "union_value(a := DATE 'infinity')": "infinity",
    "123456789012345678901234567890::HUGEINT": "123456789012345678901234567890",
    "'a'::ENUM('a', 'b')": "a",
    "'0190cb64-0000-7000-8000-000000000000'::UUID": "0190cb64-0000-7000-8000-000000000000",
    "'\\xAA'::BLOB": "\\xaa",
    "'-inf'::DOUBLE": "",
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
    assert (done.exit_code, done.stderr) == (0, FOOTER)
    lines = [*csv.reader(io.StringIO(done.stdout))]
    assert lines[0] == ["country", "revenue"]
    assert [(country, Decimal(amount)) for country, amount in lines[1:]] == expected(dataset)


@pytest.mark.parametrize("to_file", [True, False])
def test_csv_is_for_the_spreadsheets_of_a_region(query: Run, tmp_path: Path, to_file: bool) -> None:
    target = tmp_path / "x.csv"
    words = ["-o", str(target)] if to_file else []
    done = query("SELECT 1.5 AS a, 2.25 AS b", "--csv-for", "de", *words)
    text = target.read_bytes() if to_file else done.stdout_bytes
    assert text.decode("utf-8-sig").splitlines() == ["a;b", "1,5;2,25"]


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
    assert done.stderr.startswith(f"{FOOTER}{count} rows, ")
    assert done.stderr.endswith("by.parquet\n")
    table = import_module("pyarrow.parquet").read_table(folder / "by.parquet")
    assert str(table.schema.field("revenue").type) == "decimal128(38, 9)"
    assert query(BY_COUNTRY, "-o", str(folder / "by.xlsx")).exit_code == 0
    book = import_module("openpyxl").load_workbook(folder / "by.xlsx")
    about = {name: str(value) for name, value in book["about"].iter_rows(values_only=True)}
    assert [*about] == [
        *("about", "query", "datasets", "partner", "first day", "last day", "currency"),
        *("time zone", "made"),
    ]
    assert (about["partner"], about["first day"][:10], about["last day"][:10]) == (
        *("acme", "2026-01-15"),
        "2026-01-16",
    )
    sheet = book["query"]
    assert sheet.max_row == count + 1
    assert Decimal(str(sheet["B2"].value)) == expected(dataset)[0][1]
    assert query("SELECT [INTERVAL 1 DAY]", "-o", str(folder / "i.parquet")).exit_code == 2
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


def test_the_page_has_eleven_queries_for_ten_questions() -> None:
    assert len(QUESTIONS) == 11


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_the_page_has_an_answer(question: str, query: Run) -> None:
    done = query(*shlex.split(question))
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) > 2 or re.search(
        r"^\d+ rows, .* -> by-", done.stderr, re.MULTILINE
    )


def test_the_profit_of_campaigns_is_that_of_the_summary(query: Run, server: LocalServer) -> None:
    (question,) = [each for each in QUESTIONS if "profit" in each]
    rows = csv.DictReader(io.StringIO(query(*shlex.split(question)).stdout))
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        summary = client.summary("2026-01-15", "2026-01-16", group_by="campaign").rows
    expected = [
        (str(row.campaign_id or ""), row.campaign_name or "", row.profit) for row in summary
    ]
    answer = [(row["campaign_id"], row["campaign_name"], Decimal(row["profit"])) for row in rows]
    assert sorted(answer) == sorted(expected)


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


def test_a_query_needs_no_setting_and_sends_nothing(
    query: Run, server: LocalServer, dataset: Path
) -> None:
    server.journal.clear()
    assert query("FROM events LIMIT 1").exit_code == 0
    assert [*server.journal.entries()] == []


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["SELECT cuntry FROM events"], 2, "DESCRIBE events lists its columns"),
        (["SELECT list(range) FROM range(999999)", "--memory", "3MB"], 1, "larger --memory"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else None,
)
def test_errors_say_what_to_do(words: list[str], code: int, what: str, query: Run) -> None:
    done = query(*words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert what in done.stderr
    assert "Traceback" not in done.stderr


def test_without_duckdb_the_extra_is_named(query: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
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


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[DATE 'infinity']", "Cast its column to VARCHAR"),
        ("map {DATE '2026-01-01': TIME '24:00'}", "Cast its column to VARCHAR"),
        (f"{2**127 - 1}::HUGEINT", "Could not cast value"),
        (f"{2**127 - 1}::UHUGEINT", "Could not cast value"),
    ],
)
def test_a_value_that_cannot_be_written_is_an_error(query: Run, value: str, said: str) -> None:
    done = query(f"SELECT {value} AS v")
    # The header may be there already.
    assert (done.exit_code, done.stdout) == (2, "v\n" if "VARCHAR" in said else "")
    assert said in done.stderr


ENDINGS = ["; -- remark", ";;", " -- a; b", "; /* a; */ ;\n-- c", " /* ; */;", "\n;\n", "; --'ü;"]


BEGINNINGS = ["", "-- a;\n", "/* ä; /* b; */ */ ", "; ", "\ufeff", "\ufeff-- a\n"]


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_remarks_and_semicolons_around_a_query(query: Run, beginning: str, ending: str) -> None:
    sql = f"{beginning}SELECT '--;ü' AS v{ending}"
    done = query(sql, "-f", "json", "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [{"v": "--;ü"}]


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_file_and_stdin_hold_the_sql(query: Run, beginning: str, folder: Path) -> None:
    sql = f"{beginning}SELECT '--;ü' AS v;;\n-- end;\n"
    file = folder / "q.sql"
    file.write_bytes(sql.encode())
    texts = [query("--file", str(file)), query("--file", "-", stdin=sql), query("-", stdin=sql)]
    assert [text.stdout for text in texts] == ["v\n--;ü\n"] * 3


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT 1 frm frm", ("LINE 1: SELECT 1 frm frm", "frm")),
        ("SELECT 1,\n\t'ü' x,\n\t2 frm frm", ("LINE 3:  2 frm frm", "frm")),
        ("SELECT 1\nFROM trafic", ("LINE 2: FROM trafic", "trafic")),
        ("-- a\nSELECT CAST(country AS INT)\nFROM events", ("LINE 2: SELECT CAST", "CAST(")),
    ],
    ids=str,
)
def test_an_error_shows_the_line_and_the_place(
    query: Run, sql: str, shown: tuple[str, str]
) -> None:
    lines = query(sql).stderr.splitlines()
    begin, at = shown
    assert lines[1].startswith(begin)
    column = lines[2].index("^")
    assert (lines[2].strip(" ^"), lines[1][column:].startswith(at)) == ("", True)
    record = json.loads(query(sql, "-f", "json").stderr)
    assert record["excerpt"] == "\n".join(lines[1:3])


def test_the_footer_names_what_the_answer_is_of(query: Run) -> None:
    done = query("SELECT 1", "-f", "json")
    (record,) = json.loads(done.stderr)["datasets"]
    share = record.pop("filtered_share")
    filtered = record.pop("filtered")
    assert record == {
        "dataset": "events",
        "partner": "acme",
        "currencies": ["USD"],
        "first_hour": "2026-01-15T00",
        "last_hour": "2026-01-16T23",
        "days": 2,
        "hours": 48,
        "missing_hours": [],
        "events": 4_000,
    }
    sql = "SELECT count(*) FROM events WHERE is_filtered"
    assert query(sql, "-q").stdout == f"count_star()\n{filtered}\n"
    assert share == filtered / 4_000
    assert query(sql, "-f", "json", "-q").stderr == ""


def test_traffic_is_events_without_the_filtered_ones(query: Run) -> None:
    sql = "SELECT count(*) AS n, sum(revenue) AS revenue FROM {}"
    answers = {
        name: query(sql.format(name)).stdout
        for name in ("events", "traffic", "events WHERE NOT is_filtered")
    }
    assert answers["traffic"] == answers["events WHERE NOT is_filtered"] != answers["events"]


@pytest.fixture(scope="session")
def euros(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of another partner, in EUR, of one day without its hours 3, 4 and 7."""
    folder = tmp_path_factory.mktemp("euros") / "euros"
    sample = Sample(days=1, events_per_day=500, seed=3)
    with (
        LocalServer(partner="beta", currency="EUR", sample=sample, rate_limit=0) as server,
        Client(server.url, api_key=server.api_key, partner="beta") as client,
    ):
        assert Dataset(folder).sync(client).events == 500
    record = folder / "_adanalytics/manifest/2026-01-15.json"
    day = unseal(record.read_bytes(), DayRecord)
    hours = {number: held for number, held in day.hours.items() if number not in {3, 4, 7}}
    record.write_bytes(seal(replace(day, hours=hours)))
    return folder


def test_a_gap_and_two_currencies_are_said(query: Run, euros: Path) -> None:
    done = query("SELECT sum(revenue) FROM traffic", "--in", "events", "--in", str(euros))
    mine, theirs, warning = done.stderr.splitlines()
    assert f"{mine}\n" == FOOTER
    assert theirs.startswith(
        "beta, EUR: 2026-01-15, 1 day, 21 hours, 3 missing between: "
        "2026-01-15T03 to 2026-01-15T04, 2026-01-15T07."
    )
    assert warning.startswith("Warning: Amounts are in EUR and USD")
    by = query(
        "SELECT partner, currency, count(*) FROM events GROUP BY ALL ORDER BY 1",
        *("--in", "events", "--in", str(euros), "-q"),
    )
    rows = [line.rpartition(",")[0] for line in by.stdout.splitlines()[1:]]
    assert (rows, by.stderr) == (["acme,USD", "beta,EUR"], "")


def test_days_of_one_partner_in_two_datasets_are_said(
    query: Run, dataset: Path, folder: Path
) -> None:
    other = shutil.copytree(dataset, folder / "other")
    done = query("SELECT 1", "--in", "events", "--in", str(other), "-f", "json")
    (warning,) = json.loads(done.stderr)["warnings"]
    assert "acme on 2026-01-15 to 2026-01-16: they count twice" in warning


NO_DAY = "SELECT count(*) FROM events WHERE {}"


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("date = '2026-02-01'", "2026-02-01"),
        ("event_date > '2026-02-01' AND country = 'US'", "2026-02-01"),
        (
            "event_time >= TIMESTAMPTZ '2026-01-17' AND event_time < TIMESTAMPTZ '2026-01-18'",
            "2026-01-17, 2026-01-18",
        ),
        ("strftime(date, '%Y-%m') = '2025-12'", "2025-12"),
    ],
)
def test_days_outside_of_the_dataset_are_said(query: Run, condition: str, names: str) -> None:
    done = query(NO_DAY.format(condition))
    assert done.stdout == "count_star()\n0\n"
    said = f"The query names {names}; the dataset has 2026-01-15 to 2026-01-16."
    assert done.stderr.splitlines()[-1] == said


@pytest.mark.parametrize(
    "condition",
    [
        "country = 'XX'",
        "date = '2026-01-15' AND country = 'XX'",
        "date BETWEEN '2025-12-01' AND '2026-02-01' AND country = 'XX'",
        "strftime(date, '%Y-%m') = '2026-01' AND country = 'XX'",
    ],
)
def test_another_empty_answer_is_not_laid_to_the_days(query: Run, condition: str) -> None:
    assert query(NO_DAY.format(condition)).stderr == FOOTER


@pytest.mark.parametrize("group", ["campaign", "day"])
def test_rates_are_those_of_the_summary(
    query: Run, server: LocalServer, group: Literal["campaign", "day"]
) -> None:
    column = {"campaign": "campaign_id", "day": "date"}[group]
    counts = ", ".join(
        f"count(*) FILTER (event_type = '{kind}') AS {name}"
        for kind, name in COLUMN_OF_TYPE.items()
    )
    sums = "sum(revenue) AS revenue, coalesce(sum(cost), 0) AS cost"
    sql = f"SELECT {column} AS key, {counts}, {sums} FROM traffic GROUP BY 1"
    rates = ", ".join(
        f"{name}({rate.numerator}, {rate.denominator}) AS {name}" for name, rate in RATES.items()
    )
    sql = f"SELECT key, {rates} FROM (SELECT *, revenue - cost AS profit FROM ({sql}))"
    found = {row["key"]: row for row in csv.DictReader(io.StringIO(query(sql).stdout))}
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        rows = client.summary("2026-01-15", "2026-01-16", group_by=group).rows
    assert len(rows) == len(found)
    for row in rows:
        key = str(row[column]) if row[column] is not None else ""
        values = {name: found[key][name] for name in RATES}
        assert values == {name: "" if row[name] is None else f"{row[name]}" for name in RATES}


def test_a_rate_without_a_denominator_is_null_and_halves_go_to_even(query: Run) -> None:
    sql = (
        "SELECT ecpm(1, 0) AS a, ctr(NULL, 1) AS b, ctr('nan'::DOUBLE, 1) AS c, "
        "ctr(1, 128) AS d, ctr(3, 128) AS e, margin(-1::DECIMAL(38, 9), 3) AS f, 1 / 0 AS g"
    )
    assert query(sql).stdout.splitlines()[1] == ",,,0.007812,0.023438,-0.333333,"
    order = "SELECT x / y AS q FROM (VALUES (1, 0), (0, 0), (1, 2), (3, 2)) t(x, y) ORDER BY q DESC"
    assert query(order, "-f", "jsonl").stdout.splitlines() == [
        '{"q":1.5}',
        '{"q":0.5}',
        '{"q":null}',
        '{"q":null}',
    ]


def test_what_is_no_number_is_an_empty_cell(query: Run, folder: Path) -> None:
    sql = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, 1.5::DOUBLE AS c"
    assert query(sql, "-o", str(folder / "x.xlsx")).exit_code == 0
    sheet = import_module("openpyxl").load_workbook(folder / "x.xlsx")["query"]
    assert [cell.value for cell in sheet[2]] == [None, None, 1.5]


WRITTEN = """
    SELECT i, CASE i % 7 WHEN 0 THEN DATE 'infinity' WHEN 1 THEN DATE '0044-03-15 (BC)'
        WHEN 2 THEN DATE '12026-01-01' WHEN 3 THEN DATE '0999-12-31' WHEN 4 THEN NULL
        WHEN 5 THEN DATE '-infinity' ELSE DATE '2026-01-01' END AS d,
    CASE i % 5 WHEN 0 THEN TIMESTAMPTZ 'infinity'
        WHEN 1 THEN TIMESTAMPTZ '12026-01-01 00:00:01.5+00'
        WHEN 2 THEN TIMESTAMPTZ '0999-12-31 12:00:00+00' WHEN 3 THEN NULL
        ELSE '2026-01-01 00:00:00.000001+00' END AS t,
    CASE i % 3 WHEN 0 THEN TIMESTAMP '-infinity' WHEN 1 THEN TIMESTAMP '0044-03-15 (BC)'
        ELSE '2026-01-01 10:00:00.12' END AS ts,
    CASE i % 3 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN '-inf'
        ELSE power(10, (i % 40) - 20) * (i * 0.1234567890123) END AS f,
    (i * 1234.56789)::FLOAT AS g,
    CASE i % 4 WHEN 0 THEN map {'b': '"x"', 'a': NULL, 'ü': E'/\n'} WHEN 1 THEN map {}
        WHEN 2 THEN NULL ELSE map {'z': 'y', 'B': 'b'} END AS m,
    CASE i % 6 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN 'a,"b"' WHEN 3 THEN E'x\ny'
        WHEN 4 THEN E' a\r' ELSE '#' END AS s,
    -0.05::DECIMAL(3, 2) AS dec, (2::HUGEINT ** 100)::HUGEINT AS h, i % 2 = 0 AS b, 0::UTINYINT u
    FROM range(200) t(i)
"""


@pytest.mark.parametrize(
    "sql",
    [
        WRITTEN,
        "FROM events",
        "SELECT NULL AS v FROM range(3)",
        "PIVOT traffic ON device_type USING sum(revenue) GROUP BY country ORDER BY country",
        "SELECT INTERVAL 26 HOUR AS span, [1.5] AS list, 1 AS n",
        "SELECT 1 AS a, 2 AS a",
        "SELECT * FROM events WHERE false",
        "FROM events; -- end",
    ],
    ids=lambda sql: sql.strip()[:12],
)
def test_a_csv_file_has_the_values_of_a_pipe(query: Run, sql: str, folder: Path) -> None:
    """DuckDB itself writes the file, if it can; the pipe is written row by row."""
    piped = [*csv.reader(io.StringIO(query(sql, "-f", "csv").stdout, newline=""))]
    for name in ("x.csv", "x.csv.gz"):
        done = query(sql, "-o", str(folder / name))
        assert (done.exit_code, f"{len(piped) - 1:,} row" in done.stderr) == (0, True), done.stderr
        opened = gzip.open if name.endswith(".gz") else open
        with opened(folder / name, "rt", newline="", encoding="utf-8") as file:
            assert [*csv.reader(file)] == piped
    assert sorted(each.name for each in folder.iterdir()) == ["x.csv", "x.csv.gz"]


@pytest.mark.parametrize("sql", ["SELECT CAST(country AS INT), 1 FROM events", "SELEKT 1, 2"])
def test_a_failed_query_leaves_the_file_as_it_was(query: Run, sql: str, folder: Path) -> None:
    (folder / "x.csv").write_text("old")
    assert query(sql, "-o", str(folder / "x.csv")).exit_code == 2
    assert [(each.name, each.read_text()) for each in folder.iterdir()] == [("x.csv", "old")]


def test_a_file_that_cannot_grow_is_an_error(query: Run, folder: Path) -> None:
    limits = import_module("resource")
    before = limits.getrlimit(limits.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits.setrlimit(limits.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        done = query("FROM events", "-o", str(folder / "x.csv"))
    finally:
        limits.setrlimit(limits.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (done.exit_code, "cannot be written: File too large.\n" in done.stderr) == (1, True)
    assert [*folder.iterdir()] == []


Rows = list[dict[str, str]]


@pytest.fixture
def report(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `adanalytics report` beside the dataset, without any setting of a service."""
    monkeypatch.chdir(dataset.parent)
    return partial(run, "report")


def rows_of(done: Result) -> Rows:
    assert done.exit_code == 0, done.stderr
    return [*csv.DictReader(io.StringIO(done.stdout))]


@pytest.mark.parametrize(
    ("field", "group"), [("day", "day"), ("campaign", "campaign"), ("demand-tag", "demand_tag")]
)
@pytest.mark.parametrize("days", [["2026-01-15", "2026-01-16"], ["2026-01-16"]])
def test_figures_are_those_of_the_summary(
    report: Run, service: LocalServer, field: str, group: str, days: list[str]
) -> None:
    mine = rows_of(report(field, *days))
    theirs = rows_of(run("summary", *days, "-g", group))
    assert mine == theirs != []
    assert [*mine[0]] == [*theirs[0]]


@pytest.mark.parametrize("field", ["country", "hour", "creative", "device", "supply-tag", "domain"])
def test_the_total_of_any_field_is_that_of_the_summary(
    report: Run, service: LocalServer, field: str
) -> None:
    shown = report(field, "2026-01-15..2026-01-16", "-f", "table")
    (total,) = [line.split() for line in shown.stdout.splitlines() if line.startswith("total")]
    summary = json.loads(run("summary", "2026-01", "-g", "day", "-f", "json").stdout)
    revenue = sum(Decimal(row["revenue"]) for row in summary)
    impressions = sum(row["impressions"] for row in summary)
    assert (f"{impressions:,}" in total, f"{revenue}" in total) == (True, True), total
    rows = rows_of(report(field))
    assert sum(Decimal(row["revenue"]) for row in rows) == revenue
    assert len(rows) == len({row[next(iter(row))] for row in rows}) > 1


def test_a_comparison_is_that_of_the_summary(report: Run, service: LocalServer) -> None:
    words = ("2026-01-16", "--compare", "previous")
    for form in ("table", "csv"):
        mine = report("day", *words, "-f", form)
        assert mine.stdout == run("summary", "-g", "day", *words, "-f", form).stdout != ""
    shown = report("country", *words, "-f", "table").stdout.splitlines()
    assert shown[0].split() == ["country", "metric", "before", "after", "change", "percent"]
    assert [line.split()[0] for line in shown[-3:-1]] == ["total", "total"]


def test_a_day_that_was_open_is_not_compared(tmp_path: Path, server: LocalServer) -> None:
    """At 13:00 of the second day, which therefore has no whole day beside the first one."""
    noon = datetime(2026, 1, 16, 13, tzinfo=UTC)
    folder = tmp_path / "events"
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        Dataset(folder, clock=lambda: noon).sync(client)
    done = run("report", "hour", "2026-01-16", "--compare", "2026-01-15", "--in", str(folder))
    assert (done.exit_code, "not whole yet" in done.stderr) == (1, True)
    every = ("--compare", "2026-01-15", "--all-hours", "--in", str(folder))
    assert run("report", "hour", "2026-01-16", *every).exit_code == 0


def test_options_are_those_of_summary(report: Run, folder: Path) -> None:
    top = rows_of(report("country", "--sort", "clicks", "--top", "3", "--columns", "country,CTR"))
    assert ([*top[0]], len(top)) == (["country", "ctr"], 3)
    assert report("country", "--chart").stdout.splitlines()[0] == "impressions"
    for name in ("x.xlsx", "x.parquet", "x.json", "x.jsonl"):
        done = report("country", "-o", str(folder / name))
        assert (done.exit_code, "9 rows, " in done.stderr) == (0, True), done.stderr
    table = import_module("pyarrow.parquet").read_table(folder / "x.parquet")
    assert (table.column_names[0], str(table.schema.field("revenue").type)[:7]) == (
        *("country", "decimal"),
    )
    sheet = import_module("openpyxl").load_workbook(folder / "x.xlsx")["report"]
    assert sheet["A1"].value == "country"


def test_days_without_data_are_said(report: Run) -> None:
    done = report("country", "2026-01-14..2026-01-18")
    assert "Not in the dataset: 2026-01-14, 2026-01-17 to 2026-01-18." in done.stderr
    assert report("country", "2026-01-18", "-f", "json").stdout == "[]\n"
    empty, some = (report("country", day, "-f", "csv") for day in ("2026-01-18", "2026-01-16"))
    assert empty.stdout == f"{some.stdout.splitlines()[0]}\n"


def test_amounts_of_two_currencies_are_not_added(
    report: Run, dataset: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "euros"
    sample = Sample(days=1, events_per_day=500, seed=3)
    with (
        LocalServer(partner="beta", currency="EUR", sample=sample, rate_limit=0) as other,
        Client(other.url, api_key=other.api_key, partner="beta") as client,
    ):
        Dataset(folder).sync(client)
    both = rows_of(report("day", "--in", "events", "--in", str(folder)))
    assert [(row["partner"], row["currency"]) for row in both] == [
        *(("acme", "USD"), ("acme", "USD"), ("beta", "EUR"), ("beta", "EUR"))
    ]
    refused = report("day", "--chart", "--in", "events", "--in", str(folder))
    assert (refused.exit_code, "Give one --in" in refused.stderr) == (2, True)


@pytest.fixture
def synced(httpserver: HTTPServer, tmp_path: Path) -> Callable[[Vocabulary], Path]:
    """Make a dataset of a vocabulary."""

    def make(vocabulary: Vocabulary) -> Path:
        service = ServiceOfRows(httpserver)
        service.rows = dict(vocabulary.rows)
        with service.client(**vocabulary.profile) as client:
            Dataset(tmp_path / "events").sync(client, "2026-01-15", "2026-01-16", via="pages")
        return tmp_path / "events"

    return make


def test_counters_are_added_up(synced: Callable[[Vocabulary], Path]) -> None:
    place = str(synced(COUNTERS))
    rows = rows_of(run("report", "placement", "--in", place))
    events = [json.loads(text, parse_float=Decimal) for text in COUNTERS.texts]
    for name in ("impressions", "clicks", "revenue"):
        expected = defaultdict[str, Decimal](Decimal)
        for event in events:
            expected[event["placement"]] += Decimal(event[name])
        assert {row["placement"]: Decimal(row[name]) for row in rows} == expected
    assert rows[1]["ctr"] == f"{Decimal(rows[1]['clicks']) / Decimal(rows[1]['impressions']):.6f}"
    assert "requests" not in rows[0]


def test_lines_of_another_type_may_have_counters(synced: Callable[..., Path]) -> None:
    front = '{"event_type":"line","starts":true,'
    rows = {
        at: [text.replace("{", front, 1) for text in texts] for at, texts in COUNTERS.rows.items()
    }
    place = str(synced(dataclasses.replace(COUNTERS, rows=rows)))
    (row,) = rows_of(run("report", "event_type", "--in", place))
    events = [json.loads(text) for text in COUNTERS.texts]
    assert int(row["impressions"]) == sum(event["impressions"] for event in events) > 0
    assert int(row["starts"]) == len(events)


def test_the_days_are_those_of_the_zone_of_the_dataset(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    service = ServiceOfRows(httpserver)
    service.rows["2026-01-15", 5] = ['{"event_time": "2026-01-15T00:10:00Z", "os": "ios"}']
    with service.client(zone="+05:30") as client:
        Dataset(tmp_path / "events").sync(client, "2026-01-15", via="pages")
    shown = run("report", "os", "--in", str(tmp_path / "events"), "-f", "table")
    assert shown.stdout.endswith("2026-01-15 in +05:30.\n")


@pytest.mark.parametrize(("impressions", "day"), [(2, "2026-01-16"), (1, "")])
def test_days_that_did_not_agree_are_said(
    httpserver: HTTPServer, tmp_path: Path, impressions: int, day: str
) -> None:
    service = ServiceOfRows(httpserver)
    for date in ("2026-01-15", "2026-01-16"):
        service.rows[date, 5] = [f'{{"event_type": "impression", "event_id": "{date}"}}']
    service.summary["2026-01-16"] = {"impressions": impressions}
    with service.client() as client:
        Dataset(tmp_path / "events").sync(client)
    file = tmp_path / "theirs.csv"
    file.write_text("day,impressions\n2026-01-16,1\n")
    for words in (["report", "day"], ["query", "FROM events"], ["reconcile", str(file)]):
        done = run(*words, "--in", str(tmp_path / "events"), "-f", "csv")
        text = f"acme: not agreed with the service: {day}; adanalytics verify says why."
        assert (text in done.stderr, "agreed" in done.stderr) == (bool(day),) * 2, done.stderr


def test_events_of_an_unknown_vocabulary_are_counted(synced: Callable[[Vocabulary], Path]) -> None:
    place = str(synced(EPOCHS))
    rows = rows_of(run("report", "type", "--in", place))
    unfiltered = [each for each in map(json.loads, EPOCHS.texts) if not each["is_filtered"]]
    assert {row["type"]: int(row["events"]) for row in rows} == {
        kind: sum(each["type"] == kind for each in unfiltered)
        for kind in {each["type"] for each in unfiltered}
    }
    words = ("--in", place, "--compare", "2026-01-16", "--all-hours", "-f", "table")
    shown = run("report", "type", "2026-01-15", *words)
    assert "events" in shown.stdout, shown.stderr


def test_figures_that_are_texts_are_said(httpserver: HTTPServer, tmp_path: Path) -> None:
    service = ServiceOfRows(httpserver)
    service.rows["2026-01-15", 5] = ['{"os": "ios", "clicks": "1,234", "impressions": 7}']
    with service.client() as client:
        for name in ("events", "others"):
            Dataset(tmp_path / name).sync(client)
    words = ("--in", str(tmp_path / "events"), "--in", str(tmp_path / "others"))
    for place in (words[:2], words):
        done = run("report", "os", *place)
        assert {row["impressions"] for row in rows_of(done)} == {"7"}
        assert "Texts are not added up: clicks." in done.stderr


def test_mapped_fields_have_their_parts(synced: Callable[[Vocabulary], Path]) -> None:
    (row, *_) = rows_of(run("report", "zip", "--in", str(synced(CAMEL_CASE))))
    assert (row["impressions"], row["revenue"], row["zip"]) == ("3", "3.000000000", "00000")
