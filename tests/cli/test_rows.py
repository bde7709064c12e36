"""Rows as JSON, CSV, tables and charts, with every digit and every character kept."""

import csv
import html
import io
import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.run import run

from adanalytics_cli.console.table_view import Column, count, percent, plain, render_table
from adanalytics_cli.console.terminal import Terminal
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.calendar_chart import LETTERS as DAY_LETTERS
from adanalytics_cli.output.calendar_chart import SHADES, Coverage, draw_calendar, legend, level_of
from adanalytics_cli.output.formats import FORMATS, Output
from adanalytics_cli.output.row_output import Listing, Row, TextRows, csv_line
from adanalytics_cli.output.summary_chart import BLOCKS, LETTERS, Bar, Ink, draw_bars

pytestmark = pytest.mark.usefixtures("service")

SCREEN = Terminal(interactive=True, color=False, width=40)
PIPE = Terminal(interactive=False, color=False, width=80)

numbers = st.decimals(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | st.text() | numbers
values = scalars | st.lists(scalars) | st.dictionaries(st.text(), st.lists(scalars))


def encode(rows: Sequence[Row], form: str, names: Sequence[str] = ()) -> Iterator[bytes]:
    output = Output(FORMATS[form])
    writer = output.form.row_writer()(Listing(rows), names, output, Invocation(), None)
    assert isinstance(writer, TextRows)
    return writer.encode(rows)


@given(st.dictionaries(st.text(), values))
def test_json_keeps_everything(row: dict[str, object]) -> None:
    (text,) = encode([row], "jsonl")
    text = text.removesuffix(b"\n")
    assert b"\n" not in text
    assert json.loads(text, parse_float=Decimal, parse_int=_number) == _as_numbers(row)


def _number(text: str) -> Decimal:
    return Decimal(text)


def _as_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_numbers(each) for each in value]
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_keeps_digits_and_half_a_surrogate_pair(form: str) -> None:
    row = {"z": Decimal("1.50"), "a": [Decimal("0E-9")], "text": "\ud800"}
    text = b"".join(encode([row], form))
    assert rb'{"z":1.50,"a":[0.000000000],"text":"\ud800"}' in text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2))
def test_csv_is_read_back_as_it_was(cells: list[str]) -> None:
    text = csv_line(cells).decode()
    assert next(csv.reader(io.StringIO(text, newline=""))) == cells


def test_csv_values() -> None:
    line = csv_line([None, True, False, 7, Decimal("0E-9"), {"b": "2", "a": Decimal("1.0")}])
    assert line == b',true,false,7,0.000000000,"{""a"":1.0,""b"":""2""}"\n'


def test_csv_is_utf_8_even_with_half_a_surrogate_pair() -> None:
    assert csv_line(["\ud800é"]).decode() == "\\ud800é\n"


@pytest.mark.parametrize(
    ("count_of_rows", "text"),
    [(0, b"[]\n"), (1, b'[\n{"a":0}\n]\n'), (2, b'[\n{"a":0},\n{"a":1}\n]\n')],
)
def test_a_json_array_row_by_row(count_of_rows: int, text: bytes) -> None:
    rows = [{"a": number} for number in range(count_of_rows)]
    assert b"".join(encode(rows, "json")) == text


def test_a_csv_row_may_lack_a_column() -> None:
    rows: list[dict[str, object]] = [{"a": 1}, {"b": 2}]
    assert b"".join(encode(rows, "csv", ["a", "b"])) == b"a,b\n1,\n,2\n"


COLUMNS = [
    Column("name"),
    Column("n", count, to_the_right=True),
    Column("revenue", to_the_right=True),
    Column("rate", percent, to_the_right=True),
]
ROW = {
    "name": "A campaign with a very long name",
    "n": 1234567,
    "revenue": Decimal("0.000000001"),
    "rate": Decimal("0.012345"),
}


