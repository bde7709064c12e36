"""`adanalytics reconcile`: prepared reports of another side, their gaps and the causes.

The reports are calculated here from the events, apart from the code that they test.
"""

import csv
import io
import json
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_DOWN, Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize
from zoneinfo import ZoneInfo

import openpyxl
import pytest
from click.testing import CliRunner, Result
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from werkzeug import Response

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_cli.reconcile import report
from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer, Sample, event

# The clocks of Europe change on the 29th, inside the period.
FIRST, LAST = date(2026, 3, 27), date(2026, 3, 30)
PERIOD = f"{FIRST}..{LAST}"
OVER = datetime(2026, 4, 2, 12, tzinfo=UTC)
Row = dict[str, Any]


@dataclass
class Place:
    """A service with the days from 26 to 31 March, its dataset, and their events."""

    server: LocalServer
    dataset: Path
    events: list[Row]
    names: dict[int | None, str]
    now: datetime = OVER

    def run(self, *words: str | Path) -> Result:
        line = [str(word) for word in words]
        return CliRunner().invoke(cli, line, obj=Invocation(clock=lambda: self.now))

    def answer(self, file: Path, *words: str | Path) -> Row:
        """Reconcile a report and return the object that the command prints."""
        done = self.run("reconcile", file, *words, "--json")
        assert done.stdout, done.stderr
        answer: Row = json.loads(done.stdout)
        assert done.exit_code == (1 if answer["above"] else 0)
        return answer