def test_numbers_are_never_cut_and_what_has_no_room_is_named() -> None:
    lines = render_table(COLUMNS, [ROW, ROW], SCREEN).splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert "1,234,567  0.000000001" in lines[2]
    assert "…" in lines[2]
    assert lines[-1] == "No room for: rate."


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(119, ""), (118, "id"), (60, "id"), (50, "id, rate"), (40, "id, n, rate")],
)
def test_money_stays_ids_go_and_a_table_fills_its_terminal(width: int, left_out: str) -> None:
    columns = [
        Column("name"),
        Column("id", to_the_right=True, rank=2),
        Column("n", count, to_the_right=True),
        Column("revenue", to_the_right=True, rank=0),
        Column("rate", percent, to_the_right=True),
        Column("cost", to_the_right=True, rank=0),
    ]
    row = {**ROW, "name": "n" * 39, "id": "i" * 38, "cost": Decimal("0.10")}
    *lines, note = render_table(columns, [row, row], Terminal(True, False, width)).splitlines()
    assert max(len(line) for line in [*lines, note]) <= width
    assert note == f"No room for: {left_out}." if left_out else "iiii" in note
    assert left_out or len(note) == width


def test_a_table_in_a_pipe_is_whole() -> None:
    (row,) = render_table(COLUMNS, [ROW], PIPE).splitlines()[2:]
    # rich before 14.3 makes the last column one wider.
    assert re.split(" {2,}", row) == [ROW["name"], "1,234,567", "0.000000001", "1.2345 %"]


def test_markup_in_data_is_data() -> None:
    text = render_table(COLUMNS[:1], [{"name": "[bold]x[/bold] :smile:"}], PIPE)
    assert "[bold]x[/bold] :smile:" in text


def test_shown_values() -> None:
    assert [plain(None), count(None), percent(None)] == ["-", "-", "-"]
    assert plain(Decimal("0E-9")) == "0.000000000"
    assert (
        plain({"section": "sports", "price": Decimal("1.0")}) == '{"price":1.0,"section":"sports"}'
    )
    assert [plain(False), plain(["a"]), plain(date(2026, 1, 15))] == [
        "false",
        '["a"]',
        "2026-01-15",
    ]
    assert percent(Decimal(1)) == "100 %"


NEW_YEAR = date(2026, 1, 1)


def test_a_day_a_mark_a_month_a_row() -> None:
    hours = {NEW_YEAR + timedelta(days=n): n for n in range(25)}
    coverage = Coverage(
        hours, NEW_YEAR, date(2026, 2, 2), gaps=["2026-01-01", "2026-01-26 to 2026-02-02"]
    )
    assert draw_calendar(coverage, DAY_LETTERS, width=80) == [
        "        1   5    10   15   20   25   30",
        "2026-01 .--------++++++++*******#......  24/31",
        "2026-02 ..                                0/2",
    ]
    assert legend(coverage, DAY_LETTERS) == [
        "hours: . 0  - 1-8  + 9-16  * 17-23  # 24",
        "Data on 24 of 33 days.",
        "Missing:",
        "  2026-01-01",
        "  2026-01-26 to 2026-02-02",
    ]


def test_levels() -> None:
    assert [level_of(hours) for hours in (0, 1, 8, 9, 16, 17, 23, 24)] == [0, 1, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("width", [16, 24, 38, 39, 40, 44, 47, 48, 80, 200])
def test_a_calendar_fits_and_loses_no_day(width: int) -> None:
    days = [NEW_YEAR + timedelta(days=n) for n in range(400)]
    coverage = Coverage(dict.fromkeys(days, 24), days[0], days[-1])
    lines = draw_calendar(coverage, SHADES, width=width)
    assert max(map(len, lines)) <= width
    assert "".join(lines).count("█") == 400


def test_only_the_first_gaps_are_named() -> None:
    days = [NEW_YEAR + timedelta(days=n) for n in range(20)]
    coverage = Coverage(dict.fromkeys(days[::2], 24), days[0], days[-1])
    assert legend(coverage, SHADES)[-1] == "  and 5 more gaps"


BARS = [
    Bar("Trailer: Harbour Lights", 1_000, "1,000"),
    Bar("広告キャンペーン", 500, "500"),
    Bar("a little", 1, "1"),
    Bar("nothing", 0, "0"),
    Bar("taken back", Decimal("-12.5"), "-12.5"),
    Bar("unknown", None, "-"),
]


@pytest.mark.parametrize("ink", [BLOCKS, LETTERS])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_bars_fit_and_show_every_value(ink: Ink, width: int) -> None:
    drawn = draw_bars(BARS, ink, width=width)
    assert {cell_len(line) for line in drawn} == {width}
    for line, bar in zip(drawn, BARS, strict=True):
        assert line.endswith(f" {bar.shown}")
    lengths = [sum(line.count(each) for each in "█#▏") for line in drawn]
    assert lengths[0] >= 2 * lengths[1] - 1 >= 1
    assert lengths[2] == 1
    assert (lengths[3], 1 <= lengths[4] <= 2, lengths[5]) == (0, True, 0)


@pytest.mark.parametrize("values", [(8, -4, 2), (-8, -4), (3, 1), (-1, 1000), (-1000, 1), (0, 0)])
@pytest.mark.parametrize("width", [14, 30, 80])
def test_negative_bars_end_where_the_others_begin(values: tuple[int, ...], width: int) -> None:
    bars = [Bar("n", value, f"{value:>5}") for value in values]
    drawn = draw_bars(bars, LETTERS, width=width)
    assert {len(line) for line in drawn} == {max(width, 12)}
    marks = [(line.index("#"), line.rindex("#")) if "#" in line else None for line in drawn]
    assert [mark is not None for mark in marks] == [value != 0 for value in values]
    ends = {mark[1] + 1 for mark, value in zip(marks, values, strict=True) if mark and value < 0}
    begins = {mark[0] for mark, value in zip(marks, values, strict=True) if mark and value > 0}
    assert len(ends | begins) <= 1


def test_a_value_is_never_cut() -> None:
    assert draw_bars([], LETTERS, width=20) == []
    (line,) = draw_bars([Bar("name", 1, "1" * 30)], LETTERS, width=20)
    assert line == f"~ #### {'1' * 30}"


def test_the_days_of_the_service(tmp_path: Path) -> None:
    shown = run("dates", "2026-01-14", "2026-01-17", "--chart")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [
        "        1   5    10   15   20   25   30",
        "2026-01              ·██·                 2/4",
        "",
        "█ data  · none",
        "Data on 2 of 4 days.",
        "Missing:",
        "  2026-01-14",
        "  2026-01-17",
        "Last day with data: 2026-01-16, 4 days ago.",
    ]
    target = tmp_path / "days.txt"
    done = run("dates", "2026-01-14", "2026-01-17", "--chart", "-o", str(target))
    assert done.stdout == ""
    assert done.stderr.startswith("1 chart of 2026-01-14 to 2026-01-17, ")
    assert target.read_text() == shown.stdout


def test_a_calendar_shows_where_the_data_stopped() -> None:
    """It is the 20th, which is not over; days to come are not missing."""
    stopped = [
        "        1   5    10   15   20   25   30",
        "2026-01               ██···               2/5",
        "",
        "█ data  · none",
        "Data on 2 of 5 days.",
        "Missing:",
        "  2026-01-17 to 2026-01-19",
        "Last day with data: 2026-01-16, 4 days ago.",
    ]
    assert run("dates", "--chart").stdout.splitlines() == stopped
    assert run("dates", "2026-01-15", "2026-02-28", "--chart").stdout.splitlines() == stopped
    assert "Data on 0 of 1 day." in run("dates", "today", "--chart").stdout


def test_a_calendar_of_ages_is_refused() -> None:
    """As a service lists that has events of the year 1; a line a month would be a megabyte."""
    done = run("dates", "0001-01-01", "2026-01-16", "--chart")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "0001-01-01 to 2026-01-16 is too long for a calendar." in done.stderr
    assert "Give START and END." in done.stderr


def test_a_chart_draws_what_it_is_sorted_by() -> None:
    words = ["summary", "2026-01", "-g", "campaign", "--chart", "--top", "3"]
    title, *bars = run(*words, "--sort", "-CTR").stdout.splitlines()
    assert (title, bars[3:]) == ("CTR", ["", "2026-01-01 to 2026-01-20 in UTC. 3 of 11 rows."])
    shown = [Decimal(bar.split()[-2]) for bar in bars[:3]]
    assert shown == sorted(shown) != []
    assert run(*words, "--sort", "profit").stdout.startswith("profit in USD\n")
    assert run(*words, "--sort", "campaign").stdout.startswith("impressions\n")


def test_the_bars_of_a_summary() -> None:
    total = run("summary", "2026-01", "--chart").stdout.splitlines()
    assert total[0] == "events"
    assert [line.split()[0] for line in total[1:4]] == ["requests", "impressions", "starts"]
    days = run("summary", "2026-01-15", "2026-01-16", "-g", "day", "--chart").stdout.splitlines()
    assert [line for line in days[:-1] if not line.startswith("2026-01-1")] == [
        "impressions",
        "",
        "revenue in USD",
        "",
    ]
    assert days[-1] == "2026-01-15 to 2026-01-16 in UTC, money in USD."
    sorted_by = run("summary", "2026-01", "-g", "day", "--chart", "--sort", "revenue").stdout
    assert [line[:10] for line in sorted_by.splitlines()[1:7]] == [
        f"2026-01-{day}" for day in range(15, 21)
    ]
    rows = run("summary", "2026-01", "-g", "day", "-f", "csv").stdout.splitlines()
    assert rows[1].split(",")[rows[0].split(",").index("revenue")] == days[5].split()[-1]


def test_color_is_for_those_who_see_it() -> None:
    assert "\x1b[32m██\x1b[0m" in run("--color", "always", "dates", "--chart").stdout
    assert "\x1b" not in run("dates", "--chart").stdout


def test_a_locale_without_blocks_gets_letters(
    spawn: Callable[..., "subprocess.Popen[bytes]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    bars, _ = spawn("summary", "2026-01", "-g", "campaign", "--chart").communicate()
    assert b"Spring Sale             ####" in bars
    assert "Été en Provence".encode("latin-1") in bars
    table, _ = spawn("summary", "2026-01", "-f", "table").communicate()
    assert table.splitlines()[1].strip(b"-") == b""


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_a_picture_shows_what_the_terminal_shows(tmp_path: Path, suffix: str) -> None:
    words = ["summary", "2026-01", "-g", "campaign", "--chart", "--round", "2"]
    target = tmp_path / f"campaigns.{suffix}"
    assert run(*words, "-o", str(target)).stdout == ""
    page = target.read_text()
    body = page.partition('-matrix">' if suffix == "svg" else "<pre")[2]
    shown = html.unescape(
        re.sub(r"<[^>]*>", "", body.partition(">")[2] if suffix == "html" else body)
    )
    assert "".join(shown.split()) == "".join(run(*words).stdout.split())
    assert "cdnjs" not in page
    assert "href" not in page
    # No frame of a window.
    assert "circle" not in page
    days = tmp_path / f"days.{suffix}"
    run("dates", "2026-01", "--chart", "-o", str(days))
    # The days with data are green.
    assert re.search(r"#008000", days.read_text())


def test_a_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["summary", "2026-01", "-g", "day", "--chart", "-o", str(tmp_path / "days.PNG")]
    assert run(*words).exit_code == 0
    picture = (tmp_path / "days.PNG").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert width > height > 300
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    refused = run(*words[:-1], str(tmp_path / "other.png"))
    assert (refused.exit_code, "adanalytics[png]" in refused.stderr) == (1, True)
    assert not (tmp_path / "other.png").exists()