@pytest.fixture(scope="session")
def march(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    sample = Sample(start=date(2026, 3, 26), days=6, events_per_day=2_000, seed=11)
    folder = tmp_path_factory.mktemp("reconcile") / "events"
    with (
        LocalServer(sample=sample, rate_limit=0) as server,
        Client(server.url, api_key=server.api_key, partner="acme") as client,
    ):
        assert Dataset(folder, clock=lambda: OVER).sync(client).events == 12_000
        events = list(client.events("2026-03-26", "2026-03-31").rows())
        rows = client.summary("2026-03-26", "2026-03-31", group_by="campaign").rows
        names = {row.campaign_id: str(row.campaign_name) for row in rows}
        yield Place(server, folder, events, names)


@pytest.fixture
def place(march: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("ADANALYTICS_BASE_URL", march.server.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", march.server.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", "acme")
    march.now = OVER
    march.server.journal.clear()
    return march


@dataclass
class Theirs:
    """How the other side counts, and what of it they write.

    By campaign, only events with one are in the report.
    """

    by: str = "day,campaign"
    zone: tzinfo = UTC
    filtered: bool = False
    count: Callable[[datetime], bool] = lambda _: True
    money: Callable[[Decimal], object] = lambda amount: amount
    change: Callable[[list[Row]], list[Row]] = lambda rows: rows
    name: Callable[[str], str] = lambda name: name
    seen: list[Row] = field(default_factory=list)

    def rows(self, place: Place) -> list[Row]:
        counts: Counter[tuple[str, ...]] = Counter()
        sums: defaultdict[tuple[str, ...], Decimal] = defaultdict(Decimal)
        for row in place.events:
            moment = datetime.fromisoformat(row["event_time"]).astimezone(self.zone)
            if row["is_filtered"] > self.filtered or not FIRST <= moment.date() <= LAST:
                continue
            if not self.count(moment) or ("campaign" in self.by and row["campaign_id"] is None):
                continue
            name = self.name(place.names[row["campaign_id"]])
            parts = {"day": str(moment.date()), "campaign": name}
            key = tuple(parts[part] for part in self.by.split(","))
            counts[key] += row["event_type"] == "impression"
            sums[key] += Decimal(row["revenue"])
        rows = [
            dict(zip(self.by.split(","), key, strict=True))
            | {"Impressions": counts[key], "Revenue": self.money(sums[key])}
            for key in sorted(counts)
        ]
        return self.change(rows)

    def write(self, place: Place, folder: Path) -> Path:
        file = folder / "theirs.csv"
        rows = self.rows(place)
        with file.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, [*rows[0]])
            writer.writeheader()
            writer.writerows(rows)
        return file


def cents(amount: Decimal) -> Decimal:
    return round(amount, 2)


def hours_of_outage(moment: datetime) -> bool:
    return not (moment.day == 28 and 13 <= moment.hour < 17)


def random_gap(rows: list[Row]) -> list[Row]:
    draw = random.Random(5)
    for row in rows:
        share = Decimal(draw.uniform(0.86, 1.0))
        row["Impressions"] = round(row["Impressions"] * share)
        row["Revenue"] = round(row["Revenue"] * share, 2)
    return rows


def one_campaign(rows: list[Row]) -> list[Row]:
    for row in rows:
        if row["campaign"] == "Spring Sale":
            row["Impressions"] = round(row["Impressions"] * Decimal("0.93"))
            row["Revenue"] = round(row["Revenue"] * Decimal("0.93"), 2)
    return rows


def one_row(rows: list[Row]) -> list[Row]:
    rows[1]["Impressions"] -= 7
    return rows


KOLKATA = timezone(timedelta(hours=5, minutes=30))
NEW_YORK = timezone(timedelta(hours=-4))
CASES: dict[str, tuple[Theirs, str, str]] = {
    "half an hour": (Theirs(zone=KOLKATA, money=cents), "time zone", "UTC+05:30"),
    "quarters": (
        Theirs(by="day", zone=timezone(timedelta(hours=12, minutes=45))),
        "time zone",
        "UTC+12:45",
    ),
    "west": (Theirs(by="day", zone=NEW_YORK, money=cents), "time zone", "UTC-04:00"),
    "sums of another zone": (Theirs(by="campaign", zone=NEW_YORK), "time zone", "UTC-04:00"),
    "clocks change": (
        Theirs(zone=ZoneInfo("Europe/Berlin"), money=cents),
        "time zone",
        "Europe/Berlin",
    ),
    "filtered": (Theirs(filtered=True, money=cents), "filtered traffic", "invalid"),
    "cents": (Theirs(money=lambda a: round(a * 100)), "unit", "100 times ours"),
    "micros": (Theirs(money=lambda a: round(a * 10**6)), "unit", "1000000 times ours"),
    "per thousand": (Theirs(by="day", money=lambda a: a * 1000), "unit", "1000 times ours"),
    "rounded": (Theirs(money=cents), "rounding", "revenue to 2"),
    "cut": (
        Theirs(money=lambda a: a.quantize(Decimal("0.01"), ROUND_DOWN)),
        "rounding",
        "revenue to 2",
    ),
    "a missing day": (
        Theirs(change=lambda rows: [row for row in rows if row["day"] != "2026-03-28"]),
        "missing days",
        "their report lacks 2026-03-28",
    ),
    "sums without a day": (
        Theirs(by="campaign", count=lambda moment: moment.day != 30, money=cents),
        "missing days",
        "lacks 2026-03-30",
    ),
    "missing hours": (
        Theirs(count=hours_of_outage, money=cents),
        "missing hours",
        "2026-03-28 13:00 to 17:00",
    ),
    "a new name": (
        Theirs(name=lambda name: "Spring 2026" if name == "Spring Sale" else name, money=cents),
        "renaming",
        "'Spring 2026' is our 'Spring Sale'",
    ),
    "other names": (
        Theirs(by="campaign", name=lambda name: f"XX-{sum(map(ord, name))}", money=cents),
        "renaming",
        "names differ",
    ),
}
UNNAMED = {
    "random": Theirs(change=random_gap),
    "random by day": Theirs(by="day", change=random_gap),
    "random by campaign": Theirs(by="campaign", change=random_gap),
    "one campaign": Theirs(change=one_campaign, money=cents),
    "one row": Theirs(by="day", change=one_row, money=cents),
    "two causes": Theirs(zone=KOLKATA, filtered=True),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named(place: Place, tmp_path: Path, case: str) -> None:
    theirs, kind, text = CASES[case]
    file = theirs.write(place, tmp_path)
    answer = place.answer(file, PERIOD, "--by", theirs.by, "--in", place.dataset)
    assert [cause["kind"] for cause in answer["causes"]] == [kind], answer["notes"]
    assert text in answer["causes"][0]["text"]


@pytest.mark.parametrize("case", UNNAMED)
@pytest.mark.parametrize("by_events", [True, False])
def test_no_cause_is_named_where_none_explains(
    place: Place, tmp_path: Path, case: str, by_events: bool
) -> None:
    theirs = UNNAMED[case]
    words = ["--in", str(place.dataset)] if by_events else []
    answer = place.answer(
        theirs.write(place, tmp_path), PERIOD, "--by", theirs.by, "--tolerance", "1%", *words
    )
    assert (answer["causes"], answer["above"] > 0) == ([], True)
    notes = " ".join(answer["notes"])
    assert ("No single cause" in notes, "Not tried" in notes) == (True, not by_events)


WITHOUT_HOURS = [
    name
    for name, (theirs, kind, _) in CASES.items()
    if kind in {"unit", "rounding", "renaming"} or name == "a missing day"
]


@pytest.mark.parametrize("case", WITHOUT_HOURS)
def test_the_summary_is_enough_for_causes_without_hours(
    place: Place, tmp_path: Path, case: str
) -> None:
    theirs, kind, text = CASES[case]
    answer = place.answer(theirs.write(place, tmp_path), PERIOD, "--by", theirs.by)
    assert [cause["kind"] for cause in answer["causes"]] == [kind], answer["notes"]
    assert text in answer["causes"][0]["text"]
    requests = len([*place.server.journal.entries()])
    assert requests == (4 if theirs.by == "day,campaign" else 1)


def test_a_day_without_events_is_none_that_their_report_lacks(place: Place, tmp_path: Path) -> None:
    answer = place.answer(Theirs(by="day").write(place, tmp_path), f"2026-03-25..{LAST}")
    assert [cause["text"] for cause in answer["causes"]] == ["their report lacks 2026-03-26"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_equal_reports_agree(place: Place, tmp_path: Path, form: Literal["NFC", "NFD"]) -> None:
    """Also if accents are characters of their own, as macOS writes them."""
    file = Theirs(name=partial(normalize, form)).write(place, tmp_path)
    for words in ([], ["--in", str(place.dataset)]):
        answer = place.answer(file, *words, "--tolerance", "0")
        assert (answer["above"], answer["causes"], answer["by"]) == (0, [], ["day", "campaign"])
        assert (answer["start_date"], answer["end_date"]) == (str(FIRST), str(LAST))
        assert answer["notes"][-1].startswith("Left out, of ours without a campaign: ")


def test_the_names_of_a_dataset_need_no_service(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    file = Theirs(by="campaign").write(place, tmp_path)
    answer = place.answer(file, PERIOD, "--by", "campaign", "--in", place.dataset)
    assert (answer["causes"], len([*place.server.journal.entries()])) == ([], 0)
    # Days without data have no names.
    answer = place.answer(file, "2026-03", "--by", "campaign", "--in", place.dataset)
    assert (answer["only_theirs"], answer["only_ours"]) == ([], [])
    assert "The dataset lacks 2026-03-01 to 2026-03-25." in answer["notes"]


def test_events_without_a_service_give_ids(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names in a report are then found by their figures, and ids need none."""
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    dataset = shutil.copytree(place.dataset, tmp_path / "events")
    (dataset / "_adanalytics/names.json").unlink()
    words = (PERIOD, "--by", "campaign", "--in", dataset)
    named = place.answer(Theirs(by="campaign").write(place, tmp_path), *words)
    assert [cause["kind"] for cause in named["causes"]] == ["renaming"]
    assert "'Spring Sale' is our '1001'" in named["causes"][0]["text"]
    ids = {name: str(number) for number, name in place.names.items()}
    file = Theirs(by="campaign", zone=NEW_YORK, name=ids.__getitem__).write(place, tmp_path)
    answer = place.answer(file, *words)
    assert [cause["kind"] for cause in answer["causes"]] == ["time zone"]
    assert len([*place.server.journal.entries()]) == 0


def test_days_that_are_not_over(place: Place, tmp_path: Path) -> None:
    place.now = datetime(2026, 3, 30, 15, tzinfo=UTC)
    theirs = Theirs(by="day", count=lambda moment: moment < place.now - timedelta(hours=6))
    file = theirs.write(place, tmp_path)
    answer = place.answer(file, PERIOD)
    assert answer["causes"][0] == {
        "kind": "open days",
        "text": "only days that are not over differ: 2026-03-30",
    }
    # What explains the figures comes first, also where no day is over.
    place.now = datetime(2026, 3, 27, 15, tzinfo=UTC)
    file = CASES["cents"][0].write(place, tmp_path)
    answer = place.answer(file, "2026-03-27")
    assert [cause["kind"] for cause in answer["causes"]] == ["unit"]
    file = Theirs(by="day", count=lambda moment: moment.hour < 12).write(place, tmp_path)
    answer = place.answer(file, "2026-03-27")
    assert [cause["kind"] for cause in answer["causes"]] == ["open days"]


def test_hours_and_days_that_the_dataset_lacks(place: Place, tmp_path: Path) -> None:
    """A sync in the afternoon, and one that ended a day earlier, with no later one."""
    lacking = {
        "14:30": ("missing hours", "our data lack 2026-03-30 ("),
        "00:00": ("missing days", "our data lack 2026-03-30"),
    }
    for time, (kind, text) in lacking.items():
        now = datetime.fromisoformat(f"2026-03-30T{time}Z")
        dataset = Dataset(
            tmp_path / time[:2], clock=partial(datetime.fromisoformat, f"2026-03-30T{time}Z")
        )
        with Client(place.server.url, api_key=place.server.api_key, partner="acme") as client:
            dataset.sync(client, "2026-03-26", now - timedelta(seconds=1))
        file = Theirs(by="day", money=cents).write(place, tmp_path)
        answer = place.answer(file, PERIOD, "--in", tmp_path / time[:2])
        assert [cause["kind"] for cause in answer["causes"]] == [kind], answer["notes"]
        assert answer["causes"][0]["text"].startswith(text)


def test_the_worst_rows_come_first_in_every_format(place: Place, tmp_path: Path) -> None:
    file = Theirs(change=one_campaign).write(place, tmp_path)
    answer = place.answer(file)
    worst = answer["rows"][0]
    assert (worst["campaign"], worst["side"], worst["above"]) == ("Spring Sale", "both", True)
    gap = Decimal(worst["theirs"]) - Decimal(worst["ours"])
    assert (Decimal(worst["difference"]), worst["percent"]) == (gap, pytest.approx(-7, abs=1.5))
    parts = [
        abs(Decimal(row["difference"])) / Decimal(total["ours"])
        for row in answer["rows"]
        for total in answer["totals"]
        if row["figure"] == total["figure"]
    ]
    assert parts == sorted(parts, reverse=True)
    done = place.run("reconcile", file)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["theirs"] for row in rows] == [str(row["theirs"]) for row in answer["rows"]]
    assert "No single cause" in done.stderr
    assert done.stderr.splitlines()[-2].startswith("Error: 8 figures, totals included")
    german = place.run("reconcile", file, "--csv-for", "de").stdout.splitlines()[1]
    assert (german.startswith("2026-03-") and "," in german.split(";")[3]) or german.split(";")[
        2
    ] == "impressions"
    listed = json.loads(place.run("reconcile", file, "-f", "json").stdout)
    assert listed == answer["rows"]
    book = tmp_path / "gap.xlsx"
    done = place.run("reconcile", file, "-o", book, "--json")
    assert json.loads(done.stdout) == answer
    other = place.run("reconcile", file, "--in", place.dataset, "-o", book)
    assert f"{len(rows)} rows of 2026-03-27 to 2026-03-30, " in other.stderr
    assert f"B -> {book}\n" in other.stderr
    assert (done.exit_code, "-> " in done.stderr) == (1, True)
    sheets = openpyxl.load_workbook(book)
    heading, first, *others = sheets["reconcile"].iter_rows(values_only=True)
    assert heading[:4] == ("day", "campaign", "figure", "theirs")
    assert (first[1], len(others)) == ("Spring Sale", len(rows) - 1)
    about = dict(sheets["about"].iter_rows(values_only=True))
    assert (about["source"], about["currency"], about["tolerance"]) == ("theirs.csv", "USD", "5 %")
    table = place.run("reconcile", file, "-f", "table").stdout
    assert [line.split()[0] for line in table.splitlines() if line.startswith("total")] == [
        "total"
    ] * 2


@pytest.mark.parametrize("most", [0, 1])
def test_rows_that_a_table_leaves_out_are_counted(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    file = Theirs(by="day", change=one_row).write(place, tmp_path)
    monkeypatch.setattr(report, "_ROWS_OF_TABLE", most)
    table = place.run("reconcile", file, "-f", "table").stdout
    assert re.findall("Not shown: .* Write", table) == ["Not shown: 1 row. Write"][most:]


def test_a_count_keeps_its_fraction_in_files(place: Place, tmp_path: Path) -> None:
    """Such as one that the other side corrected by a factor."""
    file, book = tmp_path / "theirs.csv", tmp_path / "gap.xlsx"
    file.write_text(f"day,clicks\n{FIRST},1212.5\n{LAST},1000\n")
    gaps = {row["day"]: row for row in place.answer(file)["rows"]}
    part, whole = gaps[str(FIRST)], gaps[str(LAST)]
    assert (part["theirs"], whole["theirs"]) == ("1212.5", 1000)
    assert Decimal(part["difference"]) == Decimal("1212.5") - part["ours"]
    rows = csv.DictReader(io.StringIO(place.run("reconcile", file).stdout))
    assert {row["theirs"] for row in rows} == {"1212.5", "1000", "0"}
    place.run("reconcile", file, "-o", book)
    _, *cells = openpyxl.load_workbook(book)["reconcile"].iter_rows(values_only=True)
    assert {cell[2] for cell in cells} == {1212.5, 1000, 0}


def test_the_tolerance_decides_the_status(place: Place, tmp_path: Path) -> None:
    file = Theirs(by="day", money=lambda a: a * Decimal("1.02")).write(place, tmp_path)
    assert place.run("reconcile", file).exit_code == 0
    assert place.run("reconcile", file, "--tolerance", "2.1").exit_code == 0
    far = place.run("reconcile", file, "--tolerance", "1.9%")
    assert (far.exit_code, "beyond 1.9 %" in far.stderr) == (1, True)
    for wrong in ("5pp", "-1", "nan", "%"):
        assert place.run("reconcile", file, f"--tolerance={wrong}").exit_code == 2


def test_days_at_the_ends_need_no_neighbours(place: Place, tmp_path: Path) -> None:
    """Of another zone, the days that the dataset has in part are left out of the search."""
    dataset = Dataset(tmp_path / "events", clock=lambda: OVER)
    with Client(place.server.url, api_key=place.server.api_key, partner="acme") as client:
        dataset.sync(client, FIRST, LAST)
    file = Theirs(zone=KOLKATA, money=cents).write(place, tmp_path)
    answer = place.answer(file, "--in", tmp_path / "events")
    assert [cause["text"] for cause in answer["causes"]] == ["their days are those of UTC+05:30"]
    file = Theirs(change=random_gap).write(place, tmp_path)
    answer = place.answer(file, "--in", tmp_path / "events", "--tolerance", "1%")
    assert any("zone was tried only in part" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("quiet", "texts"), [({3}, ["UTC-02:00", "UTC-01:30"]), ({3, 4, 5, 6, 7}, [])]
)
def test_causes_that_explain_it_equally_are_all_named_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: set[int], texts: list[str]
) -> None:
    """Without events between two offsets, either of them may be right."""
    days = [date(2026, 1, 14) + timedelta(days=n) for n in range(5)]
    draw = random.Random(3)
    events = [
        event(
            event_time=f"{day}T{half // 2:02}:{half % 2 * 30 + 5:02}:00Z", revenue="0.25", cost=None
        )
        for day in days
        for half in range(48)
        if half not in quiet
        for _ in range(draw.randrange(1, 30))
    ]
    with LocalServer(rate_limit=0) as server:
        server.add_events(events)
        monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
        monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
        monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
        with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
            Dataset(tmp_path / "events", clock=lambda: OVER).sync(client)
    place = Place(server, tmp_path / "events", [], {})
    counts = Counter(
        datetime.fromisoformat(str(one["event_time"]))
        .astimezone(timezone(-timedelta(hours=1.5)))
        .date()
        for one in events
    )
    lines = [f"{day},{counts[day]},{counts[day] / 4},1" for day in days[1:4]]
    file = tmp_path / "theirs.csv"
    file.write_text("\n".join(["Date,Imps,Revenue,Cost", *lines]))
    answer = place.answer(file, "--in", place.dataset)
    assert [
        cause["text"].removeprefix("their days are those of ") for cause in answer["causes"]
    ] == texts
    expected = "Cause: either" if texts else "No cause is named, because 6 explain the gap equally"
    assert any(note.startswith(expected) for note in answer["notes"]), answer["notes"]
    assert "Not compared, because ours are unknown or no numbers: cost." in answer["notes"]


def test_a_summary_without_a_known_group_is_not_one_group(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpserver.expect_request(re.compile("/.*")).respond_with_json(
        {"data": [{"id": number, "name": f"c{number}", "clicks": 5} for number in (1, 2)]}
    )
    monkeypatch.setenv("ADANALYTICS_API_KEY", "key")
    file = tmp_path / "theirs.csv"
    file.write_text("Campaign ID,Clicks\n1,5\n2,5\n")
    words = ["--base-url", httpserver.url_for("/"), "--partner", "acme"]
    done = CliRunner().invoke(cli, ["reconcile", str(file), "2026-01-15", *words], obj=Invocation())
    assert (done.exit_code, done.stdout) == (7, "")
    assert "The rows of the summary by campaign do not name their campaigns." in done.stderr


def test_a_summary_without_days_is_not_compared_by_day(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"week": day, "clicks": 5} for day in ("Thu", "Fri")]
    httpserver.expect_request(re.compile("/.*")).respond_with_handler(
        lambda request: Response(json.dumps({"data": rows if "group_by" in request.args else []}))
    )
    monkeypatch.setenv("ADANALYTICS_API_KEY", "key")
    file = tmp_path / "theirs.csv"
    file.write_text("Day,Clicks\n2026-01-15,5\n2026-01-16,5\n")
    words = ["--base-url", httpserver.url_for("/"), "--partner", "acme"]
    done = CliRunner().invoke(cli, ["reconcile", str(file), *words], obj=Invocation())
    assert (done.exit_code, done.stdout) == (7, "")
    assert "The rows of the summary by day do not name their days." in done.stderr
    rows.clear()
    done = CliRunner().invoke(cli, ["reconcile", str(file), *words], obj=Invocation())
    assert (done.exit_code, "Only" in done.stderr) == (1, False)


def test_texts_of_ours_are_no_zeros(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpserver.expect_request(re.compile("/.*")).respond_with_json(
        {"data": [{"date": str(FIRST), "impressions": "1,234", "clicks": "5"}]}
    )
    monkeypatch.setenv("ADANALYTICS_API_KEY", "key")
    file = tmp_path / "theirs.csv"
    file.write_text(f"Day,Impressions,Clicks\n{FIRST},1234,5\n")
    words = ["--base-url", httpserver.url_for("/"), "--partner", "acme"]
    done = CliRunner().invoke(cli, ["reconcile", str(file), *words], obj=Invocation())
    assert (done.exit_code, done.stdout.count(str(FIRST))) == (0, 1), done.stderr
    assert "Not compared, because ours are unknown or no numbers: impressions." in done.stderr


def test_a_day_that_a_dataset_lacks_is_one_without_figures(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text("date,impressions,revenue\n2026-02-10,5,1.50\n")
    answer = place.answer(file, "--in", place.dataset)
    assert [row["ours"] for row in answer["rows"]] == [0, "0"]
    assert (answer["currency"], answer["notes"][-1]) == (None, "The dataset lacks 2026-02-10.")


@pytest.mark.parametrize("type_", ["impression", "Impression", "IMPRESSION", "impres-sion"])
def test_fields_with_the_names_of_our_columns(
    httpserver: HTTPServer, tmp_path: Path, type_: str
) -> None:
    """The day and the hour are those of the query that brought the event."""
    service = ServiceOfRows(httpserver)
    for hour in range(24):
        moment = f"{FIRST}T{hour:02}:00:00Z"
        row: Row = {"event_id": f"e-{hour}", "event_time": moment, "event_type": type_}
        row |= {
            "cost": None if hour % 2 else "0.100000000",
            "revenue": None if hour % 4 == 2 else "0.500000000",
            "Revenue": "7",
            "date": "1999-01-01",
            "hour": "x",
        }
        service.rows[str(FIRST), hour] = [json.dumps(row)]
    folder, file = tmp_path / "events", tmp_path / "theirs.csv"
    with service.client() as client:
        assert Dataset(folder).sync(client, FIRST).events == 24
    file.write_text(f"date,impressions,revenue,cost,profit\n{FIRST},24,9.0,1.2,7.8\n")
    words = ["reconcile", str(file), "--by", "day", "--in", str(folder), "--json"]
    done = CliRunner().invoke(cli, words, obj=Invocation(clock=lambda: OVER))
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["above"] == 0
